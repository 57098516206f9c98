package noaa

import (
	"path/filepath"
	"testing"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// message compiles a .proto file next to the generated code, and returns its message.
func message(t testing.TB, file string, name protoreflect.Name) protoreflect.MessageDescriptor {
	t.Helper()
	compiler := protocompile.Compiler{Resolver: &protocompile.SourceResolver{}}
	files, err := compiler.Compile(t.Context(), file)
	check(t, err)
	return files[0].Messages().ByName(name)
}

func TestProtoFilesCompile(t *testing.T) {
	files, err := filepath.Glob("*.proto")
	check(t, err)
	if len(files) != 2 {
		t.Errorf("the files are %v", files)
	}
	compiler := protocompile.Compiler{Resolver: &protocompile.SourceResolver{}}
	_, err = compiler.Compile(t.Context(), files...)
	check(t, err)
}

// A program that has only the .proto file reads every observation exactly, and
// generated code reads what it writes.
func TestObservationsAsProtobuf(t *testing.T) {
	desc := message(t, "daily.proto", "Daily")
	field := desc.Fields().ByName
	for _, want := range loadDaily(t) {
		m := dynamicpb.NewMessage(desc)
		check(t, proto.Unmarshal(appendDailyProto(nil, &want), m))
		got := DailyEvent{
			DailySeries:   want.DailySeries,
			Time:          want.Time,
			Precipitation: m.Get(field("precipitation")).Float(),
			TempMax:       m.Get(field("temp_max")).Float(),
			TempMin:       m.Get(field("temp_min")).Float(),
			Wind:          float32(m.Get(field("wind")).Float()),
			Weather:       DailyWeather(m.Get(field("weather")).Enum()),
		}
		compare(t, []DailyEvent{want}, []DailyEvent{got})

		blob, err := proto.Marshal(m)
		check(t, err)
		got = DailyEvent{DailySeries: want.DailySeries, Time: want.Time}
		check(t, parseDailyProto(&got, blob))
		compare(t, []DailyEvent{want}, []DailyEvent{got})
	}
}
