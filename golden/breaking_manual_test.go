package golden

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	compare "github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/gen/evolve"
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
	if diff := compare.Diff(string(want), string(text)); diff != "" {
		t.Errorf("go test ./golden -run TestBreakingManual -update would change %s (-want +got)\n%s", file, diff)
	}
}

// editTable returns the catalog as a table, the worst edits first.
func editTable(t *testing.T) string {
	type group struct{ rule, consequence string }
	var groups [4]map[group][]string // by class: the edits
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
		in := &groups[worst.Rule.Class]
		if *in == nil {
			*in = map[group][]string{}
		}
		g := group{worst.Diagnostic.Rule, epochs.ReplaceAllString(strings.ReplaceAll(data, "|", `\|`), "an earlier version")}
		(*in)[g] = append((*in)[g], e.title)
	}
	var b strings.Builder
	for class, all := range groups {
		fmt.Fprintf(&b, "\n## %s\n\n| rule | edits | consequence |\n|---|---|---|\n", evolve.Class(class))
		for _, g := range slices.SortedFunc(maps.Keys(all), func(a, b group) int {
			return cmp.Or(cmp.Compare(a.rule, b.rule), cmp.Compare(a.consequence, b.consequence))
		}) {
			slices.Sort(all[g])
			fmt.Fprintf(&b, "| [%s](rules.md#%s) | %s | %s |\n", g.rule, strings.ToLower(g.rule), strings.Join(all[g], "<br>"), g.consequence)
		}
	}
	return b.String() + "\n"
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
