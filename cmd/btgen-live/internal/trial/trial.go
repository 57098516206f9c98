// Package trial proves on an instance what generated code, setup and lint assume of Bigtable. It makes scratch tables, tries each
// assumption, runs the schemas of the project through package dynamic, and removes the tables.
//
// An [Assumption] is a row of a table: a sentence, where it is promised, and a check, which mostly is some cells, a read with a filter,
// and the cells that it returns. The checks know the protocol and the client, but no schemas.
package trial

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Assumption is something that btgen relies on.
type Assumption struct {
	ID     string
	Says   string // what is promised
	Source string // where
	check  check
}

// check tries an assumption, with rows in a place of its own. It returns what it has seen, and an error if that is something else.
type check func(ctx context.Context, p place) (seen string, err error)

// Verdict is what a trial says about an assumption.
type Verdict string

// The verdicts.
const (
	Holds    Verdict = "holds"
	Fails    Verdict = "fails"
	NotTried Verdict = "not tried"
)

// Result is what became of an assumption.
type Result struct {
	ID      string  `json:"id"`
	Says    string  `json:"says"`
	Source  string  `json:"source"`
	Seen    string  `json:"seen"`
	Verdict Verdict `json:"verdict"`
}

// Options configure a trial.
type Options struct {
	Only   []string // the IDs of what is tried; nil for all
	Beside bool     // tries an instance that has tables
	Leave  bool     // leaves a table behind for [Resume]
	Now    time.Time
	Notice func(text string) // is told what happens
}

// run is a trial in progress.
type run struct {
	*Clients
	Options
	prefix  string                           // of its tables
	base    int64                            // the time from which timestamps of cells count, in microseconds
	made    map[string]error                 // by the names of tables that it has tried to make
	wired   struct{ requests, ordinary int } // of bulk writes and reads of seeds
	figures []Figures
}

// contradiction is the error of an assumption that fails.
type contradiction string

func (c contradiction) Error() string { return string(c) }

// untried is the error of an assumption that cannot be tried, and says why.
type untried string

func (u untried) Error() string { return string(u) }

// differs returns a contradiction.
func differs(format string, args ...any) error { return contradiction(fmt.Sprintf(format, args...)) }

// OccupiedError reports that an instance has tables.
type OccupiedError struct{ Tables int }

// Error says what to do.
func (e *OccupiedError) Error() string {
	return fmt.Sprintf("the instance has %d tables: use an empty one, or add --beside to make scratch tables beside them, which it leaves alone", e.Tables)
}

// UnknownError reports that nothing has an ID.
type UnknownError struct{ ID string }

// Error names the ID.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("%q is neither the ID of an assumption nor of a seed: docs/reference/assumptions.md lists them", e.ID)
}

// Run tries the assumptions on an instance and removes what it has made, also if ctx ends early. Then the report has what was tried
// until then, and the error is that of ctx.
func Run(ctx context.Context, c *Clients, o Options) (*Report, error) {
	tried, err := chosen(o.Only)
	if err == nil && o.Leave && !slices.ContainsFunc(tried, takesDays) {
		err = ErrNothingToLeave
	}
	if err != nil {
		return nil, err
	}
	if err := c.connect(ctx); err != nil {
		return nil, err
	}
	report, err := newRun(c, o).all(ctx, tried)
	return report, c.close(err)
}

// newRun returns a trial with connected clients.
func newRun(c *Clients, o Options) *run {
	return &run{
		Clients: c, Options: o, prefix: runPrefix(o.Now, rand.Uint32()), made: map[string]error{},
		base: o.Now.Add(-time.Hour).Truncate(time.Millisecond).UnixMicro(),
	}
}

// chosen returns the assumptions with the given IDs, or all.
func chosen(ids []string) ([]Assumption, error) {
	all := Assumptions()
	if len(ids) == 0 {
		return all, nil
	}
	for _, id := range ids {
		if !slices.ContainsFunc(all, func(a Assumption) bool { return a.ID == id }) {
			return nil, &UnknownError{id}
		}
	}
	return slices.DeleteFunc(all, func(a Assumption) bool { return !slices.Contains(ids, a.ID) }), nil
}

// all tries assumptions between the removal of what earlier trials and this one have left.
func (r *run) all(ctx context.Context, tried []Assumption) (report *Report, err error) {
	ours, others, err := r.scratchTables(ctx)
	switch {
	case err != nil:
		return nil, err
	case len(others) > 0 && !r.Beside:
		return nil, &OccupiedError{len(others)}
	}
	r.Notice(r.announcement(tried))
	defer func() { err = errors.Join(err, r.removeAll(context.WithoutCancel(ctx))) }()
	removed, err := r.remove(ctx, ours, func(s scratch) bool { return s.abandoned(r.Now) })
	if len(removed) > 0 {
		r.Notice("removed what an earlier trial has left: " + strings.Join(removed, ", "))
	}
	if err != nil {
		return nil, err
	}
	report = newReport()
	for _, a := range tried {
		result := r.try(ctx, a)
		if ctx.Err() != nil {
			return report, ctx.Err()
		}
		report.Results, report.Figures = append(report.Results, result), r.figures
	}
	return report, nil
}

// removeAll removes the tables of this trial, except for that which is to stay.
func (r *run) removeAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	ours, _, err := r.scratchTables(ctx)
	if err != nil {
		return err
	}
	_, err = r.remove(ctx, ours, func(s scratch) bool {
		return strings.HasPrefix(s.id, r.prefix) && (s.name != leftTable || !r.Leave)
	})
	return err
}

// perCheck limits the time of a check.
const perCheck = 2 * time.Minute

// try tries an assumption.
func (r *run) try(ctx context.Context, a Assumption) Result {
	ctx, cancel := context.WithTimeout(ctx, perCheck)
	defer cancel()
	var seen string
	p, err := r.at(ctx, a.ID)
	if err == nil {
		seen, err = a.check(ctx, p)
	}
	return r.result(a, seen, err)
}

// result returns what became of an assumption.
func (r *run) result(a Assumption, seen string, err error) Result {
	out := Result{ID: a.ID, Says: a.Says, Source: a.Source, Verdict: Holds, Seen: seen}
	if err != nil {
		out.Verdict, out.Seen = verdictOf(err), err.Error()
	}
	out.Seen = r.scrub(out.Seen)
	return out
}

// verdictOf returns the verdict of an error. That a server lacks something, or does not answer, says nothing about the assumption.
func verdictOf(err error) Verdict {
	_, cannot := errors.AsType[untried](err)
	switch code := status.Code(err); {
	case cannot, code == codes.Unimplemented, code == codes.PermissionDenied, code == codes.Unauthenticated,
		code == codes.Unavailable, code == codes.ResourceExhausted, code == codes.DeadlineExceeded, errors.Is(err, context.DeadlineExceeded):
		return NotTried
	}
	return Fails
}

// once returns the ID of a scratch table, which it makes at the first call.
func (r *run) once(name string, create func(id string) error) (string, error) {
	id := r.prefix + name
	if _, tried := r.made[name]; !tried {
		r.made[name] = create(id)
	}
	return id, r.made[name]
}
