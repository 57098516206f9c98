package protofile

import (
	"path"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// Descriptors returns a serialized google.protobuf.FileDescriptorSet of the file, after those that
// it imports. Their comments and options, except for deprecated fields, are omitted. The bytes
// depend on nothing but the file.
func (f *File) Descriptors() []byte {
	var out []byte
	for _, name := range f.Imports {
		out = appendMessage(out, 1, secondsAndNanos(name).descriptor())
	}
	return appendMessage(out, 1, f.descriptor())
}

// secondsAndNanos describes the file of one of the well-known types that fields have: a timestamp
// and a duration have the same fields.
func secondsAndNanos(name string) *File {
	message := strings.TrimSuffix(path.Base(name), ".proto")
	return &File{Path: name, Package: "google.protobuf", Message: Message{
		Name:   strings.ToUpper(message[:1]) + message[1:],
		Fields: []Field{{Type: "int64", Name: "seconds", Number: 1}, {Type: "int32", Name: "nanos", Number: 2}},
	}}
}

// scalarTypes are the values of google.protobuf.FieldDescriptorProto.Type.
var scalarTypes = map[string]uint64{"double": 1, "float": 2, "int64": 3, "uint64": 4, "int32": 5, "bool": 8, "string": 9, "bytes": 12, "uint32": 13}

// Types of fields that are messages and enums, and the label of all fields.
const (
	messageType   = 11
	enumType      = 14
	optionalLabel = 1
)

// descriptor returns a serialized google.protobuf.FileDescriptorProto.
func (f *File) descriptor() []byte {
	b := appendString(nil, 1, f.Path)
	b = appendString(b, 2, f.Package)
	for _, name := range f.Imports {
		b = appendString(b, 3, name)
	}
	b = appendMessage(b, 4, f.message())
	return appendString(b, 12, "proto3")
}

// message returns a serialized DescriptorProto of the message of a file. A field that tells absence
// is in a oneof of its own.
func (f *File) message() []byte {
	b := appendString(nil, 1, f.Message.Name)
	var oneofs []string
	for i := range f.Message.Fields {
		field := &f.Message.Fields[i]
		d := f.field(field)
		if field.Optional {
			d = appendVarint(d, 9, uint64(len(oneofs)))
			oneofs = append(oneofs, "_"+field.Name)
		}
		d = appendString(d, 10, jsonName(field.Name))
		if field.Optional {
			d = appendVarint(d, 17, 1)
		}
		b = appendMessage(b, 2, d)
	}
	for _, e := range f.Message.Enums {
		b = appendMessage(b, 4, e.descriptor())
	}
	for _, name := range oneofs {
		b = appendMessage(b, 8, appendString(nil, 1, name))
	}
	return b
}

// field returns the first part of a FieldDescriptorProto.
func (f *File) field(field *Field) []byte {
	b := appendString(nil, 1, field.Name)
	b = appendVarint(b, 3, uint64(field.Number))
	b = appendVarint(b, 4, optionalLabel)
	isEnum := slices.ContainsFunc(f.Message.Enums, func(e Enum) bool { return e.Name == field.Type })
	switch scalar := scalarTypes[field.Type]; {
	case isEnum:
		b = appendVarint(b, 5, enumType)
		b = appendString(b, 6, "."+f.Package+"."+f.Message.Name+"."+field.Type)
	case scalar != 0:
		b = appendVarint(b, 5, scalar)
	default:
		b = appendVarint(b, 5, messageType)
		b = appendString(b, 6, "."+field.Type)
	}
	if field.Older {
		b = appendMessage(b, 8, appendVarint(nil, 3, 1)) // deprecated
	}
	return b
}

// descriptor returns a serialized EnumDescriptorProto.
func (e *Enum) descriptor() []byte {
	b := appendString(nil, 1, e.Name)
	for _, v := range e.Values {
		b = appendMessage(b, 2, appendVarint(appendString(nil, 1, v.Name), 2, uint64(v.Number)))
	}
	return b
}

// jsonName returns the name of a field in JSON, as protoc derives it.
func jsonName(name string) string {
	var b strings.Builder
	upper := false
	for _, c := range []byte(name) {
		switch {
		case c == '_':
			upper = true
			continue
		case upper && 'a' <= c && c <= 'z':
			c -= 'a' - 'A'
		}
		upper = false
		b.WriteByte(c)
	}
	return b.String()
}

func appendString(b []byte, number protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, number, protowire.BytesType), s)
}

func appendMessage(b []byte, number protowire.Number, message []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), message)
}

func appendVarint(b []byte, number protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), v)
}
