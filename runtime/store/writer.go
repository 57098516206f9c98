package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/runtime/internal/batch"
	"github.com/btgen-dev/btgen/runtime/internal/call"
	"github.com/btgen-dev/btgen/runtime/internal/request"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// Writer writes events to all tables of a schema. It is safe for concurrent use.
type Writer struct {
	options WriterOptions
	tables  []writerTable
	stages  sync.Pool // of *stage
	// perRequest is the maximum number of mutations in a request that deletes events.
	perRequest int
	unknown    error // that of a table in WriterOptions.Tables, or of a missing client
	unwritable error // why these tables cannot be written to alone

	unmergeable error // why one of the tables does not support WriteOptions.Merge
	client      Client
	events      *mapping // with all events, for a table of states; nil without one
}

// writerTable is one table of a Writer.
type writerTable struct {
	mapping *mapping
	shape   scan.Table // derived from the mapping
	id      string
	api     bigtable.TableAPI
	wire    *wirePath
	marker  *marker // nil if the table has no rollup
	// timeout limits each request that changes events.
	timeout time.Duration
	// retries is set if the client retries by itself without reporting it.
	retries bool
	newest  bool // the mapping is not an earlier one
	number  int  // of the table among those of the schema
}

// NewWriter returns a Writer for the mappings of a schema.
func NewWriter(client Client, mappings []*Mapping, opts ...WriterOptions) *Writer {
	return newWriter(client, completeAll(mappings), writerOptions(opts))
}

// newWriter is NewWriter with complete options.
func newWriter(client Client, mappings []*mapping, o WriterOptions) *Writer {
	w := &Writer{options: o, perRequest: batch.MaxMutations, client: client}
	if i := slices.IndexFunc(mappings, func(l *mapping) bool { return l.State != nil }); i >= 0 {
		w.events = mappings[i]
	}
	if w.options.Tables != nil {
		mappings, w.unknown = selected(mappings, w.options.Tables)
		w.unwritable = w.unknown
	}
	if noClient(client) {
		w.unknown = &NoClientError{w.options.TablePrefix + mappings[0].Table.ID}
		w.unwritable = w.unknown
	}
	number := -1
	for _, l := range allPeriods(mappings) {
		newest := slices.Contains(mappings, l)
		if newest {
			number++
		}
		id := w.options.TablePrefix + l.Table.ID
		api := OpenTable(client, id)
		path := newWirePath(client, api)
		m := l.newMarker(client)
		w.unmergeable = cmp.Or(w.unmergeable, l.unmergeable(id))
		w.tables = append(w.tables, writerTable{
			mapping: l, shape: l.shape(), id: id, api: api, wire: path, marker: m, timeout: m.within(o.Timeout),
			retries: isOfficial(client), newest: newest, number: number,
		})
	}
	// An event is in the tables of events before it is in that of states.
	slices.SortStableFunc(w.tables, func(a, b writerTable) int { return btoi(a.state()) - btoi(b.state()) })
	if last := len(w.tables) - 1; last >= 0 && w.unwritable == nil && w.tables[last].state() && !slices.ContainsFunc(mappings, func(l *mapping) bool { return l.State != nil }) {
		w.unwritable = fmt.Errorf("table %s: %w", w.tables[last].id, ErrStatesAlone)
	}
	w.stages.New = func() any { return newStage(w) }
	return w
}

// MergeError reports a table that does not support WriteOptions.Merge. Nothing was written.
type MergeError struct {
	Table  string // with its prefix
	Reason string
}

// Error says why, and what to do.
func (e *MergeError) Error() string {
	return fmt.Sprintf("table %s: Merge: %s: read the event, complete it, and write it without Merge", e.Table, e.Reason)
}

