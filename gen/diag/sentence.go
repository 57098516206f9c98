package diag

import (
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/btgen-dev/btgen/gen/words"
)

// Sentence is a row of a catalog of findings: what a finding says, and the way out. Both have verbs as in package fmt.
type Sentence struct{ Says, Way string }

// Entry is a part of a catalog: a line, and the indented lines below it.
type Entry struct {
	Head  string
	Lines []string
}

// ReadEntries returns the parts of a text.
func ReadEntries(text string) []Entry {
	var out []Entry
	for line := range strings.Lines(text) {
		line, indented := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "\t")
		if last := len(out) - 1; indented && last >= 0 {
			out[last].Lines = append(out[last].Lines, line)
		} else {
			out = append(out, Entry{Head: line})
		}
	}
	return out
}

// ReadCatalog returns the sentences of a text, whose entries have a name, what the sentence says, and the way out, if
// there is one.
func ReadCatalog(text string) map[string]Sentence {
	out := map[string]Sentence{}
	for _, e := range ReadEntries(text) {
		lines := append(e.Lines, "", "")
		out[e.Head] = Sentence{lines[0], lines[1]}
	}
	return out
}

// Catalog returns the sentences of a text, which it reads on first use.
type Catalog func() map[string]Sentence

// NewCatalog returns the catalog of a text, as [ReadCatalog] reads it.
func NewCatalog(text string) Catalog {
	return sync.OnceValue(func() map[string]Sentence { return ReadCatalog(text) })
}

// Fill is [Sentence.Fill] of a sentence of the catalog. One that is missing says its name.
func (c Catalog) Fill(name string, args ...any) (says, way string) {
	return Fill(c(), name, args...)
}

// Fill is [Sentence.Fill] of one of several sentences. One that is missing says its name.
func Fill(all map[string]Sentence, name string, args ...any) (says, way string) {
	s, ok := all[name]
	if !ok {
		return name, ""
	}
	return s.Fill(args...)
}

// verb matches a verb of a sentence.
var verb = regexp.MustCompile(`%(\[\d+\])?[.\d]*[a-zA-Z]`)

// verbs returns how many arguments a sentence has.
func verbs(text string) int {
	n := 0
	for _, found := range verb.FindAllStringSubmatch(strings.ReplaceAll(text, "%%", ""), -1) {
		if index, err := strconv.Atoi(strings.Trim(found[1], "[]")); err == nil {
			n = max(n, index)
		} else {
			n++
		}
	}
	return n
}

// Fill returns the sentence with its arguments, and the way out with those that follow. %s formats numbers for people.
func (s Sentence) Fill(args ...any) (says, way string) {
	for i, arg := range args {
		switch v := arg.(type) {
		case int:
			args[i] = quantity(v)
		case int64:
			args[i] = quantity(v)
		case float64:
			args[i] = quantity(v)
		}
	}
	n := min(verbs(s.Says), len(args))
	return fmt.Sprintf(s.Says, args[:n]...), fmt.Sprintf(s.Way, args[n:]...)
}

// Pattern returns a regular expression for what the sentence says.
func (s Sentence) Pattern() string {
	parts := verb.Split(strings.ReplaceAll(s.Says, "%%", "\x00"), -1)
	for i, part := range parts {
		parts[i] = strings.ReplaceAll(regexp.QuoteMeta(part), "\x00", "%")
	}
	return "^" + strings.Join(parts, "(.*)") + "$"
}

// quantity is a number that %s formats as [words.Number] does.
type quantity float64

// Format implements [fmt.Formatter].
func (q quantity) Format(f fmt.State, verb rune) {
	switch verb {
	case 's':
		_, _ = io.WriteString(f, words.Number(float64(q)))
	case 'd':
		fmt.Fprintf(f, fmt.FormatString(f, verb), int64(q))
	default:
		fmt.Fprintf(f, fmt.FormatString(f, verb), float64(q))
	}
}
