// Package protofile describes the messages of serialized events for other programs: as the .proto
// file of a schema, and as the descriptors of a schema bundle. Both are rendered from one
// description, so that they state the same.
package protofile

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
	"text/template"

	"github.com/btgen-dev/btgen/gen/emit/gocode"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/names"
	"github.com/btgen-dev/btgen/gen/schema"
)

// fileTemplate is a .proto file.
var fileTemplate = template.Must(template.New("proto").Parse(`{{.Head}}
syntax = "proto3";

package {{.Package}};
{{- if .Imports}}
{{range .Imports}}
import "{{.}}";
{{- end}}
{{- end}}
{{range .Doc}}
//{{if .}} {{.}}{{end}}
{{- end}}
message {{.Message.Name}} {
{{- range .Message.Enums}}
  enum {{.Name}} {
{{- range .Values}}
    {{.Name}} = {{.Number}};
{{- end}}
  }
{{end}}
{{- range .Message.Fields}}
  {{if .Optional}}optional {{end}}{{.Type}} {{.Name}} = {{.Number}}{{if .Older}} [deprecated = true]{{end}};{{if .Doc}} // {{.Doc}}{{end}}
{{- end}}
}
`))

// File describes a .proto file with one message.
type File struct {
	Path, Package string // the path is relative to the output folder
	Imports       []string
	Doc           []string // lines
	Message       Message
}

// Message describes a message.
type Message struct {
	Name   string
	Enums  []Enum
	Fields []Field
}

// Enum describes an enum in a message.
type Enum struct {
	Name   string
	Values []Value // the first is zero
}

// Value is a value of an enum.
type Value struct {
	Name   string
	Number int64
}

// Field describes a field of a message.
type Field struct {
	Doc, Type, Name string
	Number          int
	Optional        bool // it tells absence from zero
	Older           bool // only older events have it
}

// NameOf returns the full name of the message of a schema.
func NameOf(l *layout.Layout) string { return l.Package + "." + l.Name }

// Of describes the events of a schema.
func Of(l *layout.Layout, n *names.Schema) *File {
	f := &File{Path: path.Join(l.Package, n.Proto), Package: l.Package, Message: Message{Name: l.Name}}
	about := fmt.Sprintf("%s contains the fields of one event. Its series is in the row key, and its time is in the row key or in the timestamp of its cell.", l.Name)
	f.Doc = gocode.Wrap(append([]string{about}, strings.Fields(gocode.Sentence(l.Doc))...))
	m := &f.Message
	for i := range l.Fields {
		field := &l.Fields[i]
		m.Fields = append(m.Fields, fieldOf(field, n.Field(field)))
		for _, older := range field.Older(layout.Protobuf) {
			m.Fields = append(m.Fields, olderField(field, &older, n.Field(field)))
		}
		if field.Type == schema.Enum {
			m.Enums = append(m.Enums, enumOf(field, n.Field(field)))
		}
		if known := wellKnown(field.Type); known != "" && !slices.Contains(f.Imports, known) {
			f.Imports = append(f.Imports, known)
		}
	}
	slices.Sort(f.Imports)
	return f
}

// Text renders the .proto file, with a head of comments.
func (f *File) Text(head string) ([]byte, error) {
	var b bytes.Buffer
	err := fileTemplate.Execute(&b, struct {
		*File
		Head string
	}{f, head})
	return b.Bytes(), err
}

// fieldOf describes one field.
func fieldOf(f *layout.Field, n *names.Field) Field {
	var docs []string
	for _, part := range []string{f.Unit, strings.Join(strings.Fields(f.Doc), " ")} {
		if part != "" {
			docs = append(docs, part)
		}
	}
	if f.Default != nil {
		docs = append(docs, fmt.Sprintf("%s if absent", gocode.Default(f.Default)))
	}
	return Field{Doc: gocode.CommentLine(strings.Join(docs, "; ")), Optional: f.Explicit() && wellKnown(f.Type) == "", Type: typeOf(f, n), Name: f.Name, Number: f.Number}
}

// olderField describes a field as older events have it.
func olderField(f, older *layout.Field, n *names.Field) Field {
	out := fieldOf(older, n)
	out.Name, out.Doc, out.Older = names.OlderProto(f, older), fmt.Sprintf("%s of older events", f.Name), true
	if older.Type == schema.Enum && f.Type != schema.Enum {
		out.Type = "int32" // as enums are encoded
		var values []string
		for _, v := range older.Enum {
			values = append(values, fmt.Sprintf("%d: %s", v.Number, v.Name))
		}
		out.Doc = gocode.CommentLine(out.Doc + "; " + strings.Join(values, ", "))
	}
	return out
}

// typeOf returns the protobuf type of a field.
func typeOf(f *layout.Field, n *names.Field) string {
	if f.Type == schema.Enum {
		return n.ProtoEnum
	}
	return f.Type.Traits().Proto
}

// wellKnown returns the file to import for a type.
func wellKnown(t schema.Type) string { return t.Traits().ProtoFile }

// enumOf describes an enum. Protobuf requires a first value of zero, which it adds if the schema
// does not have one.
func enumOf(f *layout.Field, n *names.Field) Enum {
	zero := n.ProtoZero
	if name, has := f.Enum.Name(0); has {
		zero = n.ProtoValue(name)
	}
	e := Enum{Name: n.ProtoEnum, Values: []Value{{Name: zero}}}
	for _, v := range f.Enum {
		if v.Number != 0 {
			e.Values = append(e.Values, Value{n.ProtoValue(v.Name), v.Number})
		}
	}
	return e
}