// unmergeable returns a *MergeError if the cells of a field cannot be kept while others are written; else nil.
func (l *mapping) unmergeable(id string) error {
	switch {
	case l.Table.hasClasses():
		return &MergeError{id, "the stored fields could have another TTL class"}
	case l.Pattern.OneValue():
		return &MergeError{id, fmt.Sprintf("pattern %s stores an event as one value", l.Pattern)}
	case l.Pattern.Bucketed():
		return nil
	}
	for i := range l.Table.Families {
		if !l.Table.Families[i].Life.EventTimed() {
			return &MergeError{id, "the fields of an event would expire at different times"}
		}
	}
	return nil
}

// ErrStatesAlone is the error for writes to a table of codec.Latest without a table that has all
// events; see WriterOptions.Tables.
var ErrStatesAlone = errors.New("the table has only the newest events: write to a table with all events, too")

// state reports whether the table has the newest event of each series.
func (t *writerTable) state() bool { return t.mapping.Pattern.NewestOnly() }

// btoi returns 1 for true.
func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// selected returns the mappings of some tables. If there are none for one of them, it
// returns all mappings and an *UnknownTableError.
func selected(mappings []*mapping, tables []string) ([]*mapping, error) {
	var out []*mapping
	var known []string
	for _, l := range mappings {
		known = append(known, l.Table.ID)
		if slices.Contains(tables, l.Table.ID) {
			out = append(out, l)
		}
	}
	for _, table := range tables {
		if !slices.Contains(known, table) {
			return mappings, &UnknownTableError{table, known}
		}
	}
	if len(out) == 0 {
		return mappings, &UnknownTableError{"", known} // an empty list
	}
	return out, nil
}

// WriteOptions specify how to write events. If several are passed, the last one replaces
// the others.
type WriteOptions struct {
	// LastWins stores the last of several events of a call that have the same series,
	// time and sequence number but different values. Without it, all but the first are
	// refused with a *DuplicateError. bucket_new_columns is append-only and stores the
	// values of all of them.
	LastWins bool
	// IfAbsent stores an event only if no live event has its series, time and sequence
	// number; otherwise, there is a Failure with the outcome Exists and ErrExists. LastWins
	// then has no effect.
	//
	// Each event takes one CheckAndMutateRow request per table. Bigtable requires an app
	// profile with single-cluster routing that allows single-row transactions. The client
	// sends the request once: after a failure with the outcome Unknown, the event may be
	// stored, and a second attempt then reports that it exists. Tables are written
	// independently: if two writers store different events concurrently, each may win in
	// one table; the failures name the tables. Events that take several rows, as in
	// bucket_new_columns with several fields, are refused with ErrSeveralRows. A table of codec.Latest gets the events that are absent in
	// all others. For one that exists, it is only noted that readers must search, unless the row has it.
	IfAbsent bool
	// Merge keeps what is stored of the optional fields that an event lacks, of an event with its series, time and
	// sequence number. Without it, a write replaces the whole event. Of several events of a call with the same place,
	// the last one that has a field wins. A field that has a value cannot be removed in this way.
	//
	// It needs a cell for each field: tables of other patterns, with classes, or whose times to live
	// do not depend on the event time alone, refuse all events of the call with a *MergeError. In a table of codec.Latest, an event that
	// lacks a field is not written: readers search until the series has a newer event. With IfAbsent and in Replace, it has no effect.
	Merge bool
}

// Write stores one event, given a pointer to it, like WriteAll.
func (w *Writer) Write(ctx context.Context, e any, opts ...WriteOptions) error {
	return w.made().write(ctx, "Write", event{e}, opts)
}

// WriteAll stores the events in every table, all events of a row with one atomic
// mutation. It returns nil if all are stored, else a *WriteError that names each event
// that is not, with each table that lacks it; all others are durable.
//
// An event that any table refuses for one of its values is stored in no table. One that
// is past its time to live in a table is stored in the tables that keep it longer.
// Unless WriteOptions.LastWins is set, WriteAll refuses an event that would replace an
// earlier one of the call that has different values, with a *DuplicateError.
//
// Writing an event again replaces it, so it is safe to repeat the call after any error. The client repeats requests after
// transient errors, and Bigtable may execute the first attempt after the call has ended: in one table, it then stores the events of
// the call once more, over a later version or after their deletion. If a version must win, write it
// twice WriterOptions.Timeout after the one before.
//
// A table of codec.Latest gets only the newest event of each series, and after the others: if one of
// them may lack it, the event is not sent, and fails with ErrNotStored.
func (w *Writer) WriteAll(ctx context.Context, events List, opts ...WriteOptions) error {
	return w.made().write(ctx, "WriteAll", events, opts)
}

