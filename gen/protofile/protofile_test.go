package protofile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/bufbuild/protocompile"
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
  events:
    pattern: single_serialized
    key: {delimiter: "#", segments: [host, {time: unix_s}]}
    family: m
    blob: {column: e, format: protobuf}
    ttl: {keep: forever}
`

// TestDescriptors checks that the descriptors of a schema bundle state what the .proto file does, as
// a protobuf compiler reads it, and that a protobuf library accepts them.
func TestDescriptors(t *testing.T) {
	inputs := []gen.Input{{Name: "older.yaml", Text: []byte(older)}}
	paths, err := filepath.Glob("../../schemas/*.yaml")
	if err != nil || len(paths) < 20 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		assert.Must(t, err)
		inputs = append(inputs, gen.Input{Name: path, Text: text})
	}
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
		assert.Must(t, err)
		var set descriptorpb.FileDescriptorSet
		assert.Must(t, proto.Unmarshal(f.Descriptors(), &set))
		files, err := protodesc.NewFiles(&set)
		assert.Must(t, err, f.Path)
		if _, err := files.FindDescriptorByName("app.Event"); l.Package == "app" && err != nil {
			t.Error(err)
		}
		compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{
			Accessor: protocompile.SourceAccessorFromMap(map[string]string{f.Path: string(text)}),
		})}
		compiled, err := compiler.Compile(t.Context(), f.Path)
		assert.Must(t, err, text)
		want := []*descriptorpb.FileDescriptorProto{protodesc.ToFileDescriptorProto(compiled[0])}
		for i := range compiled[0].Imports().Len() {
			imported := protodesc.ToFileDescriptorProto(compiled[0].Imports().Get(i).FileDescriptor)
			imported.Options = nil
			want = append(want[:i:i], imported, want[i])
		}
		assert.Same(t, "", cmp.Diff(want, set.GetFile(), protocmp.Transform()), f.Path)
	}
	if messages < 8 {
		t.Errorf("only %d messages", messages)
	}
}
