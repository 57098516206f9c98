package infer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/btgen-dev/btgen/gen/schema"
)

// known are forms of values whose names are known.
var known = []struct {
	syntax *regexp.Regexp
	name   string
}{
	{regexp.MustCompile(`^[a-z]+-[a-z]+[0-9]{1,2}$`), "region"}, // such as us-west2
	{regexp.MustCompile(`^[0-9]{1,3}(\.[0-9]{1,3}){3}$`), "ip"},
	{regexp.MustCompile(`^[^@ ]+@[^@ ]+\.[a-z]+$`), "email"},
	{regexp.MustCompile(`^X[A-Z]{3}$`), "exchange"}, // ISO 10383
	{regexp.MustCompile(`^[A-Z]{1,5}$`), "symbol"},
}

// entity matches a word that is followed by a number.
var entity = regexp.MustCompile(`^([a-z][a-z_]*?)[-_.]?[0-9]+$`)

// nameOf proposes the name of a part: that of a word in all values, such as sensor in
// sensor-12, of a form such as a region, or of the constant before it.
func nameOf(k *key, i int) string {
	values := k.parts[i].values
	for _, form := range known {
		if all(values, form.syntax.MatchString) {
			return form.name
		}
	}
	if m := entity.FindStringSubmatch(values[0]); m != nil && all(values, func(v string) bool {
		n := entity.FindStringSubmatch(v)
		return n != nil && n[1] == m[1]
	}) {
		return m[1]
	}
	if i > 0 && k.parts[i-1].constant {
		return k.parts[i-1].values[0] + "_id"
	}
	return fmt.Sprintf("key_%d", i+1)
}

// namer makes names of series values and fields distinct, also in Go.
type namer map[string]bool

// name returns a valid name that is not taken.
func (n namer) name(s, otherwise string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
	}
	base := strings.Trim(b.String(), "_")
	if base == "" || !unicode.IsLetter(rune(base[0])) {
		base = otherwise + base
	}
	base = base[:min(len(base), 56)]
	if slices.Contains(reserved, strings.ToLower(base)) {
		base = otherwise + base
	}
	for i := 1; ; i++ {
		name := base
		if i > 1 {
			name = fmt.Sprintf("%s_%d", base, i)
		}
		if same := strings.ToLower(strings.ReplaceAll(name, "_", "")); !n[same] {
			n[same] = true
			return name
		}
	}
}

// reserved are names that series values and fields cannot have, or that events have anyway.
var reserved = []string{"time", "bucket", "metric", "sequence", "class", "ttl", "expiresat", "expires_at", "writtenat", "written_at", "true", "false", "yes", "no", "on", "off", "null", "y", "n"}

// packageName returns the name of the package for a table.
func packageName(table string) string {
	name := namer{}.name(strings.ToLower(table), "table_")
	if schema.IsReservedPackage(name) || slices.Contains(packages, name) || strings.HasSuffix(name, "_test") {
		name += "_table"
	}
	return name
}

// packages are names that packages cannot have, besides those that [schema.IsReservedPackage] knows.
var packages = []string{
	"break", "case", "chan", "const", "continue", "default", "defer", "else", "fallthrough", "for", "func", "go", "goto", "if", "import",
	"interface", "map", "package", "range", "return", "select", "struct", "switch", "type", "var", "aux", "con", "nul", "prn",
}

// eventName returns the name of the events of a table: in the singular.
func eventName(table string) string {
	var b strings.Builder
	for _, word := range strings.Split(packageName(table), "_") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	name := b.String()
	if len(name) > 3 && strings.HasSuffix(name, "s") && !strings.HasSuffix(name, "ss") {
		name = name[:len(name)-1]
	}
	return name
}
