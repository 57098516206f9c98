package infer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/btgen-dev/btgen/gen/diag"
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

// namer makes names of packages, series values and fields that are distinct, also in Go, and that the schema
// language accepts.
type namer struct {
	taken   map[string]bool // by [sameName]
	pkg     string          // that it returned last
	refused map[string]bool // names that the language does not accept
}

// reset forgets which names are taken.
func (n *namer) reset() {
	n.taken = map[string]bool{}
	if n.refused == nil {
		n.refused = map[string]bool{}
	}
}

// sameName returns a text that is equal for names that are equal in Go.
func sameName(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// take takes a name, unless it is taken.
func (n *namer) take(name string) bool {
	same := sameName(name)
	if n.taken[same] || n.refused[name] {
		return false
	}
	n.taken[same] = true
	return true
}

// plain returns a valid name that resembles a text.
func plain(s, otherwise string) string {
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
	if base = base[:min(len(base), 56)]; slices.Contains(reserved, strings.ToLower(base)) {
		base = otherwise + base
	}
	return base
}

// name returns a valid name that is not taken.
func (n *namer) name(s, otherwise string) string {
	base := plain(s, otherwise)
	if n.refused[base] {
		base = otherwise + base
	}
	name := base
	for i := 2; !n.take(name); i++ {
		name = fmt.Sprintf("%s_%d", base, i)
	}
	return name
}

// nameStart matches the name at the beginning of a text.
var nameStart = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*`)

// learn remembers the names at the positions of errors in a text with names of the namer. It returns false
// if there are none.
func (n *namer) learn(text []byte, found diag.List) bool {
	lines, more := strings.Split(string(text), "\n"), false
	for _, f := range found {
		if f.Severity != diag.Error || f.Pos.Line < 1 || f.Pos.Line > len(lines) {
			continue
		}
		line := lines[f.Pos.Line-1]
		name := nameStart.FindString(line[min(max(f.Pos.Column-1, 0), len(line)):])
		if name != "" && !n.refused[name] && (name == n.pkg || n.taken[sameName(name)]) {
			n.refused[name], more = true, true
		}
	}
	return more
}

// reserved are names that series values and fields cannot have, or that events have anyway.
var reserved = []string{
	"time", "bucket", "sequence", "class", "ttl", "expiresat", "expires_at", "writtenat", "written_at",
	"true", "false", "yes", "no", "on", "off", "null", "y", "n",
}

// packageName returns the name of the package for a table.
func (n *namer) packageName(table string) string {
	if n.pkg = plain(strings.ToLower(table), "table_"); n.refused[n.pkg] {
		n.pkg += "_table"
	}
	return n.pkg
}

// eventName returns the name of the events of a table: in the singular.
func (n *namer) eventName(table string) string {
	var b strings.Builder
	last := ""
	for _, word := range strings.Split(n.packageName(table), "_") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
			last = word
		}
	}
	name := b.String()
	if len(last) > 3 && strings.HasSuffix(last, "s") && !singular.MatchString(last) {
		name = name[:len(name)-1]
	}
	return name
}

// singular matches words that end with s in the singular.
var singular = regexp.MustCompile(`(ss|us|is|as|ses)$`)
