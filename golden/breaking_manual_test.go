package golden

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/gen/evolve"
	"github.com/btgen-dev/btgen/gen/lint"
)

// TestBreakingManual checks the table of edits in the manual, which is written by
//
//	go test ./golden -run TestBreakingManual -update
func TestBreakingManual(t *testing.T) {
	const file, begin, end = "../docs/reference/edits.md", "<!-- edits -->\n", "<!-- end of edits -->\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := bytes.Cut(text, []byte(begin))
	_, after, found := bytes.Cut(rest, []byte(end))
	if !found {
		t.Fatal("no place for the table")
	}
	want := slices.Concat(before, []byte(begin), []byte(editTable(t)), []byte(end), after)
	if *update {
		if err := os.WriteFile(file, want, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(want), string(text)); diff != "" {
		t.Errorf("go test ./golden -run TestBreakingManual -update would change %s (-want +got)\n%s", file, diff)
	}
}

// editTable returns the catalog as a table, the worst edits first.
func editTable(t *testing.T) string {
	fixes := map[string]string{}
	for _, r := range lint.Rules() {
		fixes[r.ID], _, _ = strings.Cut(r.Fix, ". ")
	}
	rows := map[evolve.Class][]string{}
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
		rows[worst.Rule.Class] = append(rows[worst.Rule.Class], fmt.Sprintf("| %s | %s [%s](rules.md#%s) | %s | %s |\n",
			e.title, worst.Rule.Class, worst.Diagnostic.Rule, strings.ToLower(worst.Diagnostic.Rule), strings.ReplaceAll(data, "|", `\|`), strings.TrimSuffix(fixes[worst.Diagnostic.Rule], ".")))
	}
	var b strings.Builder
	b.WriteString("\n| edit | class and rule | consequence | what to do |\n|---|---|---|---|\n")
	for class := range evolve.Classes {
		slices.Sort(rows[evolve.Class(class)])
		b.WriteString(strings.Join(rows[evolve.Class(class)], ""))
	}
	return b.String() + "\n"
}

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
