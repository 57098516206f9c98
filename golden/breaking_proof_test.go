package golden

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/emit"
	"github.com/btgen-dev/btgen/gen/evolve"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// unproven are the edits whose verdict no read of old events can show, and why.
var unproven = map[string]string{
	"class_field_restored":        "events must be written again with another class in between; TestHistories of package evolve shows it",
	"field_removed_only_value":    "an event must have only that value; TestLosses of package evolve shows it",
	"field_renamed_back":          writtenAgain,
	"field_restored":              writtenAgain,
	"was_of_two_removed_fields":   writtenAgain,
	"was_older_taken_again":       writtenAgain,
	"was_restored_renamed":        writtenAgain,
	"table_draft_again":           "the edit changes nothing; it allows later ones",
	"table_removed":               "the code of the new schema does not know the table",
	"layout_moved":                "events must be between two fixed times; TestMovedLayouts of package dynamictest shows it",
	"layout_removed":              "events must be before a fixed time; TestMovedLayouts of package dynamictest shows it",
	"rollup_added":                inRollups,
	"rollup_events_longer":        inRollups,
	"rollup_longer":               inRollups,
	"rollup_family":               inRollups,
	"rollup_field_listed_no_more": inRollups,
	"rollup_field_renamed":        inRollups,
	"rollup_field_returns":        inRollups,
	"rollup_field_type":           inRollups,
	"rollup_wider":                inRollups,
	"rollup_read_moves":           inRollups,
	"rollup_removed":              inRollups,
	"rollup_returns":              inRollups,
	"rollup_serves":               inRollups,
	"rollup_serves_no_more":       inRollups,
	"rollup_shorter":              inRollups,
	"serves":                      "the events of series are read, and not those of queries; serves_order shows it",
	"serves_named":                "events were written before the table was locked",
	"serves_new_query":            "events were written before the table was locked",
	"serves_longer":               "events must have expired in the table; TestServing of package evolve shows it",
	"serves_shorter":              "events must have expired in the table; TestServing of package evolve shows it",
	"state_longer":                "events must have expired in the table",
	"state_to_cells":              "the newest events are found in the other table",
	"strategy_default_expiration": "with equal ages, stored events expire as before; setup refuses the edit anyway",
}

// writtenAgain is where the verdict of a field that is back is shown.
const writtenAgain = "events must be written again while the field was removed or renamed; TestLosses of package evolve shows it"

// inRollups is where the verdict of an edit of a rollup is shown, which no event is harmed by.
const inRollups = "windows are read otherwise, and no events; TestBreakingRollups shows it"

//go:embed testdata/prove.go.txt
var prover []byte

// TestBreakingProof runs the code of edits on in-memory servers: the old code writes, and the
// old and the new one read. After an edit of class DATA, they must read different events, and
// after one of class SAFE the same. There is an edit for each rule, and with BTGEN_PROOF=all all
// edits, which takes three minutes to compile. TestBreakingVerdicts shows the same of all edits
// without compiling.
func TestBreakingProof(t *testing.T) {
	testlong.Skip(t, "compiles the code of each edit")
	dir := testlong.Scratch(t)
	root := "github.com/btgen-dev/btgen/golden/" + filepath.ToSlash(dir)
	if filepath.IsAbs(dir) {
		wd, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		rel, err := filepath.Rel(wd, dir)
		if err != nil {
			t.Fatal(err)
		}
		root = "github.com/btgen-dev/btgen/golden/" + filepath.ToSlash(rel)
	}
	var imports, cases bytes.Buffer
	known, rules := map[string]bool{}, map[string]bool{}
	for _, e := range edits(t) {
		if unproven[e.name] != "" || len(e.beside) > 0 {
			continue
		}
		_, c := e.compare(t)
		verdict, more := evolve.Safe, os.Getenv("BTGEN_PROOF") == "all"
		for _, f := range c.Findings {
			verdict = min(verdict, f.Rule.Class)
			more = more || !rules[f.Diagnostic.Rule]
			rules[f.Diagnostic.Rule] = true
		}
		if !more {
			continue
		}
		n := len(e.versions)
		var parts []string
		for _, in := range []gen.Input{e.versions[0], e.versions[n-2], e.versions[n-1]} {
			parts = append(parts, writeVersion(t, dir, root, in, known, &imports))
		}
		fmt.Fprintf(&cases, "\tprove(t, %q, %q, []string{%s}, %s, %s, %s)\n",
			e.name, verdict, lax(layoutOf(t, e.versions[n-1])), parts[0], parts[1], parts[2])
	}
	text := bytes.Replace(prover, []byte("// IMPORTS\n"), imports.Bytes(), 1)
	text = bytes.Replace(text, []byte("\t// CASES\n"), cases.Bytes(), 1)
	if err := os.WriteFile(filepath.Join(dir, "prove_test.go"), text, 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "test", "-vet=off", testlong.CompileFast(root), ".")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// writeVersion generates the code of a version, once, and returns what the prover needs of it.
func writeVersion(t *testing.T, dir, root string, in gen.Input, known map[string]bool, imports *bytes.Buffer) string {
	t.Helper()
	hash := sha256.Sum256(in.Text)
	name := "v" + hex.EncodeToString(hash[:6])
	l := layoutOf(t, in)
	if !known[name] {
		known[name] = true
		fmt.Fprintf(imports, "\t%s %q\n", name, root+"/"+name+"/"+l.Package)
		in.Name = name + ".yaml"
		result, err := gen.Generate([]gen.Input{in}, emit.Target{ImportPath: root + "/" + name})
		if err != nil || result.Diagnostics.HasErrors() {
			t.Fatal(err, result.Diagnostics)
		}
		for _, f := range result.Files {
			if strings.HasSuffix(f.Path, "_test.go") || !strings.HasSuffix(f.Path, ".go") || strings.Contains(f.Path, l.Package+"test/") {
				continue
			}
			path := filepath.Join(dir, name, filepath.FromSlash(f.Path))
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, f.Content, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	return fmt.Sprintf("versionOf[%[1]s.%[2]sEvent, %[1]s.%[2]sSeries](%[1]s.Setup%[2]s, func(c store.Client, o store.WriterOptions) writer[%[1]s.%[2]sEvent] { return %[1]s.New%[2]sWriter(c, o) }, func(c store.Client, o store.ReaderOptions) reader[%[1]s.%[2]sEvent, %[1]s.%[2]sSeries] { return %[1]s.New%[2]sReader(c, o) }, %[3]s)",
		name, l.Name, enumNumbers(l))
}

// lax returns the fields that an event may lack, as literals of Go.
func lax(l *layout.Layout) string {
	var out []string
	for _, f := range l.Fields {
		if f.Optional || f.Default != nil {
			out = append(out, fmt.Sprintf("%q", f.Name))
		}
	}
	return strings.Join(out, ", ")
}

// enumNumbers returns the numbers of enums, by the names of fields and series values, as a
// literal of Go.
func enumNumbers(l *layout.Layout) string {
	var out []string
	for _, f := range slices.Concat(l.Series, l.Fields) {
		if f.Type == schema.Enum {
			var numbers []string
			for _, v := range f.Enum {
				numbers = append(numbers, fmt.Sprint(v.Number))
			}
			out = append(out, fmt.Sprintf("%q: {%s}", f.Name, strings.Join(numbers, ", ")))
		}
	}
	return "map[string][]int64{" + strings.Join(out, ", ") + "}"
}
