package emit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"github.com/btgen-dev/btgen/gen/emit/gocode"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/names"
	"github.com/btgen-dev/btgen/gen/schema"
)

// protoTemplate is the .proto file that describes serialized events for other
// languages.
var protoTemplate = template.Must(template.New("proto").Parse(`{{.Head}}
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
message {{.Message}} {
{{- range .Enums}}
  enum {{.Name}} {
    {{.Zero}} = 0;
{{- range .Values}}{{if .Number}}
    {{.Name}} = {{.Number}};
{{- end}}{{end}}
  }
{{end}}
{{- range .Fields}}
  {{.Label}}{{.Type}} {{.Name}} = {{.Number}}{{if .Older}} [deprecated = true]{{end}};{{if .Doc}} // {{.Doc}}{{end}}
{{- end}}
}
`))

// protoMessage is the data of the template.
type protoMessage struct {
	Head, Package, Message string
	Imports, Doc           []string
	Enums                  []protoEnum
	Fields                 []protoField
}

type protoEnum struct {
	Name, Zero string
	Values     []protoValue
}

type protoValue struct {
	Name   string
	Number int64
}

type protoField struct {
	Doc, Label, Type, Name string
	Number                 int
	Older                  bool // only older events have it
}

// protoFile renders the .proto file of a schema whose events are serialized.
func protoFile(l *layout.Layout, n *names.Schema) ([]byte, error) {
	m := protoMessage{Head: recordOf(l).Head(), Package: l.Package, Message: l.Name}
	about := fmt.Sprintf("%s contains the fields of one event. Its series is in the row key, and its time is in the row key or in the timestamp of its cell.", l.Name)
	m.Doc = gocode.Wrap(append([]string{about}, strings.Fields(gocode.Sentence(l.Doc))...))
	for i := range l.Fields {
		f := &l.Fields[i]
		m.Fields = append(m.Fields, protoFieldOf(f, n.Field(f)))
		for _, older := range f.Older(layout.Protobuf) {
			m.Fields = append(m.Fields, olderProtoField(f, &older, n.Field(f)))
		}
		if f.Type == schema.Enum {
			m.Enums = append(m.Enums, protoEnumOf(f, n.Field(f)))
		}
		if known := wellKnown(f.Type); known != "" && !slices.Contains(m.Imports, known) {
			m.Imports = append(m.Imports, known)
		}
	}
	slices.Sort(m.Imports)
	var b bytes.Buffer
	err := protoTemplate.Execute(&b, m)
	return b.Bytes(), err
}

// protoFieldOf describes one field.
func protoFieldOf(f *layout.Field, n *names.Field) protoField {
	label := ""
	if f.Explicit() && wellKnown(f.Type) == "" {
		label = "optional "
	}
	var docs []string
	for _, part := range []string{f.Unit, strings.Join(strings.Fields(f.Doc), " ")} {
		if part != "" {
			docs = append(docs, part)
		}
	}
	if f.Default != nil {
		docs = append(docs, fmt.Sprintf("%s if absent", showDefault(f)))
	}
	return protoField{Doc: gocode.CommentLine(strings.Join(docs, "; ")), Label: label, Type: protoType(f, n), Name: f.Name, Number: f.Number}
}

// olderProtoField describes a field as older events have it.
func olderProtoField(f, older *layout.Field, n *names.Field) protoField {
	out := protoFieldOf(older, n)
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

// protoType returns the protobuf type of a field.
func protoType(f *layout.Field, n *names.Field) string {
	if f.Type == schema.Enum {
		return n.ProtoEnum
	}
	return f.Type.Traits().Proto
}

// wellKnown returns the file to import for a type.
func wellKnown(t schema.Type) string { return t.Traits().ProtoFile }

// protoEnumOf describes an enum. Protobuf requires a first value of zero, which it adds
// if the schema does not have one.
func protoEnumOf(f *layout.Field, n *names.Field) protoEnum {
	e := protoEnum{Name: n.ProtoEnum, Zero: n.ProtoZero}
	if zero, has := f.Enum.Name(0); has {
		e.Zero = n.ProtoValue(zero)
	}
	for _, v := range f.Enum {
		e.Values = append(e.Values, protoValue{n.ProtoValue(v.Name), v.Number})
	}
	return e
}
