package setup

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// facts are those of one layout of a table: what decides where and how its events are
// stored, such as "bucket". A key with a space, such as `column "a"`, is that of a fact that
// other layouts may lack, since it is about a part of events only.
type facts struct {
	keys         []string
	values       map[string]string
	since, until time.Time // of the events; zero if the layout has no beginning or no end
}

// parseFacts parses a line of Table.Layout.
func parseFacts(line string) (facts, error) {
	f := facts{values: map[string]string{}}
	for rest := line; rest != ""; {
		var fact string
		fact, rest = cutUnquoted(rest, "; ")
		key, value := cutUnquoted(fact, ": ")
		if _, twice := f.values[key]; twice || value == "" {
			return facts{}, fmt.Errorf("undecodable fact %q", fact)
		}
		f.keys = append(f.keys, key)
		f.values[key] = value
	}
	var err error
	if f.since, err = f.instant(sinceKey); err == nil {
		f.until, err = f.instant(untilKey)
	}
	return f, err
}

// instant returns the time in a fact; zero without one.
func (f facts) instant(key string) (time.Time, error) {
	text := f.values[key]
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("undecodable time %q in fact %q", text, key)
	}
	return at.UTC(), nil
}

// cutUnquoted cuts s around the first sep that is not in a quoted string.
func cutUnquoted(s, sep string) (before, after string) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case !quoted && strings.HasPrefix(s[i:], sep):
			return s[:i], s[i+len(sep):]
		}
	}
	return s, ""
}

// String returns the line.
func (f facts) String() string {
	out := make([]string, len(f.keys))
	for i, key := range f.keys {
		out[i] = key + ": " + f.values[key]
	}
	return strings.Join(out, "; ")
}

// Keys of facts that say which events a layout has, and of one that is for people.
const (
	sinceKey = "since"
	untilKey = "until"
	namesKey = "names"
)

// schemaKey begins the key of the fact that a layout is that of the schema with the package and the name after it. A
// schema that gets another name has both. Earlier versions recorded the name alone.
const schemaKey = "schema "

// isPart reports whether a fact is about a part of events, so that a layout that lacks it does
// not contradict it.
func isPart(key string) bool { return strings.Contains(key, " ") }

// contradicts returns the facts of f that other contradicts, as "key: f → other", apart from
// those in ignored.
func (f facts) contradicts(other facts, ignored ...string) []string {
	var out []string
	all := slices.Concat(f.keys, slices.DeleteFunc(slices.Clone(other.keys), func(key string) bool { return f.values[key] != "" }))
	for _, key := range all {
		was, is := f.values[key], other.values[key]
		if was == is || key == namesKey || slices.Contains(ignored, key) || isPart(key) && (was == "" || is == "") || other.alsoReads(key, was) || f.alsoReads(key, is) || narrows(key, was, is) {
			continue
		}
		out = append(out, key+": "+orNone(was)+" → "+orNone(is))
	}
	return out
}

// rollupKey begins the key of the fact that a layout has a rollup in the family after it, with the width of its windows.
const rollupKey = "rollup "

// narrows reports whether windows of a rollup become narrower so that stored ones consist of several.
func narrows(key, was, is string) bool {
	if !strings.HasPrefix(key, rollupKey) {
		return false
	}
	old, err := time.ParseDuration(was)
	if err != nil {
		return false
	}
	new, err := time.ParseDuration(is)
	return err == nil && new > 0 && old%new == 0
}

// alsoReads reports whether a column that has a value in other layouts is also read where these have it, though events are
// written to the column of the same name in another family.
func (f facts) alsoReads(key, value string) bool {
	family := inFamily(value)
	return family != "" && f.values[key+" in "+family] == value
}

func orNone(value string) string {
	if value == "" {
		return "none"
	}
	return value
}

// added returns the facts about parts of events that other has and f lacks, and of rollups whose windows become narrower.
func (f facts) added(other facts) []string {
	var out []string
	for _, key := range other.keys {
		if isPart(key) && (f.values[key] == "" || f.values[key] != other.values[key] && narrows(key, f.values[key], other.values[key])) {
			out = append(out, key+": "+other.values[key])
		}
	}
	return out
}

// with returns the facts of f, and the parts of events that only older has: their columns
// may still be stored.
func (f facts) with(older facts) facts {
	out := facts{slices.Clone(f.keys), map[string]string{}, f.since, f.until}
	for _, key := range f.keys {
		out.values[key] = f.values[key]
	}
	for _, key := range older.keys {
		if isPart(key) && out.values[key] == "" {
			out.keys = append(out.keys, key)
			out.values[key] = older.values[key]
		}
	}
	return out
}