// write stages the events for all tables and then writes them table by table.
func (w *Writer) write(ctx context.Context, name string, events List, opts []WriteOptions) error {
	if w.unwritable != nil {
		return w.unwritable
	}
	o := call.Last(opts)
	merge := o.Merge && !o.IfAbsent
	if merge && w.unmergeable != nil {
		return w.unmergeable
	}
	s := w.stages.Get().(*stage)
	defer s.release()
	s.all, s.lastWins, s.ifAbsent = events, (o.LastWins || merge) && !o.IfAbsent, o.IfAbsent
	s.merging(merge)
	s.at(w.options.Now())
	for i := range events.len() {
		s.add(events.at(i))
	}
	return s.send(ctx, name)
}

// Any request that changes rows may be executed once more after its call has ended, since clients repeat requests whose
// replies are lost. What such a copy can do:
//
//   - A write (sendOne, and apply and applyBulk of a stage) stores its events at their times again. It hides nothing newer,
//     but undoes a later deletion or another version of the same events, in one table. Writer.WriteAll says so. In a table of
//     states, it adds its version once more to the sum of the event, so that readers search after another version.
//   - A write with IfAbsent (ifAbsent), and the mark that it sets in a table of states, are conditional: a copy
//     changes nothing, unless the event was deleted since. With Merge, the mark is not conditional, and a copy of it lets readers
//     search once more.
//   - A deletion (eraser.apply) deletes events and ranges of times again, with what was written there since. Writer.DeleteRange
//     says so. Marks and runs of a rollup go only with the events of the whole bucket, so that windows are those of what is left.
//   - A mark of a rollup or of a table of states is idempotent: readers take the events until a seal or a repair removes it. One of a
//     rollup arrives in time: a sealer begins when all requests with the marks that it has noted have ended; see rollup.Row.
//   - The seal of a bucket (sealer.send) and the repair of a row of states (settler.apply) depend on marks that they replace, so
//     that they are executed once; the removal of a mark names one that no other call sets. See sealer and settler.
//     The sum of versions that a repair adds then lets readers search, unless the row has that version.
//   - A backfill writes and deletes in the target like a writer, and compares the tables afterwards, but cannot know of a copy
//     that arrives later than that; Backfill says so. A pipeline waits before it compares (BackfillParts.Wait). What was
//     recorded of the progress is in a file or in the runner.
//   - A step in the history of a table (add of package setup) is conditional: no step with its number may exist. For requests that
//     change tables, see retryAdmin there.
//
// TestMutations lists the requests, TestLateCopies repeats each of each call, and TestHistoryLateCopies those of a setup.

// sendAll sends what a table gets and returns the failures.
func (w *Writer) sendAll(ctx context.Context, t *writerTable, s *staged, op *request.Operation) []Failure {
	if s.ifAbsent {
		return w.sendAbsent(ctx, t, s, op)
	}
	var failures []Failure
	for _, wave := range s.batch.Waves {
		op.Rows += len(wave)
		reqs := s.batch.Requests(wave)
		op.Requests += len(reqs)
		for _, sent := range w.send(ctx, t, s, reqs) {
			failures = append(failures, sent.failures...)
			if sent.ordinary {
				op.OrdinaryRequests++
			}
		}
	}
	return failures
}

// sent is the result of a request.
type sent struct {
	failures []Failure
	ordinary bool // the client encoded the request
}

