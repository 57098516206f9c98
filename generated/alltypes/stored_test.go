package alltypes

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/bufbuild/protocompile"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// start is the day of the events.
var start = time.Date(2020, 12, 28, 0, 0, 0, 0, time.UTC)

// options and writing set a clock at which nothing has expired.
var (
	options = store.ReaderOptions{Now: func() time.Time { return start }}
	writing = store.WriterOptions{Now: options.Now}
)

// newServer starts an in-memory Bigtable with the tables of all types.
func newServer(t testing.TB) *storetest.Bigtable {
	t.Helper()
	return storetest.New(t, func(ctx context.Context, b *storetest.Bigtable) error {
		_, err := SetupSample(ctx, b.Admin, b.Client)
		return err
	})
}

// plain returns an event with a value in every field for which zero is none.
func plain() SampleEvent {
	return SampleEvent{
		SampleSeries: SampleSeries{Site: "north", Kind: SampleKindIndoor, Tag: []byte{1}, Since: start},
		Time:         start.Add(12 * time.Hour), Raw: []byte{0}, DefaultRaw: []byte{0},
		At: start, State: SampleStateBusy, Document: json.RawMessage("{}"),
		DefaultAt: start, DefaultState: SampleDefaultStateKnown, DefaultDocument: json.RawMessage("[]"),
	}
}

// full returns an event with a value in every field: zero, if the type has one.
func full() SampleEvent {
	e := plain()
	state, id, at := SampleMaybeStateGreen, codec.UUID{1}, start
	e.MaybeText, e.MaybeRaw, e.MaybeFlag = new(string), []byte{}, new(bool)
	e.MaybeSmall, e.MaybeCount, e.MaybeMask, e.MaybeTotal = new(int32), new(int64), new(uint32), new(uint64)
	e.MaybeLoad, e.MaybeRatio, e.MaybeAt, e.MaybeTook = new(float32), new(float64), &at, new(time.Duration)
	e.MaybeID, e.MaybeState, e.MaybeDocument = &id, &state, json.RawMessage("null")
	return e
}

// rich returns an event without zeros.
func rich() SampleEvent {
	e := full()
	e.Tag, e.Raw, e.Document = []byte("tag"), []byte("raw"), json.RawMessage(`{"a":1}`)
	e.Text, e.Flag, e.Small, e.Count, e.Mask, e.Total = "text", true, math.MinInt32, math.MinInt64, math.MaxUint32, math.MaxUint64
	e.Load, e.Ratio, e.Took, e.ID, e.Level = 0.1, -1e300, -1500*time.Millisecond, codec.UUID{15: 7}, SampleLevelHigh
	e.MaybeRaw, e.MaybeDocument = []byte("maybe"), json.RawMessage(` [1, "<é>"]`)
	*e.MaybeText, *e.MaybeFlag, *e.MaybeSmall, *e.MaybeCount, *e.MaybeMask, *e.MaybeTotal = "maybe", true, -3, -4, 5, 6
	*e.MaybeLoad, *e.MaybeRatio, *e.MaybeAt, *e.MaybeTook = 7.5, 8.5, start.Add(-time.Nanosecond), 9
	e.DefaultText, e.DefaultRaw, e.DefaultDocument = "default", []byte("default"), json.RawMessage(`{}`)
	e.DefaultFlag, e.DefaultSmall, e.DefaultCount, e.DefaultMask, e.DefaultTotal = true, 10, 11, 12, 13
	e.DefaultLoad, e.DefaultRatio, e.DefaultTook, e.DefaultID, e.DefaultExact = 14.5, 15.5, 16, codec.UUID{17}, 18.5
	e.MaybeRenamed, e.MaybeName = json.RawMessage("19"), new("name")
	return e
}

// scribble overwrites all memory that a rich event shares.
func scribble(e *SampleEvent) {
	for _, b := range [][]byte{e.Tag, e.Raw, e.Document, e.MaybeRaw, e.MaybeDocument, e.DefaultRaw, e.DefaultDocument, e.MaybeRenamed} {
		for i := range b {
			b[i] = 'x'
		}
	}
	*e.MaybeText, *e.MaybeFlag, *e.MaybeSmall, *e.MaybeCount, *e.MaybeMask, *e.MaybeTotal = "x", false, -1, -1, 99, 99
	*e.MaybeLoad, *e.MaybeRatio, *e.MaybeAt, *e.MaybeTook = -1, -1, start, -1
	*e.MaybeID, *e.MaybeState, *e.MaybeName = codec.UUID{99}, 99, "x"
}

