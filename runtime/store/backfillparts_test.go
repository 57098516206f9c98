package store

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/btgen-dev/btgen/golden/testlong"
)

// partsRun executes the steps of a backfill as a pipeline does: attempts are killed at a random
// request, which arrives later or never, and a program changes both tables before each request.
type partsRun struct {
	refill *refill
	random *rand.Rand
	broken string // what the pipeline lacks: "stored places" or "check"

	left   int            // requests until the attempt is killed
	late   []func() error // requests of killed attempts
	active bool           // whether the program is
}

// request is a request of the steps.
func (p *partsRun) request(t *testing.T, a asked, send func() error) error {
	if a.rows == nil {
		return send()
	}
	if p.active {
		p.refill.meddle(t, p.random, func(e *sample) { e.Value = uint64(1000 + p.random.IntN(1000)) })
	}
	switch p.left--; {
	case p.left > 0:
		return send()
	case p.left == 0 && p.random.IntN(3) > 0:
		p.late = append(p.late, send)
	}
	return errStepKilled
}

// client returns the client of the steps.
func (p *partsRun) client(t *testing.T) Client {
	return through(p.refill.Client, func(a asked, send func() error) error { return p.request(t, a, send) })
}

// run executes a pipeline with attempts that are killed.
func (p *partsRun) run(t *testing.T) {
	steps, err := newBackfillPartsOf(p.client(t), p.refill.mappings, at(100_000), p.refill.options)
	must(t, err)
	record := func() (chunks []JobNote) {
		for _, table := range steps.First() {
			_, err := steps.Find(t.Context(), table, KeyRange{}, allClaims{}, func(c JobNote) { chunks = append(chunks, c) })
			must(t, err)
		}
		return chunks
	}
	arrive := func() {
		for _, do := range p.late {
			do()
		}
		p.late = nil
	}
	attempts := func(chunk *JobNote, step func(JobNote) error) {
		for n := 0; ; n++ {
			if p.left = 1 + p.random.IntN(4); n == 2 {
				p.left = 1 << 30
			}
			err := step(*chunk)
			if err == nil {
				return
			}
			if !errors.Is(err, errStepKilled) {
				t.Fatal(err)
			}
			p.refill.meddle(t, p.random, func(e *sample) { e.Value = uint64(1000 + p.random.IntN(1000)) })
			if again := record(); p.broken == "stored places" {
				if *chunk = (JobNote{}); len(again) > 0 {
					*chunk = again[0]
				}
			}
		}
	}
	chunks := record()
	for i := range chunks {
		attempts(&chunks[i], func(c JobNote) error { _, _, err := steps.Do(t.Context(), c); return err })
	}
	p.refill.meddle(t, p.random, func(e *sample) { e.Value = uint64(1000 + p.random.IntN(1000)) })
	arrive()
	if p.broken == "check" {
		return
	}
	for i := range chunks {
		differs, err := steps.Differs(t.Context(), chunks[i])
		must(t, err)
		if differs {
			attempts(&chunks[i], func(c JobNote) error {
				arrive() // it has waited
				_, err := steps.Settle(t.Context(), c)
				return err
			})
		}
	}
	p.active = false
}

// TestBackfillPartsAmongPrograms executes the steps of pipelines between tables of different patterns, with
// attempts that are killed, while a program rewrites and deletes: in the end, the tables agree. Without
// stored places, or without the check, they do not.
func TestBackfillPartsAmongPrograms(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(27, 5))
	for _, broken := range []string{"", "stored places", "check"} {
		wrong, times := 0, testlong.Pick(1, 6)
		if broken != "" {
			times = max(2, times) // it ends with the first that is wrong
		}
		eachPair(t, patterns, func(t *testing.T, source, target *mappingOf[sample]) {
			if wrong > 0 { // one is enough
				return
			}
			r := refillOf(t, source, target, samplesOf(20)...)
			(&partsRun{refill: r, random: random, broken: broken, active: true}).run(t)
			differences := r.differences(t)
			if len(differences) == 0 {
				return
			}
			if wrong++; broken == "" {
				t.Fatal(differences)
			}
		}, times)
		if broken != "" && wrong == 0 {
			t.Errorf("no backfill without %q is wrong", broken)
		}
	}
}

// TestBackfillPartsSweep finds what a stopped pipeline has left in the target, and only that.
func TestBackfillPartsSweep(t *testing.T) {
	r := newRefill(t, 5)
	r.mappings[1].Table.WriteOnly = true
	left, early := sample{Series: "s0009", Time: at(3), Value: 3}, sample{Series: "s0009", Time: at(-1000), Value: 3}
	must(t, r.only("days").WriteAll(t.Context(), []sample{left, early}))
	for _, repair := range []bool{false, true} {
		r.options.Repair = repair
		steps, err := newBackfillPartsOf(r.Client, r.mappings, at(100_000), r.options)
		must(t, err)
		if got := steps.Left(at(0)); len(got) != 1 || got[0].Table != "days" {
			t.Error(got)
		}
		var chunks []JobNote
		counts, err := steps.Find(t.Context(), steps.Left(at(0))[0], KeyRange{}, allClaims{}, func(c JobNote) { chunks = append(chunks, c) })
		if must(t, err); len(chunks) != 1 || (counts.Backfill.OnlyTarget == 1) == repair {
			t.Fatalf("repair %t: %d chunks, %+v", repair, len(chunks), counts)
		}
		settled, err := steps.Settle(t.Context(), chunks[0])
		if must(t, err); settled.Backfill.Deleted != 1 {
			t.Errorf("repair %t: %+v", repair, settled)
		}
	}
	same(t, 0, len(r.values(t, 1)))
	r.mappings[1].Table.WriteOnly, r.options.Repair, r.options.Target = false, false, "days"
	steps, err := newBackfillPartsOf(r.Client, r.mappings, at(100_000), r.options)
	if must(t, err); steps.Left(at(0)) != nil {
		t.Error("a table that serves reads is swept")
	}
}

// TestBackfillPartsAlone checks how long a pipeline waits, and steps for no places, or none of the table.
func TestBackfillPartsAlone(t *testing.T) {
	r := newRefill(t, 0)
	steps, err := newBackfillPartsOf(r.Client, r.mappings, at(100_000), r.options)
	must(t, err)
	if steps.Wait() < steps.attemptTime()+DefaultTimeout/2 {
		t.Error("the wait is shorter than requests take")
	}
	oldest, _, err := steps.Do(t.Context(), note(placesNote{Table: "singles"}))
	if must(t, err); !oldest.IsZero() {
		t.Error(oldest)
	}
	if _, _, err = steps.Do(t.Context(), note(placesNote{Table: "singles", Places: []rowPlaces{{Row: []byte{9}, At: [][3]int64{{}}}}})); !errors.Is(err, errPlaces) {
		t.Error(err)
	}
}

// until claims the rows before a key.
type until string

func (u until) Contains(key string) bool { return key < string(u) }
func (u until) Claim(key string) bool    { return key < string(u) }
