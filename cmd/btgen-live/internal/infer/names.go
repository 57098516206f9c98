package infer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/words"
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
	word := func(v string) string { return append(entity.FindStringSubmatch(v), "", "")[1] }
	switch first := word(values[0]); {
	case first != "" && all(values, func(v string) bool { return word(v) == first }):
		return first
	case i > 0 && k.parts[i-1].constant:
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

// sameName returns a text that is equal for names that are equal in Go.
func sameName(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// notPlain matches what a name cannot have.
var notPlain = regexp.MustCompile(`[^A-Za-z0-9]+`)

// plain returns a valid name that resembles a text.
func (n *namer) plain(s, otherwise string) string {
	base := strings.Trim(notPlain.ReplaceAllString(s, "_"), "_")
	if base == "" || base[0] <= '9' {
		base = otherwise + base
	}
	if base = base[:min(len(base), 56)]; slices.Contains(reserved, strings.ToLower(base)) || n.refused[base] {
		base = otherwise + base
	}
	return base
}

// name returns a valid name that is not taken, and takes it.
func (n *namer) name(s, otherwise string) string {
	name := words.Free(n.plain(s, otherwise), func(name string) bool { return n.taken[sameName(name)] || n.refused[name] })
	n.taken[sameName(name)] = true
	return name
}

// nameStart matches the name at the beginning of a text.
var nameStart = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*`)

// learn remembers the names at the positions of errors in a text. It returns false if there are none.
func (n *namer) learn(text []byte, found diag.List) (more bool) {
	if n.refused == nil {
		n.refused = map[string]bool{}
	}
	lines := strings.Split(string(text), "\n")
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
var reserved = strings.Fields("time bucket sequence class ttl expiresat expires_at writtenat written_at true false yes no on off null y n")

// packageName returns the name of the package for a table.
func (n *namer) packageName(table string) string {
	if n.pkg = n.plain(strings.ToLower(table), "table_"); n.refused[n.pkg] {
		n.pkg += "_table"
	}
	return n.pkg
}

// eventName returns the name of the events of a table: in the singular.
func (n *namer) eventName(table string) string {
	parts := strings.FieldsFunc(n.packageName(table), func(r rune) bool { return r == '_' })
	last := parts[len(parts)-1]
	if len(last) > 3 && strings.HasSuffix(last, "s") && !singular.MatchString(last) {
		parts[len(parts)-1] = last[:len(last)-1]
	}
	for i, word := range parts {
		parts[i] = strings.ToUpper(word[:1]) + word[1:]
	}
	return strings.Join(parts, "")
}

// singular matches words that end with s in the singular.
var singular = regexp.MustCompile(`(ss|us|is|as|ses)$`)
