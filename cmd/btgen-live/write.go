package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"cloud.google.com/go/bigtable"
	"golang.org/x/sync/semaphore"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// writeEvents writes the events of a file.
func writeEvents(_ context.Context, r *request) error {
	if err := r.load(); err != nil {
		return err
	}
	layout := r.schema.Layout()
	name, in, err := r.openInput()
	if err != nil {
		return err
	}
	defer in.Close()
	f, err := r.inputFormat(in, name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	reader, err := f.Read(in, layout, r.reader)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	l := newLoading(r, name)
	ctx, err := l.connect()
	if err == nil && r.reader.Partial {
		reader, err = format.NewJoiner(reader, layout, r.reader, r.unmerged == nil)
	}
	if err != nil {
		return err
	}
	err = l.run(ctx, reader)
	l.progress.end()
	if err == nil {
		l.others = reader.Skipped()
		joined := reader.Replaced()
		l.replaced.Events += joined.Events
		l.replaced.Line, l.replaced.Before = cmp.Or(l.replaced.Line, joined.Line), cmp.Or(l.replaced.Before, joined.Before)
	}
	return l.finish(ctx, err)
}

// loading writes the events of an input in batches, one at a time, so that the lines before
// one that is not written are all written.
type loading struct {
	*request
	input    string // its name
	progress *meter
	begun    time.Time
	write    func(ctx context.Context, events []dynamic.Event) error

	memory *semaphore.Weighted // bytes of the events of the batch and of those that wait for one
	batch  []record            // is being filled: records that are written or reported together
	bytes  int                 // of the batch, about

	line     int // all lines up to this one are written or reported
	events   int // written
	reported int // lines
	others   int // lines of other metrics than that to read

	toContinue string // what to do to continue, if that is not only to repeat the command

	cut        int                 // events whose times are not multiples of precision
	cutLine    int                 // of the first of them
	identities *format.Identities  // of the events that are written
	replaced   format.Replacements // of events by others

	mu      sync.Mutex
	expired map[string]int // events that were skipped, by table
}

// newLoading returns a loading of a file.
func newLoading(r *request, input string) *loading {
	return &loading{
		request: r, input: input, progress: newMeter(r.cmd), begun: time.Now(), memory: semaphore.NewWeighted(memoryBytes),
		line: r.fromLine - 1, identities: format.NewIdentities(r.schema.Layout()), expired: map[string]int{},
	}
}

// connect connects a loading to the instance, or to a rehearsal of a dry run.
func (l *loading) connect() (context.Context, error) {
	o := store.WriterOptions{TablePrefix: l.prefix, Timeout: l.timeout, KeepWrittenAt: true, SkipExpired: l.skipExpired}
	o.Hooks.End = l.ended
	if l.dryRun {
		ctx := l.interruptible()
		var err error
		l.write, err = l.rehearse(ctx, o)
		return ctx, err
	}
	ctx, err := l.request.connect()
	if err != nil {
		return ctx, err
	}
	l.write = l.writeAll(ctx, l.schema.NewWriter(l.client, o))
	return ctx, nil
}

// writeAll returns a function that writes events. With --merge, they keep what is stored of the fields that they lack; in tables that
// do not support it, events of the file alone are joined.
func (r *request) writeAll(ctx context.Context, w *dynamic.Writer) func(ctx context.Context, events []dynamic.Event) error {
	o := store.WriteOptions{LastWins: true, Merge: r.reader.Partial}
	if refused, is := errors.AsType[*store.MergeError](w.WriteAll(ctx, nil, o)); is {
		r.unmerged, o.Merge = refused, false
	}
	return func(ctx context.Context, events []dynamic.Event) error { return w.WriteAll(ctx, events, o) }
}

// record is an event of the input, or an error.
type record struct {
	event dynamic.Event
	bytes int // that the event takes of the memory; all of it for a larger one, which has to be alone
	line  int
	err   error
}

const (
	batchEvents = 5000                   // maximum number of events of a batch
	batchBytes  = 16 << 20               // size of the events at which a batch is written
	memoryBytes = 4 * batchBytes         // maximum size of the events in memory, apart from the last
	batchAge    = 500 * time.Millisecond // after which a batch is written if no more events arrive
)

// errTooMany ends a loading with too many errors.
var errTooMany = errors.New("too many errors")

// run writes the events of a reader until its end, or until ctx ends.
func (l *loading) run(ctx context.Context, in format.Reader) error {
	records := make(chan record, batchEvents) // so that the next batch is read while one is written
	reading, quit := context.WithCancel(context.WithoutCancel(ctx))
	defer quit()
	go produce(reading, in, l.memory, records)
	// What is being written is completed: then it is known which lines are written.
	sending := context.WithoutCancel(ctx)
	ticker := time.NewTicker(batchAge)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
			if err := l.flush(sending); err != nil {
				return err
			}
		case r := <-records:
			if r.err == io.EOF {
				return l.flush(sending)
			}
			if err := l.add(sending, r); err != nil {
				return err
			}
		}
	}
}

