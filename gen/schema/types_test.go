package schema

import (
	"slices"
	"testing"

	"golang.org/x/mod/module"
)

func TestTypeString(t *testing.T) {
	for typ, want := range map[Type]string{Invalid: "invalid", String: "string", JSON: "json", Float32: "float32", -1: "invalid", 100: "invalid"} {
		if got := typ.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if want != "invalid" && ParseType(want) != typ {
			t.Errorf("%s is parsed as %s", want, ParseType(want))
		}
	}
}

// TestTraits checks that each type has the traits that others rely on, and that they agree.
func TestTraits(t *testing.T) {
	for _, typ := range Types() {
		own := typ.Traits()
		for what, missing := range map[string]bool{
			"Name":                       own.Name == "",
			"Codec":                      own.Codec == "",
			"Go":                         own.Go.Name == "" && typ != Enum,
			"def":                        typ.form().read == nil,
			"Bits":                       (own.Bits > 0) != (own.Number != NoNumber),
			"Segment, or NoKey":          !own.NoKey && own.Segment.String() != own.Name,
			"KeyTexts, Words, or NoKey":  !own.NoKey && own.KeyTexts == nil && own.Words == nil && typ != String && typ != Enum,
			"Width, or Variable":         (own.Width > 0) == own.Variable,
			"TextWidth, or Variable":     own.TextWidth.Most == 0 && !own.Variable && typ != Enum,
			"Sized of a number":          own.Number != NoNumber && own.Sized != own.Bits/8,
			"Proto":                      own.Proto == "" && typ != Enum,
			"ProtoWidth, or Variable":    own.ProtoWidth.Most == 0 && !own.Variable && !own.Integer() && typ != Enum,
			"ProtoFile of a message":     (own.ProtoFile == "") == (len(own.Proto) > 6 && own.Proto[:6] == "google"),
			"Conversions of other types": slices.ContainsFunc(own.Conversions, func(c Conversion) bool { return c.To == typ || c.Func == "" }),
		} {
			if missing {
				t.Errorf("%s lacks %s", typ, what)
			}
		}
	}
}

// The go command accepts every package name that the language accepts as part of an
// import path: all short ones, and those that it treats specially.
func TestPackageNamesAreImportPaths(t *testing.T) {
	const first, more = "abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwxyz0123456789_"
	var names []string
	for _, a := range first {
		names = append(names, string(a))
		for _, b := range more {
			for _, c := range more {
				names = append(names, string(a)+string(b)+string(c))
			}
		}
	}
	for _, stem := range []string{"com", "lpt", "conin", "conout", "clock"} {
		for _, c := range more {
			names = append(names, stem+string(c))
		}
	}
	for _, name := range slices.Concat(names, windowsNames) {
		w := &walker{file: "x.yaml"}
		_, ok := packageForm.read(w, &node{kind: scalar, text: name})
		for _, path := range []string{name, name + "/" + name + "test"} {
			if err := module.CheckImportPath("example.com/" + path); ok && err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
		if err := module.CheckImportPath(name); slices.Contains(windowsNames, name) && (ok || err == nil) {
			t.Errorf("%s: taken: %v; the go command: %v", name, ok, err)
		}
	}
}
