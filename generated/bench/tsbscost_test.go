package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/generated/examples"
	"github.com/btgen-dev/btgen/golden/cputime"
	"github.com/btgen-dev/btgen/runtime/store"
)

// cost is what a program pays for the answer to a query.
type cost struct {
	store.Operation               // of generated code
	spent           time.Duration // CPU time of the client
	received        int64         // bytes on the wire, both ways
}

// costOf measures a read, as the median of several.
func costOf(t *testing.T, on *bed, runs int, read func() error) (c cost) {
	t.Helper()
	var all []time.Duration
	for range 1 + runs {
		runtime.GC() // the garbage of what was measured before
		traffic, begin := on.traffic.Load(), cputime.Spent()
		if err := read(); err != nil {
			t.Fatal(err)
		}
		all = append(all, cputime.Spent()-begin)
		c.received = on.traffic.Load() - traffic
	}
	all = all[1:]
	slices.Sort(all)
	c.spent = all[len(all)/2]
	return c
}

// generatedCost is the cost of generated code, without the answers as a whole, which it yields one by one.
func generatedCost(t *testing.T, on *bed, q query, f *fleet, runs int) cost {
	t.Helper()
	var op store.Operation
	o := store.ReaderOptions{Now: f.end, Timeout: store.NoTimeout}
	o.Hooks.End = func(_ context.Context, done store.Operation, _ error) {
		op.Requests, op.Rows, op.Cells = op.Requests+done.Requests, op.Rows+done.Rows, op.Cells+done.Cells
	}
	r := examples.NewUsageReader(on.wire, o)
	c := costOf(t, on, runs, func() error {
		op = store.Operation{}
		_, err := q.drain(t.Context(), r)
		return err
	})
	c.Operation = op
	return c
}

// answerSize is the size of an answer, in bytes.
func answerSize(all []answer) (n int64) {
	for _, a := range all {
		n += int64(len(a.Host) + 8 + 8*len(a.Values))
	}
	return n
}

// TestTSBSCosts prints tables of docs/reference/tsbs.md: what the answer to each query takes, with generated code
// and with code by hand on the official client, and what Bigtable's nodes would read for it. Answers must be those of
// the definitions. Of a large fleet, it measures generated code alone, once.
func TestTSBSCosts(t *testing.T) {
	if os.Getenv(fleetHosts) == "" {
		t.Skipf("it measures: %s=100 runs it", fleetHosts)
	}
	f := longFleet()
	large, runs := len(f.hosts) > 100, 5
	if large {
		runs = 1
	}
	on := newBed(t, startAway(t, "fleet"))
	inside := newAnswers(f.tables()) // its counts can be read
	counted := newBed(t, startAnswers(t, inside))
	var costs, nodes strings.Builder
	for _, q := range queries(f, rand.New(rand.NewPCG(29, 3))) {
		answers := q.kind.model(f, q)
		if got, err := q.read(t.Context(), fleetReader(on.wire, f)); err != nil || !reflect.DeepEqual(answers, got) {
			t.Errorf("%s: generated code answers %d rows instead of %d, %v", q.name, len(got), len(answers), err)
		}
		c := costRow{query: q, readings: q.readings(f), answers: len(answers), size: answerSize(answers), generated: generatedCost(t, on, q, f, runs)}
		if !large {
			c.byHand = costByHand(t, on, q, answers)
			c.scanned = inside.scannedBy(func() {
				if _, err := q.drain(t.Context(), fleetReader(counted.wire, f)); err != nil {
					t.Fatal(err)
				}
			})
		}
		t.Log(c.costs()) // the run may take long
		costs.WriteString(c.costs())
		if !large {
			nodes.WriteString(c.nodes())
		}
	}
	t.Logf("%d hosts, %v\n%s\n%s", len(f.hosts), f.end().Sub(fleetBegin), &costs, &nodes)
}

// costByHand is the cost of code by hand, whose answers must be right.
func costByHand(t *testing.T, on *bed, q query, answers []answer) cost {
	t.Helper()
	if got, err := q.byHand(t.Context(), on.ordinary); err != nil || !reflect.DeepEqual(answers, got) {
		t.Errorf("%s: code by hand answers %d rows instead of %d, %v", q.name, len(got), len(answers), err)
	}
	return costOf(t, on, 5, func() error { _, err := q.byHand(t.Context(), on.ordinary); return err })
}

// costRow is what is known of the answer to a query.
type costRow struct {
	query
	readings, answers int
	size              int64
	generated, byHand cost
	scanned           scanned
}

// costs renders what the client does.
func (c costRow) costs() string {
	g := c.generated
	return fmt.Sprintf("| `%s` | %s | %s | %s | %s | %s | %s | %s | %.1f | %.1f |\n", c.name, grouped(c.readings), grouped(c.answers), grouped(g.Requests), grouped(g.Rows), grouped(g.Cells),
		kilobytes(g.received), timesAs(g.received, c.size), milliseconds(g.spent), milliseconds(c.byHand.spent))
}

// nodes renders what Bigtable's nodes do.
func (c costRow) nodes() string {
	n := c.scanned
	return fmt.Sprintf("| `%s` | %s | %s | %s | %s | %.1f |\n", c.name, grouped(int(n.places)), grouped(int(n.rows)), kilobytes(n.bytes), kilobytes(c.generated.received), milliseconds(n.bound()))
}

// What Google states for a node with SSD (https://cloud.google.com/bigtable/docs/performance), per second.
const (
	nodeReads = 17_000 // of single rows
	nodeScan  = 220e6  // in bytes, of adjacent rows
)

// bound is the time that one node takes at these rates.
func (s scanned) bound() time.Duration {
	return time.Duration((float64(s.places)/nodeReads + float64(s.bytes)/nodeScan) * float64(time.Second))
}

// grouped formats a number with groups of three digits.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// kilobytes formats a number of bytes.
func kilobytes(n int64) string { return grouped(int((n + 500) / 1000)) }

// timesAs formats how many times as large a is as b.
func timesAs(a, b int64) string { return strconv.FormatFloat(float64(a)/float64(b), 'f', 1, 64) }