// produce reads records until the end, or until ctx ends.
func produce(ctx context.Context, in format.Reader, memory *semaphore.Weighted, records chan<- record) {
	for {
		e, line, err := in.Next()
		bytes := 0
		if err == nil {
			bytes = min(format.Bytes(&e), memoryBytes)
		}
		if memory.Acquire(ctx, int64(bytes)) != nil {
			return
		}
		select {
		case records <- record{e, bytes, line, err}:
		case <-ctx.Done():
			return
		}
		if _, ok := errors.AsType[*format.InputError](err); err != nil && !ok {
			return
		}
	}
}

// add adds a record to the batch.
func (l *loading) add(ctx context.Context, r record) error {
	_, refused := errors.AsType[*format.InputError](r.err)
	switch {
	case r.err != nil && !refused:
		l.toContinue = "mend the input, and repeat the command"
		return errors.Join(fmt.Errorf("%s: %w", l.input, r.err), l.flush(ctx))
	case r.line < l.fromLine:
		l.memory.Release(int64(r.bytes))
		return nil
	}
	l.batch, l.bytes = append(l.batch, r), l.bytes+r.bytes
	if len(l.batch) < batchEvents && l.bytes < batchBytes {
		return nil
	}
	return l.flush(ctx)
}

// flush writes the batch, and reports its lines.
func (l *loading) flush(ctx context.Context) error {
	batch := l.batch
	var events []dynamic.Event
	var of []*record
	for i := range batch {
		if r := &batch[i]; r.err == nil {
			events, of = append(events, r.event), append(of, r)
		}
	}
	if len(events) > 0 {
		err := l.write(ctx, events)
		l.memory.Release(int64(l.bytes))
		if err := l.refuse(err, of); err != nil {
			return err
		}
	}
	l.batch, l.bytes = batch[:0], 0
	for i := range batch {
		if err := l.end(&batch[i]); err != nil {
			return err
		}
	}
	l.progress.show(func() string {
		return rateText(l.events, l.begun) + fmt.Sprintf(", line %s", words.Number(float64(l.line)))
	})
	return nil
}

// refuse sets the errors of the events of a batch that the tables have refused. It returns other errors: if Bigtable did not store
// events, all lines before the first of those that were not written are.
func (l *loading) refuse(err error, of []*record) error {
	failed, ok := errors.AsType[*store.WriteError](err)
	if !ok {
		return err
	}
	first, broken := len(of), false
	for _, f := range failed.Failures {
		first, broken = min(first, f.Index), broken || f.Outcome != store.Refused
		if r := of[f.Index]; r.err == nil {
			r.err = fmt.Errorf("%d:1: %w", r.line, rangeError(f.Err, r.event.Time))
		}
	}
	if broken {
		l.events += first
		l.line = of[first].line - 1
		return failed
	}
	return nil
}

// end counts the event of a record that was written, or reports its line. It returns errTooMany after too many.
func (l *loading) end(r *record) error {
	if r.err != nil {
		l.progress.end()
		if err := l.say(fmt.Sprintf("%s:%v\n", words.Printable(l.input), r.err), false); err != nil {
			return err
		}
		l.line = r.line
		if l.reported++; l.reported == l.maxErrors {
			return errTooMany
		}
		return nil
	}
	l.events, l.line = l.events+1, r.line
	if at := r.event.Time; !codec.Truncate(at, l.schema.Layout().Precision).Equal(at) {
		if l.cut++; l.cut == 1 {
			l.cutLine = r.line
		}
	}
	if before, replaces := l.identities.Add(&r.event, r.line); replaces {
		l.replaced.Add(r.line, before)
	}
	return nil
}

// rangeError says why a time before 1970, or soon after, is refused.
func rangeError(err error, at time.Time) error {
	if errors.Is(err, codec.ErrTimeRange) && at.Year() <= 1970 {
		return fmt.Errorf("%w: no row can have a time before 1970, or in a bucket that begins before it", err)
	}
	return err
}

// ended counts the events that the writer skipped.
func (l *loading) ended(_ context.Context, op store.Operation, _ error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if op.Expired > 0 {
		l.expired[op.Table] += op.Expired
	}
}

