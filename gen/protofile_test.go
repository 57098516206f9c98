package gen_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/names"
	"github.com/btgen-dev/btgen/gen/protofile"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/corpus"
)

// older has what the example schemas lack: fields that older events have elsewhere, and an enum
// without a zero.
const older = `btgen: v1
package: app
name: Event
series: {host: string}
time: {precision: 1s}
fields:
  value: {type: float64, number: 1, was: [{column: amount, number: 7, type: int64}]}
  state: {type: enum, of: {down: 2, up: 300}, number: 2, optional: true}
  note_2_go: {type: string, number: 3, default: "a\"b"}
  at_most: {type: duration, number: 4, optional: true}
tables:
  events: {pattern: single_serialized, key: {delimiter: "#", segments: [host, {time: unix_s}]},
    family: m, blob: {column: e, format: protobuf}, ttl: {keep: forever}}
`

// TestDescriptors checks that the descriptors of a schema bundle state what the .proto file does, as
// a protobuf compiler reads it, and that a protobuf library accepts them.
func TestDescriptors(t *testing.T) {
	inputs := append(corpus.Inputs(t, "../schemas/*.yaml"), gen.Input{Name: "older.yaml", Text: []byte(older)})
	layouts, found := gen.Layouts(inputs)
	if found.HasErrors() {
		t.Fatal(found)
	}
	messages := 0
	for _, l := range layouts {
		if !l.Stores(layout.Protobuf) {
			continue
		}
		messages++
		f := protofile.Of(l, names.Of(l))
		text, err := f.Text("// A head.")
		must(t, err)
		var set descriptorpb.FileDescriptorSet
		must(t, proto.Unmarshal(f.Descriptors(), &set))
		files, err := protodesc.NewFiles(&set)
		must(t, err, f.Path)
		if _, err := files.FindDescriptorByName("app.Event"); l.Package == "app" && err != nil {
			t.Error(err)
		}
		compiled := compiledProto(t, f.Path, string(text))
		want := []*descriptorpb.FileDescriptorProto{protodesc.ToFileDescriptorProto(compiled)}
		for i := range compiled.Imports().Len() {
			imported := protodesc.ToFileDescriptorProto(compiled.Imports().Get(i).FileDescriptor)
			imported.Options = nil
			want = append(want[:i:i], imported, want[i])
		}
		assert.Same(t, "", cmp.Diff(want, set.GetFile(), protocmp.Transform()), f.Path)
	}
	if messages < 8 {
		t.Errorf("only %d messages", messages)
	}
}
