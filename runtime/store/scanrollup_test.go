package store

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/scan"
)

// TestScanRollups checks that a scan with rollups counts each cell of a table, and others receive none of these.
func TestScanRollups(t *testing.T) {
	newer, older := rolled(days(), 40*24*time.Hour), days()
	newer.Since, newer.Older = at(86400), []*mappingOf[sample]{older} // layers with different filters
	older.Table.Families = append([]Family(nil), older.Table.Families...)
	for name, l := range map[string]*mappingOf[sample]{"one layout": rolled(days(), 40*24*time.Hour), "two layouts": newer} {
		t.Run(name, func(t *testing.T) {
			bt := newBigtable(t, l)
			for i := range 12 {
				must(t, newWriterOf(bt.Client, []*mappingOf[sample]{l}, writeAt(86400*3)).Write(t.Context(), sample{Series: "s", Time: at(86400*(i%3) + 60*i)}))
			}
			for _, step := range []struct {
				roll      bool
				now, from int
				runs      bool // that all buckets with a rollup have one, and none has marks
				expired   bool
			}{{now: 86400 * 4}, {roll: true, now: 86400 * 4, runs: true}, {now: 86400 * 4, from: 86400 * 2, runs: true}, {now: 86400 * 200, runs: true, expired: true}} {
				if step.roll {
					roll(t, bt, l, rollupNow(step.now))
				}
				var stored, events int
				var ofRollup RollupCells
				eachCell(t, bt.Client, l.Table.ID, func(c bigtable.ReadItem) {
					rollup, begin := strings.HasPrefix(c.Column, "h:"), at(step.from).UnixMicro()
					switch size := len(c.Row) + len(c.Column) - len(":") + 8 + len(c.Value); {
					case rollup && int64(c.Timestamp) > begin:
						ofRollup.Bytes += size
						if strings.HasPrefix(c.Column, "h:r") {
							ofRollup.Runs++
						} else {
							ofRollup.Marks++
						}
					case !rollup && int64(c.Timestamp) >= begin:
						stored += size
						events++
					}
				})
				s, err := newScannerOf(bt.Client, []*mappingOf[sample]{l}, l.Table.ID, clockAt(step.now))
				must(t, err)
				var found [2]string
				for i, s := range []*Scanner[sample]{s, s.WithRollups()} {
					var bytes, cells int
					var got RollupCells
					for row, err := range s.Rows(t.Context(), KeyRange{}, at(step.from), scan.MaxTime) {
						must(t, err)
						bytes, cells = bytes+row.Bytes, cells+row.Cells
						got.Marks, got.Runs, got.Bytes = got.Marks+row.Rollup.Marks, got.Runs+row.Rollup.Runs, got.Bytes+row.Rollup.Bytes
						for _, e := range row.Events {
							found[i] += fmt.Sprintln(e)
						}
					}
					want := ofRollup
					if i == 0 {
						want = RollupCells{}
					}
					if got != want || !step.expired && bytes != stored {
						t.Errorf("%+v: %+v and %d bytes of %d events, not %+v and %d", step, got, bytes, cells, want, stored)
					}
				}
				same(t, found[0], found[1])
				if ofRollup.Runs+ofRollup.Marks == 0 || step.runs != (ofRollup.Marks == 0) || !step.expired && found[0] == "" {
					t.Errorf("%+v: %+v %q", step, ofRollup, found[0])
				}
			}
		})
	}
}