// finish prints how many events are written. err is why the loading ended early, if it did.
func (l *loading) finish(ctx context.Context, err error) error {
	since := map[bool]string{true: fmt.Sprintf(" from line %d on", l.fromLine)}[l.fromLine > 1]
	if err != nil {
		text := "nothing is written"
		if l.line >= l.fromLine {
			text = fmt.Sprintf("all lines up to %d are written or reported, %s%s", l.line, countOf(l.events, "event"), cmp.Or(since, " in total"))
		}
		if ctx.Err() != nil {
			err = errors.New("interrupted")
		}
		if errors.Is(err, format.ErrScattered) || errors.Is(err, format.ErrFar) { // its point begins at its first line
			return fmt.Errorf("%w: %s; then repeat the command from the first line", err, text)
		}
		return fmt.Errorf("%w: %s; %s with --from-line %d", err, text, cmp.Or(l.toContinue, "to continue, repeat the command"), l.line+1)
	}
	notes := []string{countOf(l.events, "event") + map[bool]string{false: " written", true: " would be written"}[l.dryRun] + since}
	note := func(n int, noun, format string, args ...any) {
		if n > 0 {
			notes = append(notes, countOf(n, noun)+" "+fmt.Sprintf(format, args...))
		}
	}
	if l.unmerged != nil {
		notes = append(notes, fmt.Sprintf("stored events replaced as a whole, since table %s cannot keep fields (%s)", l.unmerged.Table, l.unmerged.Reason))
	}
	note(l.reported, "line", "reported")
	note(l.others, "line", "of other metrics skipped")
	others, advice := "others", " (--merge joins their fields)"
	if l.reader.Partial {
		others, advice = "or completed others", ""
	}
	r := l.replaced
	note(r.Events, "event", "replaced %s of the same series and time, as that of line %d did with line %d%s", others, r.Line, r.Before, advice)
	if l.cut > 0 {
		notes = append(notes, fmt.Sprintf("times of %s cut to %s, the precision of the schema, as that of line %d",
			countOf(l.cut, "event"), schema.FormatDuration(l.schema.Layout().Precision), l.cutLine))
	}
	for _, table := range slices.Sorted(maps.Keys(l.expired)) {
		note(l.expired[table], "event", "skipped in table %s, where they have expired", table)
	}
	return l.say(strings.Join(notes, "; ")+"\n", l.reported > 0)
}

// rehearse starts an in-memory Bigtable with the tables of the schema, and returns a function that writes events there, prints the cells,
// and deletes them.
func (r *request) rehearse(ctx context.Context, o store.WriterOptions) (func(context.Context, []dynamic.Event) error, error) {
	server, err := storetest.Start(ctx)
	if err != nil {
		return nil, err
	}
	r.closers = append(r.closers, server.Close)
	tables := r.schema.Tables()
	options := setup.Options{TablePrefix: o.TablePrefix, AllowDrafts: true, NoHistory: true}
	if _, err := setup.Setup(ctx, server.Admin, server.Client, tables, options); err != nil {
		return nil, err
	}
	var ids []string
	for _, t := range tables {
		if id := o.TablePrefix + t.ID; !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	write := r.writeAll(ctx, r.schema.NewWriter(server.Client, o))
	return func(ctx context.Context, events []dynamic.Event) error {
		refused := write(ctx, events)
		for _, id := range ids {
			if err := r.showTable(ctx, server.Client.Open(id), id); err != nil {
				return err
			}
			if err := server.Admin.DropAllRows(ctx, id); err != nil {
				return err
			}
		}
		return refused
	}, nil
}

// showTable prints the rows of a table.
func (r *request) showTable(ctx context.Context, table *bigtable.Table, id string) error {
	var failed error
	header := "table " + id + "\n"
	err := table.ReadRows(ctx, bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		failed = r.say(header+rowText(row), false)
		header = ""
		return failed == nil
	})
	return errors.Join(err, failed)
}

// rowText describes a row: its key, and a line for each cell with column, time and value.
func rowText(row bigtable.Row) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, family := range slices.Sorted(maps.Keys(row)) {
		for _, item := range row[family] {
			at := item.Timestamp.Time().UTC().Format(time.RFC3339Nano)
			fmt.Fprintf(w, "    %s\t%s\t%s\n", sample.ShowKey(item.Column), at, sample.ShowKey(string(item.Value)))
		}
	}
	_ = w.Flush() // to memory
	return "  " + sample.ShowKey(row.Key()) + "\n" + b.String()
}
