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

// TestBackfillSteps tries orders of the steps of a backfill and a program: all of them without a
// kill, and random ones with kills. A copier that does not wait for requests of a killed one, or does not
// record what it writes, must fail.
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
