package alltypes

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
)

// strip removes fields from the stored events of a table, as if they had been written
// before the fields existed.
func strip(t *testing.T, client *bigtable.Client, l *store.Mapping, dropped func(field string) bool) {
	t.Helper()
	for _, cell := range storedCells(t, client, l.Table.ID) {
		_, column, _ := strings.Cut(cell.Column, ":")
		m := bigtable.NewMutation()
		switch {
		case l.Columns[0].Name == "event":
			m.Set(l.Table.Families[0].Name, column, cell.Timestamp, stripBlob(t, l, cell.Value, dropped))
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
		check(t, client.Open(l.Table.ID).Apply(t.Context(), cell.Row, m))
	}
}

// stripBlob is strip for a serialized event.
func stripBlob(t *testing.T, l *store.Mapping, blob []byte, dropped func(field string) bool) []byte {
	t.Helper()
	if strings.HasSuffix(l.Table.ID, "_json") {
		var fields map[string]json.RawMessage
		check(t, json.Unmarshal(blob, &fields))
		for name := range fields {
			if dropped(name) {
				delete(fields, name)
			}
		}
		blob, err := json.Marshal(fields)
		check(t, err)
		return blob
	}
	m := dynamicpb.NewMessage(protoDescriptor(t))
	check(t, proto.Unmarshal(blob, m))
	m.Range(func(field protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		if dropped(string(field.Name())) {
			m.Clear(field)
		}
		return true
	})
	blob, err := proto.Marshal(m)
	check(t, err)
	return blob
}

// full is an event with a value in every field.
func full() SampleEvent {
	e := plain()
	state, id, at := SampleMaybeStateGreen, codec.UUID{1}, start
	e.MaybeText, e.MaybeRaw, e.MaybeFlag = new(string), []byte{}, new(bool)
	e.MaybeSmall, e.MaybeCount, e.MaybeMask, e.MaybeTotal = new(int32), new(int64), new(uint32), new(uint64)
	e.MaybeLoad, e.MaybeRatio, e.MaybeAt, e.MaybeTook = new(float32), new(float64), &at, new(time.Duration)
	e.MaybeID, e.MaybeState, e.MaybeDocument = &id, &state, json.RawMessage("null")
	return e
}

func TestFieldsMissingFromOlderEvents(t *testing.T) {
	bt := newServer(t)
	want := plain()
	want.DefaultText, want.DefaultRaw, want.DefaultFlag = "none", []byte("\xca\xfe"), true
	want.DefaultSmall, want.DefaultCount, want.DefaultMask, want.DefaultTotal = -7, -1<<63, 7, 1<<64-1
	want.DefaultLoad, want.DefaultRatio = 0.1, 1e-300
	want.DefaultAt, want.DefaultTook = time.Date(2021, 3, 5, 12, 0, 0, 1, time.UTC), 90*time.Minute
	want.DefaultID, _ = parseUUID("f81d4fae-7dec-41d0-a765-00a0c91e6bf6")
	want.DefaultState, want.DefaultDocument = SampleDefaultStateUnknown, json.RawMessage(`{"a": [1, null]}`)
	want.DefaultExact = 0.5
	for _, l := range sampleMappings {
		t.Run(l.Table.ID, func(t *testing.T) {
			check(t, layoutWriter(bt.Client, l).Write(t.Context(), full()))
			got, err := readLatest(bt.Client, l, full())
			check(t, err)
			compare(t, l, full(), got)

			strip(t, bt.Client, l, func(field string) bool {
				return strings.HasPrefix(field, "maybe_") || strings.HasPrefix(field, "default_")
			})
			got, err = readLatest(bt.Client, l, full())
			check(t, err)
			compare(t, l, want, got)
		})
	}
}

// parseUUID parses a UUID in the form of schemas.
func parseUUID(text string) (u codec.UUID, err error) {
	err = u.UnmarshalText([]byte(text))
	return u, err
}

// An event that lacks a required field is an error, after which the loop may
// continue. In protobuf, this applies to enums and to types for which zero is not a
// value; other absent fields are zero.
func TestMissingRequiredFields(t *testing.T) {
	for _, field := range []string{"at", "state", "document", "level"} {
		t.Run(field, func(t *testing.T) {
			bt := newServer(t)
			for _, l := range sampleMappings {
				e := plain()
				check(t, layoutWriter(bt.Client, l).Write(t.Context(), e))
				strip(t, bt.Client, l, func(name string) bool { return name == field })
				e.Time = e.Time.Add(time.Millisecond)
				check(t, layoutWriter(bt.Client, l).Write(t.Context(), e))

				errs, events := errorsOf(readTable(t, bt.Client, l, seriesOf(e)))
				if events != 1 || len(errs) != 1 || !errors.Is(errs[0], codec.ErrMissing) {
					t.Errorf("%s: %d events and errors %v, want the later event and codec.ErrMissing", l.Table.ID, events, errs)
				}
			}
		})
	}
}

// A cell that cannot be decoded is an error with its position, and the events before
// and after it are read.
func TestStoredGarbage(t *testing.T) {
	forEachTable(t, func(t *testing.T, client store.Client, l *store.Mapping) {
		events := []SampleEvent{plain(), plain(), plain()}
		for i := range events {
			events[i].Time = events[i].Time.Add(time.Duration(i) * time.Minute)
		}
		check(t, layoutWriter(client, l).WriteAll(t.Context(), events))
		row, column := spoil(t, client.(*bigtable.Client), l, events[1].Time)

		errs, n := errorsOf(readTable(t, client, l, seriesOf(events[0])))
		if len(errs) != 1 || n != 2 {
			t.Fatalf("%d events and errors %v, want 2 and 1", n, errs)
		}
		d := decodeError(t, errs[0])
		if d.Table != l.Table.ID || d.Row != row || d.Column != column || !d.Time.Equal(events[1].Time) {
			t.Errorf("got %+v\nwant row %q, column %q, time %s", d, row, column, events[1].Time)
		}
		if !errors.Is(d, codec.ErrValue) && !errors.Is(d, codec.ErrEnum) {
			t.Errorf("got %v, want what is wrong with the value", d)
		}
		for _, part := range []string{d.Table, d.Column, "12:01:00"} {
			if !strings.Contains(d.Error(), part) {
				t.Errorf("%q does not name %q", d, part)
			}
		}
	})
}

// spoil writes garbage to the state of the event at a time, and returns the row and
// the column that an error must name.
func spoil(t *testing.T, client *bigtable.Client, l *store.Mapping, at time.Time) (row, column string) {
	t.Helper()
	column = "state"
	if len(l.Columns) == 1 {
		column = l.Columns[0].Name
	}
	for _, cell := range storedCells(t, client, l.Table.ID) {
		family, qualifier, _ := strings.Cut(cell.Column, ":")
		inColumn := qualifier == column
		if l.Pattern == codec.BucketNewColumns {
			inColumn = strings.Contains(cell.Row, "#state#")
		}
		if !inColumn || !cell.Timestamp.Time().Equal(at) {
			continue
		}
		m := bigtable.NewMutation()
		if l.Pattern == codec.BucketNewColumns {
			m.DeleteTimestampRange(family, qualifier, cell.Timestamp, cell.Timestamp+1000)
			qualifier = "garbage"
		}
		m.Set(family, qualifier, cell.Timestamp, []byte("garbage"))
		check(t, client.Open(l.Table.ID).Apply(t.Context(), cell.Row, m))
		return cell.Row, column
	}
	t.Fatal("the event is not stored")
	return "", ""
}

// Older events have fields under other names or numbers, and with other types. What events
// have under the present ones is newer.
func TestSerializedFieldsOfOlderEvents(t *testing.T) {
	newer := plain()
	newer.DefaultExact = 7
	text := string(appendSampleJSON(nil, &newer))
	parsed := func(older string) (e SampleEvent, err error) {
		blob := strings.Replace(text, `"default_exact":7`, older, 1)
		if blob == text && older != `"default_exact":7` {
			t.Fatal("no member default_exact in ", text)
		}
		return e, parseSampleJSON(&e, []byte(blob))
	}
	e, err := parsed(`"amount":5,"former": {"a": 1},"code":"high"`)
	if err != nil || e.DefaultExact != 5 || string(e.MaybeRenamed) != ` {"a": 1}` || e.MaybeName == nil || *e.MaybeName != "high" {
		t.Errorf("JSON: %+v, %v", e, err)
	}
	if e, err = parsed(`"units":4,"amount":5`); err != nil || e.DefaultExact != 5 {
		t.Errorf("JSON with two older members: %v, %v", e.DefaultExact, err)
	}
	if e, err = parsed(`"units":4,"amount":5,"default_exact":7`); err != nil || e.DefaultExact != 7 {
		t.Errorf("JSON with newer members: %v, %v", e.DefaultExact, err)
	}
	if _, err = parsed(`"amount":9007199254740993`); !errors.Is(err, codec.ErrInexact) {
		t.Errorf("JSON with a large integer: %v", err)
	}

	message := appendSampleProto(nil, &newer)
	field := codec.AppendProtoFloat64(nil, 61, codec.Explicit, 7)
	parsedProto := func(fields ...[]byte) (e SampleEvent, err error) {
		blob := bytes.Replace(message, field, bytes.Join(fields, nil), 1)
		return e, parseSampleProto(&e, blob)
	}
	amount, units := codec.AppendProtoInteger[int64](nil, 62, codec.Explicit, 5), codec.AppendProtoInteger[uint32](nil, 63, codec.Explicit, 4)
	e, err = parsedProto(amount, codec.AppendProtoInteger[int64](nil, 66, codec.Explicit, 1))
	if err != nil || e.DefaultExact != 5 || e.MaybeName == nil || *e.MaybeName != "high" {
		t.Errorf("protobuf: %+v, %v", e, err)
	}
	for _, tt := range []struct {
		name   string
		fields [][]byte
		want   float64
	}{
		{"newest first", [][]byte{field, amount, units}, 7}, {"newest last", [][]byte{units, amount, field}, 7},
		{"two older", [][]byte{amount, units}, 5}, {"two older in reverse", [][]byte{units, amount}, 5},
	} {
		if e, err = parsedProto(tt.fields...); err != nil || e.DefaultExact != tt.want {
			t.Errorf("protobuf, %s: %v, %v", tt.name, e.DefaultExact, err)
		}
	}
	var refused *codec.FieldError
	if _, err = parsedProto(codec.AppendProtoInteger[int64](nil, 62, codec.Explicit, 1<<53+1)); !errors.Is(err, codec.ErrInexact) || !errors.As(err, &refused) || refused.Field != "default_exact" {
		t.Errorf("protobuf with a large integer: %v", err)
	}
}