// send sends requests concurrently.
func (w *Writer) send(ctx context.Context, t *writerTable, s *staged, reqs [][]int) []sent {
	results := make([]sent, len(reqs))
	w.atOnce(len(reqs), func(i int) { results[i] = w.sendOne(ctx, t, s, reqs[i]) })
	return results
}

// atOnce calls f with 0 to n-1, concurrently as far as WriterOptions.Parallelism allows.
func (w *Writer) atOnce(n int, f func(i int)) { call.AtOnce(n, w.options.Parallelism, f) }

// sendOne sends one request.
func (w *Writer) sendOne(ctx context.Context, t *writerTable, s *staged, req []int) sent {
	if ctx.Err() != nil {
		return sent{s.failures(ctx, t.id, req, func(int) error { return ctx.Err() }, unsent), false}
	}
	if e := &s.batch.Entries[req[0]]; len(req) == 1 && e.First == e.Last {
		return t.sendRow(ctx, s, req)
	}
	ctx, cancel := call.Within(ctx, t.timeout)
	defer cancel()
	if t.wire.usable() {
		out := s.outbox(req)
		defer out.Release()
		if out.Send(ctx, t.api) {
			return sent{s.failures(ctx, t.id, req, out.Err, outcomeOf), false}
		}
		if ctx.Err() == nil { // an interceptor interferes
			t.wire.close()
		}
	}
	return sent{s.failures(ctx, t.id, req, s.applyBulk(ctx, t.wire, req), t.outcomeOf), true}
}

// sendRow sends a request with the row of one event by the client's Apply, which is cheaper than a bulk
// request. If the client diverts it to its session protocol, it does not retry when the service is
// unavailable, and may wait for a session without end: one that opens just before the client begins to wait
// does not wake it. So after half of the time, and when the service is unavailable or nothing was sent, sendRow continues in bulk,
// which the client never diverts.
func (t *writerTable) sendRow(ctx context.Context, s *staged, req []int) sent {
	begin := time.Now()
	within, cancel := t.firstWithin(ctx)
	defer cancel()
	attempts, diverted, err := s.apply(within, t.wire, &s.batch.Entries[req[0]])
	errOf, outcomeOf, ordinary := func(int) error { return err }, outcomeOf, attempts == 0
	again := diverted || t.retries && err != nil && (attempts == 0 && wire.Passes(err) || within.Err() != nil)
	again = again && ctx.Err() == nil
	if attempts != 1 || again {
		outcomeOf = t.outcomeOf
	}
	if again {
		within, cancel = t.restWithin(ctx, begin)
		defer cancel()
		errOf, ordinary = s.applyBulk(within, t.wire, req), true
	}
	return sent{s.failures(within, t.id, req, errOf, outcomeOf), ordinary}
}

// firstWithin returns a context for the first call of sendRow: for half of the time, which is that of [DefaultTimeout] without a limit,
// if a second call may follow.
func (t *writerTable) firstWithin(ctx context.Context) (context.Context, context.CancelFunc) {
	if !t.retries {
		return call.Within(ctx, t.timeout)
	}
	left := t.timeout
	if at, ok := ctx.Deadline(); ok && (left <= 0 || time.Until(at) < left) {
		left = time.Until(at)
	}
	if left <= 0 {
		left = DefaultTimeout
	}
	return context.WithTimeout(ctx, left/2)
}

// restWithin returns a context for the second call, for the time that is left since the first one began.
func (t *writerTable) restWithin(ctx context.Context, begin time.Time) (context.Context, context.CancelFunc) {
	if t.timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, begin.Add(t.timeout))
}

// unsent is what is known about an entry that was not sent because the context had ended.
func unsent(error) Outcome { return Failed }

// outcomeOf returns what is known about an entry with an error from the client. The
// client may have sent the entry several times and reports only the last result.
func (t *writerTable) outcomeOf(err error) Outcome {
	if t.retries {
		return Unknown
	}
	return outcomeOf(err)
}