// layouts are the layouts of the events of one schema in a table, newest first.
type layouts []facts

// parseLayouts parses layouts, one per line.
func parseLayouts(text string) (layouts, error) {
	var out layouts
	for line := range strings.SplitSeq(text, "\n") {
		f, err := parseFacts(line)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// String returns one line per layout.
func (l layouts) String() string {
	lines := make([]string, len(l))
	for i, f := range l {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// families returns the column families of all layouts.
func (l layouts) families() []string {
	var out []string
	for _, f := range l {
		out = append(out, f.families()...)
	}
	return out
}

// families returns the column families of a layout.
func (f facts) families() []string {
	var out []string
	for _, key := range f.keys {
		if name, ok := strings.CutPrefix(key, "family "); ok {
			out = append(out, name)
		}
	}
	return out
}

// shareFamily reports whether two layouts have a column family in common.
func (l layouts) shareFamily(other layouts) bool { return common(l.families(), other.families()) }

// live returns the names of the column families in the table, without the kinds of rows that
// schemas share a family by.
func (l layouts) live() []string {
	out := l.families()
	for i := range out {
		out[i] = liveName(out[i])
	}
	return out
}

// liveName returns the name in the table of a column family of a layout.
func liveName(family string) string {
	name, _, _ := strings.Cut(family, ":")
	return name
}

// kinds returns the meaning of the timestamps, by column family in the table, those of rollups included.
func (f facts) kinds() map[string]string {
	out := map[string]string{}
	for _, name := range f.families() {
		out[liveName(name)] = f.values["family "+name]
	}
	for _, key := range f.keys {
		if name, ok := strings.CutPrefix(key, rollupKey); ok {
			out[name] = "rollup"
		}
	}
	return out
}

// classes returns the families of TTL classes that f has and other lacks.
func (f facts) classes(other facts) []string {
	var out []string
	for _, key := range f.keys {
		if name, ok := strings.CutPrefix(key, "family "); ok && f.values[key] == "class" && other.values[key] == "" {
			out = append(out, name)
		}
	}
	return out
}

// schemas returns the names of the schemas whose layouts these are.
func (l layouts) schemas() []string {
	var out []string
	for _, f := range l {
		for _, key := range f.keys {
			if name, ok := strings.CutPrefix(key, schemaKey); ok && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// sameSchema reports whether two names may be those of one schema.
func sameSchema(a, b string) bool {
	short := func(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }
	return a == b || short(a) == short(b) && (a == short(a) || b == short(b))
}

// shareSchema reports whether layouts may be of one schema.
func (l layouts) shareSchema(other layouts) bool {
	return slices.ContainsFunc(l.schemas(), func(a string) bool {
		return slices.ContainsFunc(other.schemas(), func(b string) bool { return sameSchema(a, b) })
	})
}

// common reports whether two lists have an element in common.
func common(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

// continuation is how layouts continue earlier ones.
type continuation struct {
	above int  // how many newer layouts there are
	ended bool // the newest of the earlier ones has got an end
}

// grown reports whether there is anything newer.
func (c continuation) grown() bool { return c.above > 0 || c.ended }

// continues reports whether l contains the layouts of other, which contradict none of its
// own: newer ones may be above them, the newest of other may have got an end, and below those that
// both have, only one may have more; see [layouts.differBefore].
func (l layouts) continues(other layouts) (continuation, bool) {
	for above := range l {
		if ended, ok := other.matches(l[above:]); ok {
			return continuation{above, ended}, true
		}
	}
	return continuation{}, false
}

// matches compares layouts one by one with later ones, up to the last one of either, whose
// events may have been the first ones only in one of them. ended is whether only the later ones
// have an end.
func (l layouts) matches(later layouts) (ended, ok bool) {
	n := min(len(l), len(later))
	for i := range n {
		a, b := l[i], later[i]
		ignored := []string{untilKey}
		if i == n-1 {
			ignored = append(ignored, sinceKey)
		}
		switch until := b.values[untilKey]; {
		case until == a.values[untilKey]:
		case i == 0 && a.values[untilKey] == "" && b.until.After(a.since):
			ended = true
		default:
			return false, false
		}
		if len(a.contradicts(b, ignored...)) > 0 || a.elsewhere(b) {
			return false, false
		}
	}
	return ended, true
}

// elsewhere reports whether the events of two layouts are in different column families.
func (f facts) elsewhere(other facts) bool {
	a, b := layouts{f}.live(), layouts{other}.live()
	return len(a) > 0 && len(b) > 0 && !common(a, b)
}
