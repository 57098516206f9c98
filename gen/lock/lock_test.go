package lock_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/corpus"
	"github.com/btgen-dev/btgen/golden/testschema"
)

// head is the text of a lock without tables, with which others begin.
var head = string(new(lock.Lock).Text())

// layouts resolves the schemas of the project and of the golden cases.
func layouts(t *testing.T) []*layout.Layout {
	t.Helper()
	var out []*layout.Layout
	for _, pattern := range []string{"../../schemas/*.yaml", "../../templates/starter/*.yaml"} {
		for _, in := range corpus.Inputs(t, pattern) {
			_, l := testschema.Parse(t, in.Name, string(in.Text))
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
		t.Accepted = []lock.Acceptance{{"E21:x", "a reason"}, {"E22:x", ""}}
		t.Lacks = i%2 == 1
		newest := t.Newest()
		newest.Accepted = []lock.Acceptance{{`E04:"x" y`, "a\nreason \U0001F600"}}
		for j := range newest.Columns {
			newest.Columns[j].Retired = j%2 == 0
		}
	}
	for _, end := range []string{"\n", "\r\n"} {
		got, err := lock.Parse(lock.Name, bytes.ReplaceAll(want.Text(), []byte("\n"), []byte(end)))
		assert.Must(t, err)
		assert.Same(t, want.Tables, got.Tables, "lines end with", end)
	}
}

// TestRebuild checks that a rebuilt layout stores an event in the same rows and cells.
func TestRebuild(t *testing.T) {
	for _, l := range layouts(t) {
		for _, table := range l.Tables {
			facts := lock.Of(l, table)
			rebuilt, its := facts.Rebuild(l)
			if want, got := sample.Key(l, table), sample.Key(rebuilt, its); want != got && !table.Metrics() { // whose first column differs
				t.Errorf("%s: key %q, want %q", table.ID, got, want)
			}
			facts.Layouts = facts.Layouts[:1] // one of several layouts
			newest := facts.Newest()
			newest.Number, newest.Rollups, newest.Summaries = 1, nil, nil // no example shows them
			newest.Columns = newest.Live()
			again := lock.Of(rebuilt, its)
			again.Schema, again.Serves = facts.Schema, facts.Serves
			if diff := cmp.Diff(facts, again); diff != "" {
				// An example row needs no default, only that there is one.
				t.Errorf("%s: (-want +got)\n%s", table.ID, diff)
			}
		}
	}
}

// TestDamage checks that no line can be edited or removed without an error, and that lines which are repeated or moved
// change nothing.
func TestDamage(t *testing.T) {
	known := all(layouts(t))
	first := new(lock.Lock).Next(known.Tables[:3])
	second := slices.Clone(first.Tables)
	second[0].Removed, second[1].Serves = "E02:x: a test", nil
	known = first.Next(second)
	text := string(known.Text())
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	parsed := func(changed []string) (*lock.Lock, error) {
		return lock.Parse(lock.Name, []byte(strings.Join(changed, "\n")+"\n"))
	}
	refused := func(what string, changed []string) {
		t.Helper()
		_, err := parsed(changed)
		var damage *lock.Error
		if !errors.As(err, &damage) || damage.Problem != lock.Damaged || !strings.Contains(err.Error(), "git checkout HEAD -- btgen.lock") {
			t.Errorf("%s: %v", what, err)
		}
	}
	same := func(what string, changed []string) {
		t.Helper()
		if got, err := parsed(changed); err != nil || string(got.Text()) != text {
			t.Errorf("%s: %v", what, err)
		}
	}
	for i, line := range lines {
		with := func(middle ...string) []string {
			return append(append(append([]string{}, lines[:i]...), middle...), lines[i+1:]...)
		}
		same("twice "+line, with(line, line))
		if i < 2 || line == "" || strings.Contains(line, " after ") {
			continue
		}
		refused("without "+line, with())
		for _, at := range []int{0, len(line) / 2, len(line) - 1} {
			refused("edited "+line, with(line[:at]+"7"+line[at+1:]+"7"))
		}
	}
	marked := append([]string{lines[0], "<<<<<<< HEAD"}, lines[1:]...)
	same("with the markers of a conflict", append(marked, "||||||| 1234567", "=======", ">>>>>>> other"))
	for _, text := range []string{"", "\n", "x", strings.Join(lines[:len(lines)-1], "\n")} {
		refused("instead", []string{text})
	}
	var alone []string // the second epoch
	for _, line := range lines {
		if id := known.Epochs[0].ID; !strings.Contains(line, id+" +") {
			alone = append(alone, line)
		}
	}
	if _, err := parsed(alone); err == nil || !strings.Contains(err.Error(), known.Epochs[1].ID+" follows "+known.Epochs[0].ID+", which the file lacks") {
		t.Errorf("an epoch that was picked alone: %v", err)
	}
}

// TestFirstFormat reads a file of the first format, which has no epochs: its facts are the first one.
func TestFirstFormat(t *testing.T) {
	text, err := os.ReadFile("testdata/first.lock")
	assert.Must(t, err)
	old, err := lock.Parse(lock.Name, text)
	assert.Must(t, err)
	next := slices.Clone(old.Tables)
	next[0].Lacks = true
	next[0].Accepted = []lock.Acceptance{{Change: "E21:x", Reason: "a reason"}}
	got, err := lock.Parse(lock.Name, old.Next(next).Text())
	if err != nil || !cmp.Equal(got.Tables, next) || len(got.Epochs) != 2 || len(got.Epochs[1].Changes) != 2 {
		t.Errorf("%v\n%s", err, cmp.Diff(got.Tables, next))
	}
	if _, err := lock.Parse(lock.Name, bytes.Replace(text, []byte("column"), []byte("COLUMN"), 1)); err == nil {
		t.Error("an edited file")
	}
	if _, err := lock.Parse(lock.Name, append(text, old.Next(next).Text()...)); err == nil || !strings.Contains(err.Error(), "run btgen generate on both branches") {
		t.Errorf("a merge of both formats: %v", err)
	}
}

// TestReasonsOfBefore reads a file that says why a table lacks events: that it does is kept.
func TestReasonsOfBefore(t *testing.T) {
	facts := []string{"schema app.Event", "lacks earlier", "lacks expired", "lacks others", "serves Read", "1 pattern bucket_new_cells", "1 precision 1s", `1 delimiter "#"`,
		`1 key 1 series "host" string text`, "1 key 2 bucket", `1 bucket 1d "2006-01-02"`, "1 family m forever event", `1 column "value" int64 family=m`}
	for i := range 3 {
		kept := slices.Concat(facts[:1], facts[1+i:2+i], facts[4:])
		if i == 0 {
			kept = facts
		}
		old, err := lock.Parse(lock.Name, []byte(epochOf(kept...)))
		if err != nil || !old.Tables[0].Lacks {
			t.Fatal(kept, err)
		}
		next := slices.Clone(old.Tables)
		next[0].Accepted = []lock.Acceptance{{Change: "E04:t", Reason: "a reason"}}
		got, err := lock.Parse(lock.Name, old.Next(next).Text())
		if err != nil || !cmp.Equal(got.Tables, next) {
			t.Errorf("%v: %v\n%s", kept, err, cmp.Diff(got.Tables, next))
		}
	}
}

// TestProblems checks the errors for files of other versions.
func TestProblems(t *testing.T) {
	const other = "use the version of btgen that wrote the file, or a newer one, for example with go get -tool github.com/btgen-dev/btgen/cmd/btgen@latest"
	for text, want := range map[string]string{
		"# btgen.lock v3: x\nnew\n":               "btgen.lock:1: version 3 of the file format requires a newer btgen: " + other,
		epochOf("schema app.Event", "1 tint red"): "btgen.lock: another version of btgen wrote the file, and this one does not know what it says of table t/m: 1 tint red: \"tint\" is unknown: " + other,
		head + "\nt/m 0123456789 + 1 tint red\n":  "btgen.lock:4: the file was modified: a line of epoch 0123456789 was edited, moved or removed: restore it, for example with git checkout HEAD -- btgen.lock, and run btgen generate",
	} {
		if _, err := lock.Parse(lock.Name, []byte(text)); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// epochOf returns a file with an epoch of a table.
func epochOf(facts ...string) string {
	text, _ := epochAfter("", facts...)
	return head + text
}

// epochAfter returns the lines of an epoch of a table after another one, and its ID.
func epochAfter(before string, facts ...string) (text, id string) {
	digest := "after " + before + "\n"
	for _, fact := range facts {
		digest += "t/m + " + fact + "\n"
	}
	sum := sha256.Sum256([]byte(digest))
	id = hex.EncodeToString(sum[:5])
	if before != "" {
		text = "\nt/m " + id + " after " + before
	}
	for _, fact := range facts {
		text += "\nt/m " + id + " + " + fact
	}
	return text + "\n", id
}

// TestHostileEpochs parses epochs whose digests are right, and whose facts are none.
func TestHostileEpochs(t *testing.T) {
	first, id := epochAfter("", "schema app.Event", "1 pattern latest", "1 family m max_age=1d event")
	for _, facts := range [][]string{{}, {""}, {`1 column "a`}, {"1"}, {`1 column "a"x`}} {
		second, _ := epochAfter(id, facts...)
		if _, err := lock.Parse(lock.Name, []byte(head+first+second)); err == nil {
			t.Errorf("accepted %q", facts)
		}
	}
}

// TestMergeFriendly checks that a change of one table only adds lines to it.
func TestMergeFriendly(t *testing.T) {
	known := new(lock.Lock).Next(all(layouts(t)).Tables)
	before := strings.Split(string(known.Text()), "\n")
	next := slices.Clone(known.Tables)
	next[0].Removed = "E02:x: a test"
	added := slices.DeleteFunc(strings.Split(string(known.Next(next).Text()), "\n"), func(line string) bool { return slices.Contains(before, line) })
	if len(added) != 2 || !strings.HasPrefix(added[0], known.Tables[0].Key()+" ") || !strings.HasSuffix(added[1], ` + removed "E02:x: a test"`) {
		t.Errorf("added %q", added)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(epochOf("1 column \"a\" enum retired", "1 column \"a\" enum 1 \"x\""))
	f.Add(epochOf("1 family m any_of(max_age=1d,all_of(max_versions=2)) event"))
	f.Fuzz(func(t *testing.T, text string) {
		known, err := lock.Parse(lock.Name, []byte(text))
		if err != nil {
			return
		}
		if again, err := lock.Parse(lock.Name, known.Text()); err != nil || !cmp.Equal(again.Tables, known.Tables) {
			t.Errorf("accepted %q, and then %v", text, err)
		}
	})
}

// A table or family is removed if no layout that is in use stores events there.
func TestRemoved(t *testing.T) {
	families := func(names ...string) (out []lock.Family) {
		for _, name := range names {
			out = append(out, lock.Family{Name: name})
		}
		return out
	}
	at := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	l := &lock.Lock{Tables: []lock.Table{
		{Name: "gone", Family: "m", Removed: "E01:gone: nobody reads it", Layouts: []lock.Layout{{Families: families("m", "n")}}},
		{Name: "shared", Family: "a", Removed: "E01:shared/a: merged", Layouts: []lock.Layout{{Families: families("a")}}},
		{Name: "shared", Family: "b", Layouts: []lock.Layout{{Families: families("b")}}},
		{Name: "now", Family: "m", Layouts: []lock.Layout{
			{Since: at, Families: families("m")},
			{Table: "before", Families: families("m")}, // in use: a layout by time
			{Families: families("k")},                  // an accepted change replaced it
		}},
		{Name: "before", Family: "x", Removed: "E01:before/x: twice", Layouts: []lock.Layout{{Families: families("x")}}},
	}}
	assert.Same(t, []string{"before/x", "gone", "gone/m", "gone/n", "now/k", "shared/a"}, l.Removed())
}

// A family whose layout was withdrawn before it began is only in an earlier epoch.
func TestRemovedBeforeItBegan(t *testing.T) {
	text, err := os.ReadFile("testdata/withdrawn.lock")
	assert.Is(t, nil, err)
	l, err := lock.Parse("btgen.lock", text)
	assert.Is(t, nil, err)
	assert.Same(t, []string{"days/n"}, l.Removed())
}