// read reads the events of the series of an event from one table.
func read(t testing.TB, bt *storetest.Bigtable, l *store.Mapping, of SampleEvent) iter.Seq2[SampleEvent, error] {
	r, series := store.NewReader(bt.Client, l, options), SampleEvent{SampleSeries: of.SampleSeries}
	return store.ResultsOf[SampleEvent](r.Read(t.Context(), store.SeriesOf(&series), start, start.AddDate(0, 0, 1)))
}

// contains fails the test unless exactly an event is in its series in a table. Times are read in UTC.
func contains(t testing.TB, bt *storetest.Bigtable, l *store.Mapping, want SampleEvent) {
	t.Helper()
	storetest.Same(t, l.Table.ID, read(t, bt, l, want), want)
}

// refusing is a client whose tables reject everything.
type refusing struct{ bigtable.TableAPI }

func (r refusing) OpenTable(string) bigtable.TableAPI { return r }

func (refusing) Apply(context.Context, string, *bigtable.Mutation, ...bigtable.ApplyOption) error {
	return status.Error(codes.PermissionDenied, "no")
}

func (r refusing) ApplyBulk(ctx context.Context, keys []string, _ []*bigtable.Mutation, _ ...bigtable.ApplyOption) ([]error, error) {
	return nil, r.Apply(ctx, "", nil)
}

// A caller reuses the memory of an event and of its series as soon as Add has returned: the events that are
// written, or that fail, are those that were added.
func TestBatcherOwnsItsEvents(t *testing.T) {
	bt := newServer(t)
	zeros := full()
	zeros.Tag = []byte("xxx")
	var failed []SampleEvent
	for _, client := range []store.Client{bt.Client, refusing{}} {
		fail := func(e SampleEvent, _ error) { failed = append(failed, e) }
		b := NewSampleBatcher(NewSampleWriter(client, writing), fail, store.BatcherOptions{MaxAge: time.Hour})
		e := rich()
		assert.Must(t, b.Add(t.Context(), e))
		scribble(&e)
		next := zeros
		next.Tag = e.Tag
		assert.Must(t, b.Add(t.Context(), next))
		if err := b.Close(t.Context()); (err == nil) != (client == store.Client(bt.Client)) {
			t.Error(err)
		}
	}
	assert.Same(t, []SampleEvent{rich(), zeros}, failed)
	for _, l := range sampleMappings {
		contains(t, bt, l, rich())
		contains(t, bt, l, zeros)
	}
}

// writeTo writes an event to one table.
func writeTo(t testing.TB, bt *storetest.Bigtable, l *store.Mapping, e SampleEvent) {
	t.Helper()
	w := SampleWriter{store.NewWriter(bt.Client, []*store.Mapping{l}, writing)}
	assert.Must(t, w.Write(t.Context(), e))
}

// storedCells returns all cells of a table.
func storedCells(t testing.TB, bt *storetest.Bigtable, l *store.Mapping) (out []bigtable.ReadItem) {
	t.Helper()
	assert.Must(t, bt.Client.Open(l.Table.ID).ReadRows(t.Context(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		for _, items := range row {
			out = append(out, items...)
		}
		return true
	}))
	return out
}

// set stores another value in a cell.
func set(m *bigtable.Mutation, cell bigtable.ReadItem, value []byte) {
	family, column, _ := strings.Cut(cell.Column, ":")
	m.Set(family, column, cell.Timestamp, value)
}

// strip removes fields from the stored events of a table, as if they had been written
// before the fields existed.
func strip(t *testing.T, bt *storetest.Bigtable, l *store.Mapping, dropped func(field string) bool) {
	t.Helper()
	for _, cell := range storedCells(t, bt, l) {
		_, column, _ := strings.Cut(cell.Column, ":")
		m := bigtable.NewMutation()
		switch {
		case l.Columns[0].Name == "event":
			set(m, cell, stripBlob(t, l, cell.Value, dropped))
		case l.Pattern == codec.BucketNewColumns:
			segments := strings.Split(cell.Row, "#")
			if !dropped(segments[len(segments)-2]) {
				continue
			}
			m.DeleteRow()
		case dropped(column):
			m.DeleteCellsInColumn(l.Table.Families[0].Name, column)
		default:
			continue
		}
		assert.Must(t, bt.Client.Open(l.Table.ID).Apply(t.Context(), cell.Row, m))
	}
}

