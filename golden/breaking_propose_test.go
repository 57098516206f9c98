package golden

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/evolve"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/project"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// TestBreakingProposals executes every command that breaking proposes for an edit of the catalog,
// whatever btgen.lock has by then: the facts of the old version, those of the new one after a fresh
// start, or the accepted changes. btgen generate must know the change.
func TestBreakingProposals(t *testing.T) {
	executed, withheld := 0, 0
	for _, e := range testlong.Sample(edits(t), 40) {
		known, c := e.compare(t)
		if len(e.versions) < 2 || len(dataOf(c)) == 0 {
			continue
		}
		n := len(e.versions) - 1
		years := []int{2026}
		if strings.Contains(string(e.versions[n].Text), "since: ") || strings.Contains(string(e.versions[n-1].Text), "since: ") {
			years = append(years, 2050)
		}
		dir := t.TempDir()
		e.write(t, filepath.Join(dir, "old"), n-1, known)
		for state, l := range map[string]*lock.Lock{
			"the old facts":    known,
			"a fresh start":    e.diff(t, &lock.Lock{}, n).Next(nil),
			"accepted changes": acceptAll(t, c),
		} {
			e.write(t, filepath.Join(dir, "new"), n, l)
			t.Chdir(filepath.Join(dir, "new"))
			for _, against := range []string{"lock", "../old"} {
				for _, year := range years {
					findings := changesOf(t, against, time.Date(year, 11, 24, 12, 0, 0, 0, time.UTC))
					for _, f := range findings {
						switch {
						case f.Rule.Class != evolve.Data || f.Accepted != "":
						case state == "accepted changes" && year == 2026:
							t.Errorf("%s: compared with %s: %s is not accepted", e.name, against, f.Name)
						case f.Accept == "":
							withheld++
							if !f.Rule.NoAccept {
								t.Errorf("%s: %s, compared with %s in %d: no way to accept %s", e.name, state, against, year, f.Name)
							}
						default:
							executed++
							if err := execute(t, f.Accept, l); err != nil {
								t.Errorf("%s: %s, compared with %s in %d: %s: %v", e.name, state, against, year, f.Accept, err)
							}
						}
					}
				}
			}
		}
	}
	if executed < testlong.Pick(5, 600) {
		t.Errorf("%d commands, and %d findings without one", executed, withheld)
	}
}

// acceptAll returns the lock after all changes of stored data are accepted.
func acceptAll(t *testing.T, c *evolve.Comparison) *lock.Lock {
	t.Helper()
	var accept []string
	for _, name := range dataOf(c) {
		accept = append(accept, name+"=a test")
	}
	accepted, err := c.Accept(accept)
	assert.Must(t, err)
	return c.Next(accepted)
}

// write writes a version of a project.
func (e edit) write(t *testing.T, dir string, version int, l *lock.Lock) {
	t.Helper()
	assert.Must(t, os.MkdirAll(filepath.Join(dir, "schemas"), 0o777))
	for _, in := range e.schemas(version) {
		writeFile(t, filepath.Join(dir, "schemas", filepath.Base(in.Name)), in.Text)
	}
	writeFile(t, filepath.Join(dir, lock.Name), l.Text())
}

func writeFile(t *testing.T, name string, text []byte) {
	t.Helper()
	assert.Must(t, os.WriteFile(name, text, 0o666))
}

// changesOf returns what breaking finds in the working directory.
func changesOf(t *testing.T, against string, clock time.Time) []evolve.Finding {
	t.Helper()
	p, err := project.Load(nil, "")
	assert.Must(t, err)
	findings, _, err := cli.Changes(p, against, false, clock)
	assert.Must(t, err)
	return findings
}

// execute does what a command says, and restores the lock.
func execute(t *testing.T, command string, l *lock.Lock) error {
	t.Helper()
	defer writeFile(t, lock.Name, l.Text())
	if first, then, ok := strings.Cut(command, " && "); ok {
		words := strings.Fields(first)
		if len(words) != 3 || words[0] != "cp" {
			return errors.New("not a command to copy a file")
		}
		text, err := os.ReadFile(words[1])
		if err != nil {
			return err
		}
		writeFile(t, words[2], text)
		command = then
	}
	now := time.Time{}
	arguments, accept, _ := strings.Cut(strings.TrimPrefix(command, "btgen generate "), "--accept ")
	if at, ok := strings.CutPrefix(arguments, "--now "); ok {
		var err error
		if now, err = time.Parse(time.RFC3339, strings.TrimSpace(at)); err != nil {
			return err
		}
	}
	p, err := project.Load(nil, "")
	if err != nil {
		return err
	}
	layouts, found := gen.Layouts(p.Inputs)
	if found.HasErrors() {
		return found
	}
	_, err = cli.CompareLocks(p, layouts, []string{strings.Trim(accept, "'")}, nil, now)
	return err
}
