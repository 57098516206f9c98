package setup

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

// files are the files of a schema bundle, each once.
type files []*descriptorpb.FileDescriptorProto

// filesOf returns the files of a serialized google.protobuf.FileDescriptorSet: none of one that
// cannot be parsed, which no query can use either.
func filesOf(descriptors []byte) files {
	var set descriptorpb.FileDescriptorSet
	if proto.Unmarshal(descriptors, &set) != nil {
		return nil
	}
	var out files
	for _, f := range set.GetFile() {
		if !slices.ContainsFunc(out, func(have *descriptorpb.FileDescriptorProto) bool { return have.GetName() == f.GetName() }) {
			out = append(out, f)
		}
	}
	return out
}

// bytes returns the serialized files.
func (fs files) bytes() []byte {
	out, _ := proto.MarshalOptions{Deterministic: true}.Marshal(&descriptorpb.FileDescriptorSet{File: fs}) // their strings are valid
	return out
}

// known reports whether a file is one of protobuf itself, such as google/protobuf/timestamp.proto.
func known(f *descriptorpb.FileDescriptorProto) bool { return f.GetPackage() == "google.protobuf" }

// replace reports whether a live file is replaced: one of these has its name or one of its messages,
// as if somebody has uploaded the .proto file of a schema by hand.
func (fs files) replace(live *descriptorpb.FileDescriptorProto) bool {
	messages := files{live}.messages()
	return slices.ContainsFunc(fs, func(f *descriptorpb.FileDescriptorProto) bool {
		return f.GetName() == live.GetName() || slices.ContainsFunc(files{f}.messages(), func(m string) bool { return slices.Contains(messages, m) })
	})
}

// replaced returns those of live files that are replaced.
func (fs files) replaced(live files) files {
	return slices.DeleteFunc(slices.Clone(live), func(f *descriptorpb.FileDescriptorProto) bool { return !fs.replace(f) })
}

// with returns the files with the live ones that they do not replace. Those of protobuf itself stay
// as they are. Files come after those that they import.
func (fs files) with(live files) files {
	var out, others files
	for _, f := range live {
		switch {
		case known(f):
			out = append(out, f)
		case !fs.replace(f):
			others = append(others, f)
		}
	}
	for _, f := range fs {
		if !slices.ContainsFunc(out, func(have *descriptorpb.FileDescriptorProto) bool { return have.GetName() == f.GetName() }) {
			out = append(out, f)
		}
	}
	return append(out, others...)
}

// messages returns the full names of the messages that are not nested in others.
func (fs files) messages() []string {
	var out []string
	for _, f := range fs {
		if known(f) {
			continue
		}
		for _, m := range f.GetMessageType() {
			out = append(out, strings.TrimPrefix(f.GetPackage()+"."+m.GetName(), "."))
		}
	}
	return out
}

// facts returns what queries depend on: the type and number of each field and enum value, by name.
func (fs files) facts() map[string]string {
	out := map[string]string{}
	for _, f := range fs {
		if known(f) {
			continue
		}
		for _, m := range f.GetMessageType() {
			addMessage(out, f.GetPackage(), m)
		}
		for _, e := range f.GetEnumType() {
			addEnum(out, f.GetPackage(), e)
		}
	}
	return out
}

// addMessage adds the facts of a message.
func addMessage(facts map[string]string, in string, m *descriptorpb.DescriptorProto) {
	name := strings.TrimPrefix(in+"."+m.GetName(), ".")
	facts[name] = "message"
	for _, f := range m.GetField() {
		typ := strings.ToLower(strings.TrimPrefix(f.GetType().String(), "TYPE_"))
		if f.GetTypeName() != "" {
			typ = strings.TrimPrefix(f.GetTypeName(), ".")
		}
		switch {
		case f.GetLabel() == descriptorpb.FieldDescriptorProto_LABEL_REPEATED:
			typ = "repeated " + typ
		case f.GetProto3Optional():
			typ = optional + typ
		}
		facts[name+"."+f.GetName()] = fmt.Sprintf("%s = %d", typ, f.GetNumber())
	}
	for _, nested := range m.GetNestedType() {
		addMessage(facts, name, nested)
	}
	for _, e := range m.GetEnumType() {
		addEnum(facts, name, e)
	}
}

// addEnum adds the facts of an enum.
func addEnum(facts map[string]string, in string, e *descriptorpb.EnumDescriptorProto) {
	name := strings.TrimPrefix(in+"."+e.GetName(), ".")
	facts[name] = "enum"
	for _, v := range e.GetValue() {
		facts[name+"."+v.GetName()] = fmt.Sprintf("enum value = %d", v.GetNumber())
	}
}

// optional begins the type of a field that tells absence from zero. Queries read the same without it.
const optional = "optional "

// same reports whether live files state the same as those that would replace them.
func (fs files) same(live files) bool { return maps.Equal(fs.facts(), fs.replaced(live).facts()) }

// bundleChanges are the differences of messages in a schema bundle.
type bundleChanges struct {
	broken []string // what is removed or changed, so that queries fail
	others []string
}

// String lists the changes.
func (c bundleChanges) String() string { return strings.Join(slices.Concat(c.broken, c.others), ", ") }

// changes returns the differences to live files.
func (fs files) changes(live files) (out bundleChanges) {
	before, after := fs.replaced(live).facts(), fs.facts()
	for _, name := range slices.Sorted(maps.Keys(before)) {
		was, is := before[name], after[name]
		text := name + ": " + was + " → " + is
		switch {
		case is == was:
		case is == "":
			out.broken = append(out.broken, name+" is removed")
		case strings.TrimPrefix(is, optional) == strings.TrimPrefix(was, optional):
			out.others = append(out.others, text)
		default:
			out.broken = append(out.broken, text)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if before[name] == "" {
			out.others = append(out.others, name+" is added")
		}
	}
	return out
}
