package lock_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/schema"
)

// head is the text of a lock without tables, with which others begin.
var head = string(new(lock.Lock).Text())

// layouts resolves the schemas of the project and of the golden cases.
func layouts(t *testing.T) []*layout.Layout {
	t.Helper()
	var out []*layout.Layout
	for _, pattern := range []string{"../../schemas/*.yaml", "../../templates/starter/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal("no files ", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s, found := schema.Parse(file, text)
			l, more := layout.Resolve(s)
			if err := append(found, more...).Err(); err != nil {
				t.Fatal(err)
			}
			out = append(out, l)
		}
	}
	return out
}

// all returns a lock with all tables.
func all(layouts []*layout.Layout) *lock.Lock {
	out := &lock.Lock{}
	for _, l := range layouts {
		for _, t := range l.Tables {
			facts := lock.Of(l, t)
			file := strings.TrimSuffix(filepath.Base(l.File), ".yaml")
			facts.Name, facts.Schema = file+"_"+facts.Name, facts.Schema+file // starters share names
			out.Tables = append(out.Tables, facts)
		}
	}
	out.Sort()
	return out
}

// TestRoundTrip checks that a file has all facts.
func TestRoundTrip(t *testing.T) {
	want := all(layouts(t))
	for i := range want.Tables {
		t := &want.Tables[i]
		t.Lacks = nil // serves: false
		t.Accepted = []lock.Acceptance{{"E21:x", "a reason"}, {"E21:x", "a reason"}, {"E22:x", ""}}
		for _, reason := range lock.Lacks[:i%len(lock.Lacks)] {
			t.Lack(reason)
		}
		newest := t.Newest()
		newest.Accepted = []lock.Acceptance{{`E04:"x" y`, "a\nreason \U0001F600"}}
		for j := range newest.Columns {
			newest.Columns[j].Retired = j%2 == 0
		}
	}
	got, err := lock.Parse(lock.Name, want.Text())
	if err != nil {
		t.Fatalf("%v\n%s", err, want.Text())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	crlf := []byte(strings.ReplaceAll(string(want.Text()), "\n", "\r\n"))
	if got, err = lock.Parse(lock.Name, crlf); err != nil || !cmp.Equal(want, got) {
		t.Errorf("with other line ends: %v", err)
	}
}

// TestRebuild checks that a rebuilt layout stores an event in the same rows and cells.
func TestRebuild(t *testing.T) {
	for _, l := range layouts(t) {
		for _, table := range l.Tables {
			facts := lock.Of(l, table)
			rebuilt, its := facts.Rebuild(facts.Newest(), l, true)
			if want, got := sample.Key(l, table), sample.Key(rebuilt, its); want != got && !table.Metrics() { // whose first column differs
				t.Errorf("%s: key %q, want %q", table.ID, got, want)
			}
			facts.Layouts = facts.Layouts[:1] // one of several layouts
			facts.Layouts[0].Number = 1
			again := lock.Of(rebuilt, its)
			again.Schema, again.Serves = facts.Schema, facts.Serves
			if diff := cmp.Diff(facts, again); diff != "" {
				// An example row needs no default, only that there is one.
				t.Errorf("%s: (-want +got)\n%s", table.ID, diff)
			}
		}
	}
}

// TestDamage checks that no line can be edited, removed, repeated or moved without an error.
func TestDamage(t *testing.T) {
	known := all(layouts(t))
	known.Tables = known.Tables[:3]
	text := string(known.Text())
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	refused := func(what string, changed []string) {
		t.Helper()
		_, err := lock.Parse(lock.Name, []byte(strings.Join(changed, "\n")+"\n"))
		var damage *lock.Error
		if !errors.As(err, &damage) || damage.Problem != lock.Damaged || !strings.Contains(err.Error(), "git checkout HEAD -- btgen.lock") {
			t.Errorf("%s: %v", what, err)
		}
	}
	for i, line := range lines {
		with := func(middle ...string) []string {
			return append(append(append([]string{}, lines[:i]...), middle...), lines[i+1:]...)
		}
		refused("without "+line, with())
		refused("twice "+line, with(line, line))
		if i > 1 && line != "" {
			for _, at := range []int{0, len(line) / 2, len(line) - 1} {
				refused("edited "+line, with(line[:at]+"7"+line[at+1:]+"7"))
			}
		}
	}
	for _, text := range []string{"", "\n", "x", strings.Join(lines[:len(lines)-1], "\n")} {
		refused("instead", []string{text})
	}
}

// TestProblems checks the errors for files of newer versions and with conflicts.
func TestProblems(t *testing.T) {
	known := all(layouts(t))
	twice := &lock.Lock{Tables: []lock.Table{known.Tables[0], known.Tables[1]}}
	for i := range twice.Tables {
		twice.Tables[i].Schema, twice.Tables[i].Serves = "app.Event", []string{"Read"}
	}
	const other = "use the version of btgen that wrote the file, or a newer one, for example with go get -tool github.com/btgen-dev/btgen/cmd/btgen@latest"
	for text, want := range map[string]string{
		string(twice.Text()):        "btgen.lock: both sides of the merge contradict each other: Read of app.Event is served by table " + twice.Tables[0].Name + ", and by table " + twice.Tables[1].Name + ": abort the merge; on the branch that has stored no such events, run git checkout OTHER -- btgen.lock, change its schema, run btgen generate, and merge again",
		"# btgen.lock v2: x\nnew\n": "btgen.lock:1: version 2 of the file format requires a newer btgen: " + other,
		seal(head + "\nt/m schema app.Event\nt/m 1 pattern hypercube\n"): "btgen.lock:5: another version of btgen wrote the file, and this one does not know what the line says: \"hypercube\" is not a pattern: " + other,
		seal(head + "\nt/m schema app.Event\nt/m 1 tint red\n"):          "btgen.lock:5: another version of btgen wrote the file, and this one does not know what the line says: \"tint\" is unknown: " + other,
		head + "\nt/m schema app.Event\nt/m 1 tint red\nt/m sum 0\n":     "btgen.lock:5: the file was modified: \"tint\" is unknown: restore it, for example with git checkout HEAD -- btgen.lock, and run btgen generate",
		head + "<<<<<<< HEAD\nx\n=======\ny\n>>>>>>> branch\n":           "btgen.lock:3: unresolved merge conflict, of which git does not have both sides: restore them with git checkout -m -- btgen.lock; once the merge is committed, with git checkout HEAD^ -- btgen.lock; then run btgen generate",
	} {
		if _, err := lock.Parse(lock.Name, []byte(text)); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// seal adds the checksum of the only table of a file.
func seal(text string) string {
	hash := sha256.Sum256([]byte(strings.Trim(strings.TrimPrefix(text, head), "\n")))
	return text + "t/m sum " + hex.EncodeToString(hash[:8]) + "\n"
}

// TestMergeFriendly checks that a change of one table changes no lines of another one.
func TestMergeFriendly(t *testing.T) {
	known := all(layouts(t))
	before := strings.Split(string(known.Text()), "\n")
	known.Tables[0].Newest().Columns[0].Retired = true
	after := strings.Split(string(known.Text()), "\n")
	changed := 0
	for i := range before {
		if before[i] != after[i] {
			changed++
		}
	}
	if len(before) != len(after) || changed != 2 {
		t.Errorf("%d lines changed", changed)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(head + "\nt/m 1 column \"a\" enum retired\nt/m 1 column \"a\" enum 1 \"x\"\n")
	f.Add(head + "\nt/m 1 family m any_of(max_age=1d,all_of(max_versions=2)) event\nt/m sum 0\n")
	f.Fuzz(func(t *testing.T, text string) {
		known, err := lock.Parse(lock.Name, []byte(text))
		if err == nil && strings.ReplaceAll(text, "\r\n", "\n") != string(known.Text()) {
			t.Errorf("accepted %q", text)
		}
	})
}
