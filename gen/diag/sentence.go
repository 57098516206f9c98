package diag

import (
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/btgen-dev/btgen/gen/words"
)

// Sentence is a row of a catalog of findings: what a finding says, and the way out. Both have verbs as in package fmt.
type Sentence struct{ Says, Way string }

// ReadCatalog returns the sentences of a text, by their names. A line is the name of one; the indented lines below it are
// what it says and, if it has one, the way out.
func ReadCatalog(text string) map[string]Sentence {
	out := map[string]Sentence{}
	name := ""
	for line := range strings.Lines(text) {
		line, indented := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "\t")
		switch s := out[name]; {
		case !indented:
			name = line
		case s.Says == "":
			out[name] = Sentence{Says: line}
		default:
			out[name] = Sentence{s.Says, line}
		}
	}
	return out
}

// verb matches a verb of a sentence.
var verb = regexp.MustCompile(`%(\[\d+\])?[.\d]*[a-z]`)

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