// stripBlob is strip for a serialized event.
func stripBlob(t *testing.T, l *store.Mapping, blob []byte, dropped func(field string) bool) []byte {
	t.Helper()
	if strings.HasSuffix(l.Table.ID, "_json") {
		var fields map[string]json.RawMessage
		assert.Must(t, json.Unmarshal(blob, &fields))
		maps.DeleteFunc(fields, func(name string, _ json.RawMessage) bool { return dropped(name) })
		blob, err := json.Marshal(fields)
		assert.Must(t, err)
		return blob
	}
	m := dynamicpb.NewMessage(protoDescriptor(t))
	assert.Must(t, proto.Unmarshal(blob, m))
	m.Range(func(field protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		if dropped(string(field.Name())) {
			m.Clear(field)
		}
		return true
	})
	blob, err := proto.Marshal(m)
	assert.Must(t, err)
	return blob
}

func TestFieldsMissingFromOlderEvents(t *testing.T) {
	bt := newServer(t)
	want := plain()
	want.DefaultText, want.DefaultRaw, want.DefaultFlag = "none", []byte("\xca\xfe"), true
	want.DefaultSmall, want.DefaultCount, want.DefaultMask, want.DefaultTotal = -7, -1<<63, 7, 1<<64-1
	want.DefaultLoad, want.DefaultRatio = 0.1, 1e-300
	want.DefaultAt, want.DefaultTook = time.Date(2021, 3, 5, 12, 0, 0, 1, time.UTC), 90*time.Minute
	assert.Must(t, want.DefaultID.UnmarshalText([]byte("f81d4fae-7dec-41d0-a765-00a0c91e6bf6")))
	want.DefaultState, want.DefaultDocument = SampleDefaultStateUnknown, json.RawMessage(`{"a": [1, null]}`)
	want.DefaultExact = 0.5
	for _, l := range sampleMappings {
		writeTo(t, bt, l, full())
		strip(t, bt, l, func(field string) bool {
			return strings.HasPrefix(field, "maybe_") || strings.HasPrefix(field, "default_")
		})
		contains(t, bt, l, want)
	}
}

// An event that lacks a required field is an error, after which the loop may
// continue. In protobuf, this applies to enums and to types for which zero is not a
// value; other absent fields are zero.
func TestMissingRequiredFields(t *testing.T) {
	bt := newServer(t)
	for _, l := range sampleMappings {
		for _, field := range []string{"at", "state", "document", "level"} {
			e := plain()
			e.Site = field
			writeTo(t, bt, l, e)
			strip(t, bt, l, func(name string) bool { return name == field })
			e.Time = e.Time.Add(time.Millisecond)
			writeTo(t, bt, l, e)
			errs, events := 0, 0
			for _, err := range read(t, bt, l, e) {
				if events++; errors.Is(err, codec.ErrMissing) {
					errs++
				}
			}
			if events != 2 || errs != 1 {
				t.Errorf("%s: %d events without %s, of them %d with codec.ErrMissing", l.Table.ID, events, field, errs)
			}
		}
	}
}

// Older events have fields under other names or numbers, and with other types. What events
// have under the present ones is newer, wherever it stands.
func TestSerializedFieldsOfOlderEvents(t *testing.T) {
	newer := plain()
	newer.DefaultExact = 7
	text, message := string(appendSampleJSON(nil, &newer)), string(appendSampleProto(nil, &newer))
	integer := func(number int, v int64) string {
		return string(codec.AppendProtoInteger(nil, number, codec.Explicit, v))
	}
	field, amount, units := string(codec.AppendProtoFloat64(nil, 61, codec.Explicit, 7)), integer(62, 5), integer(63, 4)
	for _, tt := range []struct {
		json, proto string
		want        float64
		err         error
	}{
		{`"amount":5`, amount, 5, nil},
		{`"units":4,"amount":5`, units + amount, 5, nil},
		{`"amount":5,"units":4`, amount + units, 5, nil},
		{`"units":4,"amount":5,"default_exact":7`, units + amount + field, 7, nil},
		{`"default_exact":7,"amount":5,"units":4`, field + amount + units, 7, nil},
		{`"amount":9007199254740993`, integer(62, 1<<53+1), 0, codec.ErrInexact},
	} {
		var fromJSON, fromProto SampleEvent
		event := strings.Replace(text, `"default_exact":7`, tt.json, 1)
		assert.Is(t, tt.err, parseSampleJSON(&fromJSON, []byte(event)), tt.json)
		err := parseSampleProto(&fromProto, []byte(strings.Replace(message, field, tt.proto, 1)))
		refused, _ := errors.AsType[*codec.FieldError](err)
		if !errors.Is(err, tt.err) || err != nil && (refused == nil || refused.Field != "default_exact") {
			t.Errorf("protobuf for %s: %v", tt.json, err)
		}
		if err == nil && (fromJSON.DefaultExact != tt.want || fromProto.DefaultExact != tt.want) {
			t.Errorf("%s: %v, and %v in protobuf; want %v", tt.json, fromJSON.DefaultExact, fromProto.DefaultExact, tt.want)
		}
	}
}

