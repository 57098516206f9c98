package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// The steps of Backfill itself, in every order or at random: a scheduler decides which of a program, the
// copier, a request of a killed copier and a kill comes next. The copier is stopped at each of
// its requests; a killed one writes no checkpoint and sends nothing more.

// stepRun is one run of a schedule.
type stepRun struct {
	t       *testing.T
	refill  *refill
	program []int // values that are written to the source and then to the target; 0 deletes
	kills   int
	broken  string // what the copier lacks: "waits" or "records"
	choose  func(options []string) int

	step   int
	asked  chan stepAsked // by the copier
	ended  chan error
	killed *bool        // whether the current copier is
	late   func() error // the request of a killed copier
	trace  []string
}

// stepAsked is a step that the copier wants to take.
type stepAsked struct {
	name   string
	do     func() error // nil for the end of waiting
	writes bool
	go_    chan bool // false kills
}

var errStepKilled = errors.New("killed")

// gate waits until the scheduler lets a step happen.
func (s *stepRun) gate(killed *bool, name string, writes bool, do func() error) error {
	if *killed {
		return errStepKilled
	}
	step := stepAsked{name, do, writes, make(chan bool)}
	s.asked <- step
	if !<-step.go_ {
		return errStepKilled
	}
	if do == nil {
		return nil
	}
	return do()
}

// start starts a copier.
func (s *stepRun) start() {
	killed := new(bool)
	s.killed = killed
	client := through(s.refill.Client, func(a asked, send func() error) error {
		if a.rows != nil {
			return s.gate(killed, "writes "+a.table, true, send)
		}
		return s.gate(killed, "reads "+a.table, false, send)
	})
	o := s.refill.options
	clock := new(fakeClock).clock()
	clock.Sleep = func(ctx context.Context, d time.Duration) error {
		if s.broken == "waits" {
			return nil
		}
		return s.gate(killed, "has waited", false, nil)
	}
	o.test = &backfillTest{clock: clock, save: func(write func([]byte) error, text []byte) error {
		if *killed || s.broken == "records" {
			return nil
		}
		return write(text)
	}}
	go func() {
		_, err := backfillOf(s.t.Context(), client, s.refill.mappings, o)
		s.ended <- err
	}()
}

// run executes a schedule. It returns how the tables differ in the end.
func (s *stepRun) run() string {
	s.asked, s.ended = make(chan stepAsked), make(chan error)
	s.start()
	var pending *stepAsked
	running := true
	for {
		if running && pending == nil {
			select {
			case asked := <-s.asked:
				pending = &asked
			case err := <-s.ended:
				if running = false; err != nil {
					return err.Error()
				}
			}
		}
		type option struct {
			name string
			do   func()
		}
		var options []option
		if running && (pending.do != nil || s.late == nil) {
			options = append(options, option{"copier " + pending.name, func() { pending.go_ <- true; pending = nil }})
		}
		if s.step < 2*len(s.program) {
			options = append(options, option{"program", s.takeStep})
		}
		if s.late != nil {
			options = append(options, option{"late request", func() { _ = s.late(); s.late = nil }})
		}
		if running && s.kills > 0 && s.late == nil {
			kill := func() {
				s.kills--
				*s.killed = true
				pending.go_ <- false
				pending = nil
				<-s.ended
				s.start()
			}
			options = append(options, option{"kill", kill})
			if pending.writes {
				do := pending.do
				options = append(options, option{"kill, request in flight", func() { s.late = do; kill() }})
			}
		}
		if len(options) == 0 {
			break
		}
		var names []string
		for _, o := range options {
			names = append(names, o.name)
		}
		chosen := options[s.choose(names)]
		s.trace = append(s.trace, chosen.name)
		chosen.do()
	}
	want, got := s.refill.values(s.t, 0), s.refill.values(s.t, 1)
	if fmt.Sprint(want) == fmt.Sprint(got) {
		return ""
	}
	return fmt.Sprintf("the source has %v, the target %v", want, got)
}

// takeStep takes the next step of the program.
func (s *stepRun) takeStep() {
	v := s.program[s.step/2]
	w := s.refill.only([]string{"singles", "days"}[s.step%2])
	e := sample{Series: "s0000", Time: at(0), Value: uint64(v)}
	if s.step++; v != 0 {
		must(s.t, w.Write(s.t.Context(), e))
		return
	}
	_, err := w.Delete(s.t.Context(), []sample{e})
	must(s.t, err)
}

// seldomLate returns a random choice of steps, in which requests in flight often arrive last.
func seldomLate(random *rand.Rand) func(names []string) int {
	return func(names []string) int {
		for {
			i := random.IntN(len(names))
			if names[i] != "late request" || len(names) == 1 || random.IntN(12) == 0 {
				return i
			}
		}
	}
}

// schedule yields every sequence of choices, one run after the other.
type schedule struct{ prefix, choices, counts []int }

// choose returns the next choice among n.
func (s *schedule) choose(n int) (choice int) {
	if s.left() > 0 {
		choice = s.prefix[len(s.choices)]
	}
	s.choices, s.counts = append(s.choices, choice), append(s.counts, n)
	return choice
}

// left returns how many choices of the run before are to be repeated.
func (s *schedule) left() int { return max(0, len(s.prefix)-len(s.choices)) }

// next begins the next run; it reports false after the last one.
func (s *schedule) next() bool {
	last := len(s.choices) - 1
	for last >= 0 && s.choices[last]+1 == s.counts[last] {
		last--
	}
	if last >= 0 {
		s.choices[last]++
	}
	s.prefix, s.choices, s.counts = s.choices[:last+1], nil, nil
	return last >= 0
}

