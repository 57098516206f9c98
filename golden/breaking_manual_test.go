package golden

import (
	"cmp"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	compare "github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/gen/evolve"
	"github.com/btgen-dev/btgen/golden/assert"
)

// TestBreakingManual checks the list of edits for btgen explain rule, which is written by
//
//	go test ./golden -run TestBreakingManual -update
func TestBreakingManual(t *testing.T) {
	const file = "../gen/lint/edits.tsv"
	want := editList(t)
	if *update {
		writeFile(t, file, []byte(want))
		return
	}
	text, err := os.ReadFile(file)
	assert.Must(t, err)
	if diff := compare.Diff(want, string(text)); diff != "" {
		t.Errorf("go test ./golden -run TestBreakingManual -update would change %s (-want +got)\n%s", file, diff)
	}
}

// editList returns the catalog, an edit per line: the rule of its worst finding, its title, and the consequence.
func editList(t *testing.T) string {
	var lines []string
	for _, e := range edits(t) {
		_, c := e.compare(t)
		if len(c.Findings) == 0 {
			continue
		}
		worst := c.Findings[0]
		parts := clauses(worst.Diagnostic.Message)
		data := strings.Join(parts[1:], ": ")
		if worst.Rule.Class == evolve.Data {
			data = parts[len(parts)-1]
		} else if data == "" || worst.Rule.Class == evolve.Safe {
			data = "stored events are read as before"
		}
		data = epochs.ReplaceAllString(data, "an earlier version")
		lines = append(lines, worst.Diagnostic.Rule+"\t"+e.title+"\t"+data+"\n")
	}
	slices.SortFunc(lines, func(a, b string) int {
		x, y := strings.Split(a, "\t"), strings.Split(b, "\t")
		return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[2], y[2]), cmp.Compare(x[1], y[1]))
	})
	return strings.Join(lines, "")
}

// epochs are names of those of one lock.
var epochs = regexp.MustCompile(`the version of epoch [0-9a-f]+`)

// clauses splits a message at each ": " outside braces.
func clauses(message string) []string {
	var out []string
	depth, start := 0, 0
	for i := range len(message) {
		switch message[i] {
		case '{':
			depth++
		case '}':
			depth--
		case ':':
			if depth == 0 && strings.HasPrefix(message[i:], ": ") {
				out = append(out, message[start:i])
				start = i + 2
			}
		}
	}
	return append(out, message[start:])
}