// outcomeOf returns what is known about an entry with the given error. It is Failed
// only if the server says that it did not apply the entry: when a stream breaks or the
// context ends, the client does not know which entries were acknowledged.
func outcomeOf(err error) Outcome {
	var unsure *wire.UnsureError
	if errors.As(err, &unsure) {
		return Unknown
	}
	switch status.Code(err) {
	case codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.PermissionDenied,
		codes.ResourceExhausted, codes.FailedPrecondition, codes.OutOfRange,
		codes.Unimplemented, codes.Unauthenticated:
		return Failed
	}
	return Unknown
}

// Outcome is what is known about an event that was not written.
type Outcome int

const (
	// Refused events were not sent to the table, because the event itself is invalid.
	// Only an event refused for its age, with ErrExpired, may be in other tables.
	Refused Outcome = iota
	// Failed events were rejected by the server, or not sent because the context had
	// ended, and are not stored. If the writer's Client is not a [bigtable.Client], this
	// relies on its reports.
	Failed
	// Unknown events may or may not be stored: the call ended before the server's
	// answer, or they were rejected when they were sent again. Without ClientOptions
	// all failures are Unknown, because the client retries and does not report the
	// result of its first attempt. Writing the events again is safe.
	Unknown
	// Exists means that the event is already stored and was not written; see
	// WriteOptions.IfAbsent.
	Exists
)

// String returns the name of the outcome in lower case.
func (o Outcome) String() string {
	return [...]string{"refused", "failed", "unknown", "exists"}[o]
}

// Failure reports an event that was not written to a table.
type Failure struct {
	Index   int    // index of the event in the slice passed to WriteAll; 0 for Write
	Table   string // with its prefix
	Row     string // row key; empty for a refused event
	Outcome Outcome
	Err     error
}

// String describes the failure on one line.
func (f Failure) String() string {
	if f.Outcome == Refused {
		return fmt.Sprintf("event %d, table %s: %v", f.Index, f.Table, f.Err)
	}
	return fmt.Sprintf("event %d, table %s, row %q (%s): %v", f.Index, f.Table, f.Row, f.Outcome, f.Err)
}

// WriteError reports the events of one call that were not written, once for each row
// that failed. Every other event is durable in every table.
type WriteError struct {
	Events   int // number of events in the call
	Failures []Failure
}

// shownFailures is how many failures an error describes.
const shownFailures = 3

// Error returns the number of failed events and describes a few failures, of different causes if there
// are several.
func (e *WriteError) Error() string {
	events := map[int]bool{}
	for _, f := range e.Failures {
		events[f.Index] = true
	}
	s := fmt.Sprintf("%d of %d events not written", len(events), e.Events)
	if e.Events == 1 {
		s = "event not written"
	}
	shown := e.shown()
	for _, i := range shown {
		s += "; " + e.Failures[i].String()
	}
	if more := len(e.Failures) - len(shown); more > 0 {
		s += fmt.Sprintf("; and %d more", more)
	}
	return s
}

// shown returns the indexes of the failures that Error describes, in order: the first of each cause, and
// then the first of all.
func (e *WriteError) shown() (indexes []int) {
	causes := map[string]bool{}
	for i := 0; i < len(e.Failures) && len(indexes) < shownFailures; i++ {
		if cause := rootOf(e.Failures[i].Err).Error(); !causes[cause] {
			causes[cause], indexes = true, append(indexes, i)
		}
	}
	for i := 0; i < len(e.Failures) && len(indexes) < shownFailures; i++ {
		if !slices.Contains(indexes, i) {
			indexes = append(indexes, i)
		}
	}
	slices.Sort(indexes)
	return indexes
}

// rootOf returns the error at the end of a chain, which does not contain what is particular to an event.
func rootOf(err error) error {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err
}

// Unwrap returns the errors of the failures, for errors.Is and errors.As.
func (e *WriteError) Unwrap() []error {
	errs := make([]error, len(e.Failures))
	for i, f := range e.Failures {
		errs[i] = f.Err
	}
	return errs
}
