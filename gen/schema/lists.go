package schema

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/diag"
)

// joined matches names with a separator between them, such as host#time.
var joined = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*(?:([^A-Za-z0-9_\s-]|,?\s)[A-Za-z_][A-Za-z0-9_-]*)*$`)

// namesIn splits a string of names with the same separator between them. The separator is
// empty for a single name. It returns nil for any other string.
func namesIn(text string) (names []string, separator string) {
	text = strings.TrimSpace(text)
	if len(text) > 10*maxName {
		return nil, ""
	}
	m := joined.FindStringSubmatch(text)
	if m == nil {
		return nil, ""
	}
	if m[1] == "" {
		return []string{text}, ""
	}
	names = strings.Split(text, m[1])
	if slices.ContainsFunc(names, func(s string) bool { return !hyphenName.MatchString(s) }) {
		return nil, ""
	}
	return names, strings.TrimSpace(m[1])
}

// listHint returns the hint for a value that is not a list: the example with the names
// that the value contains in its brackets, or else the example itself.
func listHint(n *node, example string) string {
	before, _, isList := strings.Cut(example, "[")
	names, _ := namesIn(n.text)
	if n.kind != scalar || !isList || names == nil || strings.Contains(example, "[{") {
		return example
	}
	return before + "[" + strings.Join(names, ", ") + "]`"
}

// keyOf returns the hint for a row key that is a list of segments or a string, or "" for
// any other value.
func keyOf(n *node) string {
	var segments []string
	delimiter := "#"
	switch n.kind {
	case list:
		for _, item := range n.items {
			if item.kind != scalar || !plainName.MatchString(item.text) {
				return ""
			}
			segments = append(segments, item.text)
		}
	case scalar:
		names, separator := namesIn(n.text)
		if separator != "" && separator != "," {
			delimiter = separator
		}
		segments = names
	}
	if len(segments) == 0 {
		return ""
	}
	return "write " + diag.Code(fmt.Sprintf("key: {delimiter: %q, segments: [%s]}", delimiter, strings.Join(segments, ", ")))
}

// spaceless matches an entry without the space after its colon.
var spaceless = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_]*):([a-z][a-z0-9]*)$`)

// typedNames returns the hint for series values or fields that are a list: a mapping of
// the same names, to their types or, where they have none, to usual. It returns "" for
// any other value.
func typedNames(key, usual string) func(n *node) string {
	return func(n *node) string {
		var entries []string
		if n.kind == scalar {
			m := spaceless.FindStringSubmatch(n.text)
			if m == nil {
				return ""
			}
			entries = append(entries, m[1]+": "+m[2])
		}
		for _, item := range n.items {
			name, typ := nameAndType(item)
			if !plainName.MatchString(name) {
				return ""
			}
			if !slices.Contains(typeNames(), typ) {
				typ = usual
			}
			entries = append(entries, name+": "+typ)
		}
		if len(entries) == 0 {
			return ""
		}
		return "write " + diag.Code(key+": {"+strings.Join(entries, ", ")+"}")
	}
}

// isList says that a value is a list, which the caller reports.
func isList(_ *walker, n *node) bool { return n.kind == list }

// notIndented returns a function with one error for the keys of a table that are
// next to its ID rather than below it.
func notIndented(keys ...string) func(w *walker, n *node) bool {
	return func(w *walker, n *node) bool {
		for i, e := range n.entries {
			if i > 0 && slices.Contains(keys, e.key.text) && n.entries[i-1].value.kind == broken {
				w.reject(e.key.pos, "not-indented", quote(e.key.text), quote(n.entries[i-1].key.text))
				return true
			}
		}
		return false
	}
}

// nameAndType returns the name and the type in a list item, such as host, {host: string}
// or {name: host, type: string}.
func nameAndType(item *node) (name, typ string) {
	text := func(key string) string {
		if v := item.entry(key); v != nil && v.kind == scalar {
			return v.text
		}
		return ""
	}
	switch {
	case item.kind == scalar:
		return item.text, ""
	case item.kind == mapping && len(item.entries) == 1:
		return item.entries[0].key.text, item.entries[0].value.text
	case item.kind == mapping:
		return text("name"), text("type")
	}
	return "", ""
}

// seriesInKeys returns the series that a schema without any probably means: what the row
// keys of its tables contain, with the types of the fields of these names.
func seriesInKeys(root *node) string {
	var names, entries []string
	for _, t := range root.child("tables").entries {
		for _, item := range t.value.child("key").child("segments").items {
			if plainName.MatchString(item.text) && !slices.Contains(append(names, "bucket", "time", "metric"), item.text) {
				names = append(names, item.text)
			}
		}
	}
	for _, name := range names {
		field := root.child("fields").child(name)
		typ := field.text + field.child("type").text // of the short or the long form
		if !slices.Contains(typeNames(), typ) {
			typ = "string"
		}
		entries = append(entries, name+": "+typ)
	}
	if len(entries) == 0 {
		return ""
	}
	return "series: {" + strings.Join(entries, ", ") + "}"
}

// namedItems returns the hint for tables or queries that are a list of mappings with
// names, or "" for any other value.
func namedItems(n *node) string {
	if len(n.items) == 0 {
		return ""
	}
	for _, key := range []string{"name", "id", "table"} {
		if name := n.items[0].entry(key); name != nil && name.kind == scalar && name.text != "" {
			return fmt.Sprintf("write \"%s:\" instead of \"- %s: %[1]s\", and so on", name.text, key)
		}
	}
	return ""
}
