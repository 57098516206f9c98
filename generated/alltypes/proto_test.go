package alltypes

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
)

// protoDescriptor compiles the .proto file next to the generated code, like a
// program that reads the table in another language.
func protoDescriptor(t testing.TB) protoreflect.MessageDescriptor {
	t.Helper()
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{})}
	files, err := compiler.Compile(t.Context(), "sample.proto")
	check(t, err)
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
		written := strings.HasPrefix(v.Type().Field(n).Name, "Default") || field.Type() == reflect.TypeFor[SampleLevel]()
		if field.IsZero() && !field.CanFloat() && !written {
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
	case SampleLevel:
		m.Set(field, protoreflect.ValueOf(protoreflect.EnumNumber(value)))
	case SampleState:
		m.Set(field, protoreflect.ValueOf(protoreflect.EnumNumber(value)))
	case SampleMaybeState:
		m.Set(field, protoreflect.ValueOf(protoreflect.EnumNumber(value)))
	case SampleDefaultState:
		m.Set(field, protoreflect.ValueOf(protoreflect.EnumNumber(value)))
	default:
		m.Set(field, protoreflect.ValueOf(value))
	}
}

// protoMappings are the tables that store events as protobuf.
var protoMappings = []*store.Mapping{sampleCombinedMapping, sampleSerializedMapping}

// storedCells returns all cells of a table.
func storedCells(t tb, client *bigtable.Client, table string) []bigtable.ReadItem {
	t.Helper()
	var out []bigtable.ReadItem
	check(t, client.Open(table).ReadRows(t.Context(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		for _, items := range row {
			out = append(out, items...)
		}
		return true
	}))
	return out
}

// Stored values contain exactly what the .proto file describes.
func TestStoredProtobufMatchesProtoFile(t *testing.T) {
	bt := newServer(t)
	desc := protoDescriptor(t)
	rapid.Check(t, func(t *rapid.T) {
		e := newEvent(t, newSeries(t))
		for _, l := range protoMappings {
			check(t, layoutWriter(bt.Client, l).Write(t.Context(), e))
			cells := storedCells(t, bt.Client, l.Table.ID)
			check(t, bt.Admin.DropAllRows(t.Context(), l.Table.ID))
			if len(cells) != 1 {
				t.Fatalf("%d cells stored, want 1", len(cells))
			}
			got, want := dynamicpb.NewMessage(desc), toProto(desc, e)
			check(t, proto.Unmarshal(cells[0].Value, got))
			if len(got.GetUnknown()) > 0 || !proto.Equal(want, got) {
				t.Fatalf("want %v\ngot %v\nunknown %x", want, got, got.GetUnknown())
			}
		}
	})
}

// Readers accept messages that others marshal according to the .proto file, even
// a newer version of it.
func TestProtobufOfOtherWritersIsRead(t *testing.T) {
	bt := newServer(t)
	desc := protoDescriptor(t)
	rapid.Check(t, func(t *rapid.T) {
		e := newEvent(t, newSeries(t))
		m := toProto(desc, e)
		m.SetUnknown(protowire.AppendString(protowire.AppendTag(nil, 1000, protowire.BytesType), "new"))
		blob, err := proto.Marshal(m)
		check(t, err)
		for _, l := range protoMappings {
			putBlob(t, bt.Client, l, e, blob)
			got, err := readLatest(bt.Client, l, e)
			check(t, err)
			compare(t, l, e, got)
		}
	})
}

// putBlob stores a serialized event with the plain client.
func putBlob(t tb, client *bigtable.Client, l *store.Mapping, e SampleEvent, blob []byte) {
	t.Helper()
	var key []byte
	var err error
	series := SampleCombinedKey{e.Site, e.Sensor, e.Channel, e.Slot, e.Serial, e.Unit, e.Kind, e.Active, e.Tag, e.Since, e.Interval, e.Time}
	switch l {
	case sampleCombinedMapping:
		key, err = series.Append(nil)
	case sampleSerializedMapping:
		prefix, _ := series.Prefix()
		key = e.Time.AppendFormat(prefix, "2006-01-02T15:04:05.000")
	}
	check(t, err)
	m := bigtable.NewMutation()
	m.Set(l.Table.Families[0].Name, l.Columns[0].Name, bigtable.Time(e.Time), blob)
	check(t, client.Open(l.Table.ID).Apply(t.Context(), string(key), m))
}