// TestBackfillSteps tries all orders of steps without a kill, and random ones with kills. A copier that does not wait
// for requests of a killed one, or does not record what it writes, must fail.
func TestBackfillSteps(t *testing.T) {
	t.Parallel()
	r := newRefill(t, 1)
	dir, n := t.TempDir(), 0
	once := func(program []int, kills int, broken string, choose func([]string) int) (string, []string) {
		n++
		w := r.only("singles", "days")
		_, err := w.Delete(t.Context(), r.samples)
		must(t, err)
		must(t, r.only("singles").WriteAll(t.Context(), r.samples))
		r.options.Checkpoint = filepath.Join(dir, fmt.Sprint(n))
		s := &stepRun{t: t, refill: r, program: program, kills: kills, broken: broken, choose: choose}
		return s.run(), s.trace
	}
	r.samples = []sample{{Series: "s0000", Time: at(0), Value: 1}}
	for _, program := range [][]int{{0}, {0, 2}, {2, 0}}[:testlong.Pick(1, 3)] {
		order, schedules := new(schedule), 0
		for more := true; more; more = order.next() {
			wrong, trace := once(program, 0, "", func(options []string) int { return order.choose(len(options)) })
			if schedules++; wrong != "" {
				t.Fatalf("program %v: %s\n%s", program, wrong, strings.Join(trace, "\n"))
			}
		}
		t.Logf("program %v: %d schedules", program, schedules)
	}
	random := rand.New(rand.NewPCG(27, 2))
	for _, broken := range []string{"", "waits", "records"} {
		fails, most := false, testlong.Pick(50, 1000)
		if broken == "" {
			most = testlong.Pick(15, most)
		}
		for i := range most {
			program := [][]int{{0}, {0, 2}, {2, 0}, {2, 0, 3}, {}}[random.IntN(5)]
			wrong, trace := once(program, 1+random.IntN(2), broken, seldomLate(random))
			if fails = wrong != ""; fails && broken == "" {
				t.Fatalf("schedule %d, program %v: %s\n%s", i, program, wrong, strings.Join(trace, "\n"))
			}
			if fails {
				break
			}
		}
		if broken != "" && !fails {
			t.Errorf("no schedule of a copier without %q fails", broken)
		}
	}
}

// partsRun runs a pipeline whose attempts are killed at a request, which may arrive later, beside a program.
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

// TestBackfillPartsAmongPrograms runs pipelines between tables of all patterns: the tables agree in the end, but
// without stored places, or without the check, they do not.
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
	left, early := sample{Series: "s0009", Time: at(3), Value: 3}, sample{Series: "s0009", Time: at(-1000), Value: 3}
	must(t, r.only("days").WriteAll(t.Context(), []sample{left, early}))
	for _, repair := range []bool{false, true} {
		r.options.Repair = repair
		steps, err := newBackfillPartsOf(r.Client, r.mappings, at(100_000), r.options)
		must(t, err)
		tables := steps.Left(at(0))
		same(t, "days", tables[len(tables)-1].Table)
		var chunks []JobNote
		take := func(c JobNote) { chunks = append(chunks, c) }
		counts, err := steps.Find(t.Context(), tables[0], KeyRange{}, allClaims{}, take)
		if must(t, err); len(chunks) != 1 || (counts.Backfill.OnlyTarget == 1) == repair {
			t.Fatalf("repair %t: %d chunks, %+v", repair, len(chunks), counts)
		}
		settled, err := steps.Settle(t.Context(), chunks[0])
		must(t, err)
		assert.Same(t, int64(1), settled.Backfill.Deleted, "repair", repair)
	}
	same(t, 0, len(r.values(t, 1)))
	r.mappings[1].Table.WriteOnly, r.options.Repair, r.options.Target = false, false, "days"
	steps, err := newBackfillPartsOf(r.Client, r.mappings, at(100_000), r.options)
	if must(t, err); steps.Left(at(0)) != nil {
		t.Error("a table that serves reads is swept")
	}
}

// TestBackfillPartsAlone checks copies without other writers, the wait of a pipeline, and notes without valid places.
func TestBackfillPartsAlone(t *testing.T) {
	r := newRefill(t, 3)
	steps, err := newBackfillPartsOf(r.Client, r.mappings, at(100_000), r.options)
	must(t, err)
	var chunks []JobNote
	take := func(c JobNote) { chunks = append(chunks, c) }
	_, err = steps.Find(t.Context(), JobTable{Table: "singles"}, KeyRange{}, allClaims{}, take)
	must(t, err)
	_, _, err = steps.Do(t.Context(), chunks[0])
	must(t, err)
	differs, err := steps.Differs(t.Context(), chunks[0])
	must(t, err)
	same(t, false, differs)
	if steps.Wait() < steps.attemptTime()+DefaultTimeout/2 {
		t.Error("the wait is shorter than requests take")
	}
	oldest, _, err := steps.Do(t.Context(), note(placesNote{Table: "singles"}))
	must(t, err)
	same(t, time.Time{}, oldest)
	foreign := []rowPlaces{{Row: []byte{9}, At: [][3]int64{{}}}}
	_, _, err = steps.Do(t.Context(), note(placesNote{Table: "singles", Places: foreign}))
	assert.Is(t, errPlaces, err)
}

// until claims the rows before a key.
type until string

func (u until) Contains(key string) bool { return key < string(u) }
func (u until) Claim(key string) bool    { return key < string(u) }
