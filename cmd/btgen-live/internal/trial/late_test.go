package trial

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/golden/assert"
)

// TestLeft checks what is said about a table that stays behind: at once, and after eight days, if nothing was collected, all that must be,
// or all cells.
func TestLeft(t *testing.T) {
	const all, collected, kept = "collect-age collect-second collect-versions collect-union collect-intersection collect-nothing tier-reads",
		"collect-age collect-second collect-versions collect-union collect-intersection", "collect-nothing tier-reads"
	for _, c := range []struct {
		name                    string
		after                   time.Duration
		left                    func(l *late) []int // cells, by their days
		holds, fails, undecided string
	}{
		{"at once", 0, nil, kept, "", collected},
		{"nothing", collection, nil, kept, collected, ""},
		{"all that must be", collection, func(l *late) []int { return l.stays }, all, "", ""},
		{"too early", collection - time.Hour, func(l *late) []int { return l.stays }, all, "", ""},
		{"too much", collection, func(*late) []int { return nil }, "", all, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			clients, o := start(t), options(t)
			o.Leave, o.Only = true, strings.Fields(all)
			report, err := Run(t.Context(), clients, o)
			assert.Must(t, err)
			assert.Same(t, len(o.Only), report.count(NotTried))
			table := tablesOf(t, clients)[0]
			if s, ok := parseName(table); !ok || s.name != leftTable || !s.made.Equal(o.Now.Truncate(time.Second)) {
				t.Fatalf("the table that is left is %s", table)
			}
			if c.left != nil {
				collect(t, clients, o, table, c.left)
			}
			o.Now = o.Now.Add(c.after)
			report, err = Resume(t.Context(), clients, o)
			assert.Must(t, err)
			got := map[Verdict]string{}
			for _, r := range report.Results {
				got[r.Verdict] = strings.TrimSpace(got[r.Verdict] + " " + r.ID)
			}
			assert.Same(t, []string{c.holds, c.fails, c.undecided}, []string{got[Holds], got[Fails], got[NotTried]})
			assert.Same(t, c.undecided != "", len(tablesOf(t, clients)) > 0)
		})
	}
}

// collect replaces the cells of a table that was left behind.
func collect(t *testing.T, c *Clients, o Options, table string, left func(l *late) []int) {
	t.Helper()
	assert.Must(t, c.connect(t.Context()))
	defer func() { assert.Is(t, nil, c.close(nil)) }()
	p := newRun(c, o).left(table, o.Now.Truncate(time.Second))
	for _, l := range lates {
		cells, err := parseCells(l.cells(left(&l)), p.base)
		assert.Must(t, err)
		assert.Must(t, p.mutate(t.Context(), "a", append([]mutation{deleteFamily(l.id)}, setCells(cells)...)))
	}
}

// TestNothingLeft checks that there must be something to judge.
func TestNothingLeft(t *testing.T) {
	_, err := Resume(t.Context(), start(t), options(t))
	assert.Is(t, ErrNothingLeft, err)
}

// TestPage checks that the manual lists all assumptions. To update its page, run
//
//	go test ./cmd/btgen-live/internal/trial -run TestPage -update
func TestPage(t *testing.T) {
	const path = "../../../../docs/reference/assumptions.md"
	if *update {
		assert.Must(t, os.WriteFile(path, []byte(Page()), 0o666))
	}
	page, err := os.ReadFile(path)
	assert.Must(t, err)
	assert.Same(t, Page(), string(page), path)
}