// protoDescriptor compiles the .proto file next to the generated code, like a
// program that reads the table in another language.
func protoDescriptor(t testing.TB) protoreflect.MessageDescriptor {
	t.Helper()
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{})}
	files, err := compiler.Compile(t.Context(), "sample.proto")
	assert.Must(t, err)
	return files[0].Messages().ByName("Sample")
}

// toProto returns an event as another language would build it, based only on the
// .proto file. Its fields are in the order of those of the event.
func toProto(desc protoreflect.MessageDescriptor, e SampleEvent) *dynamicpb.Message {
	m := dynamicpb.NewMessage(desc)
	v := reflect.ValueOf(e)
	n := 1 // after the series and the time
	for i := range desc.Fields().Len() {
		if desc.Fields().Get(i).Options().(*descriptorpb.FieldOptions).GetDeprecated() {
			continue // only older events have it
		}
		n++
		field := v.Field(n)
		of := field.Type()
		written := of == reflect.TypeFor[SampleLevel]() || of == reflect.TypeFor[codec.UUID]() ||
			strings.HasPrefix(v.Type().Field(n).Name, "Default")
		if field.IsZero() && !written {
			continue // what is absent, and what is zero where zero needs no mention
		}
		if field.Kind() == reflect.Pointer {
			field = field.Elem()
		}
		setProto(m, desc.Fields().Get(i), field.Interface())
	}
	return m
}

// setProto sets one field of a message.
func setProto(m *dynamicpb.Message, field protoreflect.FieldDescriptor, value any) {
	secondsNanos := func(seconds, nanos int64) {
		sub := m.Mutable(field).Message()
		sub.Set(field.Message().Fields().ByName("seconds"), protoreflect.ValueOf(seconds))
		sub.Set(field.Message().Fields().ByName("nanos"), protoreflect.ValueOf(int32(nanos)))
	}
	switch value := value.(type) {
	case time.Time:
		secondsNanos(value.Unix(), int64(value.Nanosecond()))
	case time.Duration:
		secondsNanos(int64(value/time.Second), int64(value%time.Second))
	case codec.UUID:
		m.Set(field, protoreflect.ValueOf(value[:]))
	case json.RawMessage:
		m.Set(field, protoreflect.ValueOf(string(value)))
	default:
		if field.Kind() == protoreflect.EnumKind {
			value = protoreflect.EnumNumber(reflect.ValueOf(value).Int())
		}
		m.Set(field, protoreflect.ValueOf(value))
	}
}

// Stored values contain exactly what the .proto file describes. Readers accept messages that others marshal
// according to it, even to a newer version of it.
func TestStoredProtobufMatchesProtoFile(t *testing.T) {
	bt, desc := newServer(t), protoDescriptor(t)
	for _, l := range []*store.Mapping{sampleCombinedMapping, sampleSerializedMapping} {
		for _, e := range []SampleEvent{plain(), full(), rich()} {
			writeTo(t, bt, l, e)
			cells := storedCells(t, bt, l)
			if len(cells) != 1 {
				t.Fatalf("%d cells stored, want 1", len(cells))
			}
			got, want := dynamicpb.NewMessage(desc), toProto(desc, e)
			assert.Must(t, proto.Unmarshal(cells[0].Value, got))
			if len(got.GetUnknown()) > 0 || !proto.Equal(want, got) {
				t.Fatalf("want %v\ngot %v\nunknown %x", want, got, got.GetUnknown())
			}
			want.SetUnknown(protowire.AppendString(protowire.AppendTag(nil, 1000, protowire.BytesType), "new"))
			blob, err := proto.Marshal(want)
			assert.Must(t, err)
			m := bigtable.NewMutation()
			set(m, cells[0], blob)
			assert.Must(t, bt.Client.Open(l.Table.ID).Apply(t.Context(), cells[0].Row, m))
			contains(t, bt, l, e)
			assert.Must(t, bt.Admin.DropAllRows(t.Context(), l.Table.ID))
		}
	}
}

// A reader refuses a series that no writer could have written.
func TestReadersRefuseInvalidSeries(t *testing.T) {
	r := NewSampleReader(refusing{}, options)
	series := plain().SampleSeries
	series.Site = "a#b"
	_, err := r.Latest(t.Context(), series)
	assert.Is(t, codec.ErrDelimiter, err)
	n := 0
	for _, err := range r.Read(t.Context(), series, start, start.AddDate(0, 0, 1)) {
		assert.Is(t, codec.ErrDelimiter, err)
		n++
	}
	if n != 1 {
		t.Errorf("Read yielded %d times", n)
	}
}
