package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/semaphore"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/compress"
	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
)

// newWrite returns the command write.
func newWrite() *cobra.Command {
	var w writing
	cmd := command("write", w.run)
	w.target.optional(cmd, "app `profile` of the writes")
	w.schemaFlags.flags(cmd, 2)
	w.input.add(cmd)
	w.input.addWritten(cmd)
	cmd.Flags().BoolVar(&w.input.reader.Partial, "merge", false, "join events of one series and time: they have the fields of all of them, and the last value of each")
	cmd.Flags().BoolVar(&w.dryRun, "dry-run", false, "print the cells and write nothing")
	cmd.Flags().Var(number(&w.maxErrors, 1000, 0, 0), "max-errors", "number of reported `lines` after which the command stops; 0 for no limit")
	cmd.Flags().Var(number(&w.fromLine, 1, 1, 0), "from-line", "skip the events before this `line`")
	cmd.Flags().BoolVar(&w.options.SkipExpired, "skip-expired", false, "skip events that are past their time to live, instead of reporting them")
	return cmd
}

// writing are the flags of the command write.
type writing struct {
	target
	schemaFlags
	input               inputFlags
	dryRun              bool
	maxErrors, fromLine int
	options             store.WriterOptions
}

// run writes events.
func (w *writing) run(cmd *cobra.Command, args []string) error {
	if err := w.required(); err != nil && !w.dryRun {
		return err
	}
	schema, _, err := w.load(args[0])
	if err != nil {
		return err
	}
	l := schema.Layout()
	name, in, err := input(cmd, args[1:])
	if err != nil {
		return err
	}
	defer in.Close()
	reader, err := w.input.open(in, name, l)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if w.input.reader.Partial {
		if reader, err = format.NewJoiner(reader, l, w.input.reader); err != nil {
			return err
		}
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	load := &loading{options: w, name: name, out: cmd.OutOrStdout(), progress: newMeter(cmd), begun: time.Now(), line: w.fromLine - 1, precision: l.Precision, identities: format.NewIdentities(l), expired: map[string]int{}}
	end, err := w.connect(ctx, load, schema)
	if err != nil {
		return err
	}
	err = load.run(ctx, stop, reader)
	load.progress.end()
	if r, ok := reader.(skipper); ok {
		load.others = r.Skipped()
	}
	if r, ok := reader.(*format.Joiner); ok && err == nil {
		joined := r.Replaced()
		load.replaced.Events += joined.Events
		load.replaced.Line, load.replaced.Before = cmp.Or(load.replaced.Line, joined.Line), cmp.Or(load.replaced.Before, joined.Before)
	}
	return errors.Join(load.finish(ctx, err), end())
}

// skipper is a reader of a single metric.
type skipper interface{ Skipped() int }

// input returns the input, decompressed, and its name: a file, or stdin.
func input(cmd *cobra.Command, args []string) (string, io.ReadCloser, error) {
	if len(args) == 0 || args[0] == "-" {
		in, err := decompressed(io.NopCloser(cmd.InOrStdin()))
		return "stdin", in, err
	}
	file, err := os.Open(args[0])
	if err != nil {
		return args[0], nil, err
	}
	in, err := decompressed(file)
	if err != nil {
		return args[0], nil, errors.Join(fmt.Errorf("%s: %w", args[0], err), file.Close())
	}
	return args[0], in, nil
}

// decompressed returns the text of an input, or the input itself if it is a file that is not compressed.
func decompressed(in io.ReadCloser) (io.ReadCloser, error) {
	begin := make([]byte, compress.MagicBytes)
	n, err := io.ReadFull(in, begin)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return in, err
	}
	text, err := compress.Decompress(begin[:n], in)
	if err != nil || text != nil {
		return readCloser{text, in}, err
	}
	if file, ok := in.(*os.File); ok {
		if _, err := file.Seek(0, io.SeekStart); err == nil {
			return file, nil
		}
	}
	return readCloser{io.MultiReader(bytes.NewReader(begin[:n]), in), in}, nil
}

// readCloser reads from a reader of what it closes.
type readCloser struct {
	io.Reader
	io.Closer
}

// connect connects a loading to the instance, or to a rehearsal of a dry run. It returns a
// function that ends the connection.
func (w *writing) connect(ctx context.Context, load *loading, schema *dynamic.Schema) (end func() error, err error) {
	o := w.options
	o.TablePrefix, o.Timeout, o.KeepWrittenAt = w.prefix, w.timeout, true
	o.Hooks.End = load.ended
	if w.dryRun {
		r, err := rehearse(ctx, schema, o, load.out)
		if err != nil {
			return nil, err
		}
		load.write = r.write
		return r.server.Close, nil
	}
	client, err := w.target.connect(ctx)
	if err != nil {
		return nil, err
	}
	writer := schema.NewWriter(client, o)
	load.write = func(ctx context.Context, events []dynamic.Event) error {
		return writer.WriteAll(ctx, events, store.WriteOptions{LastWins: true})
	}
	return client.Close, nil
}

// loading writes the events of an input in batches, one at a time, so that the lines before
// one that is not written are all written.
type loading struct {
	options  *writing
	name     string // of the input
	out      io.Writer
	progress *meter
	begun    time.Time
	write    func(ctx context.Context, events []dynamic.Event) error

	memory *semaphore.Weighted // bytes of the events of the batch and of those that wait for one
	next   batch               // is being filled

	line     int // all lines up to this one are written or reported
	events   int // written
	reported int // lines
	others   int // lines of other metrics than that to read

	precision  time.Duration       // of the times that are stored
	cut        int                 // events whose times are not multiples of precision
	cutLine    int                 // of the first of them
	identities *format.Identities  // of the events that are written
	replaced   format.Replacements // of events by others

	mu      sync.Mutex
	expired map[string]int // events that were skipped, by table
}

// batch are events that are written together, and the lines around them that are reported.
type batch struct {
	events  []dynamic.Event
	lines   []int // of the events
	bytes   int   // of the events, about
	reports []report
	last    int // number of the last line
}

// report is a line that is reported.
type report struct {
	line int
	text string
}

// size returns the number of events and reports.
func (b *batch) size() int { return len(b.events) + len(b.reports) }

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

// run writes the events of a reader until its end, or until ctx ends. It then calls stop, so
// that another signal ends the process.
func (l *loading) run(ctx context.Context, stop func(), in format.Reader) error {
	records := make(chan record, batchEvents) // so that the next batch is read while one is written
	reading, quit := context.WithCancel(context.WithoutCancel(ctx))
	defer quit()
	l.memory = semaphore.NewWeighted(memoryBytes)
	go produce(reading, in, l.memory, records)
	defer context.AfterFunc(ctx, stop)()
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

// add adds a record to the next batch.
func (l *loading) add(ctx context.Context, r record) error {
	_, refused := errors.AsType[*format.InputError](r.err)
	switch {
	case r.err != nil && !refused:
		return errors.Join(fmt.Errorf("%s: %w", l.name, r.err), l.flush(ctx))
	case r.line < l.options.fromLine:
		l.memory.Release(int64(r.bytes))
		return nil
	}
	if refused {
		l.next.reports = append(l.next.reports, report{r.line, r.err.Error()})
	} else {
		l.next.events, l.next.lines = append(l.next.events, r.event), append(l.next.lines, r.line)
		l.next.bytes += r.bytes
	}
	if l.next.last = r.line; l.next.size() < batchEvents && l.next.bytes < batchBytes {
		return nil
	}
	return l.flush(ctx)
}

// flush writes the batch, and reports its lines.
func (l *loading) flush(ctx context.Context) error {
	b := l.next
	if b.size() == 0 {
		return nil
	}
	l.next = batch{events: b.events[:0], lines: b.lines[:0]}
	var err error
	if len(b.events) > 0 {
		err = l.write(ctx, b.events)
		l.memory.Release(int64(b.bytes))
	}
	failed, ok := errors.AsType[*store.WriteError](err)
	if err != nil && !ok {
		return err
	}
	reports, refused := b.reports, map[int]bool{}
	if ok {
		for _, f := range failed.Failures {
			if f.Outcome != store.Refused {
				return l.broken(&b, failed)
			}
			if line := b.lines[f.Index]; !refused[line] {
				refused[line] = true
				reports = append(reports, report{line, fmt.Sprintf("%d:1: %v", line, rangeError(f.Err, b.events[f.Index].Time))})
			}
		}
	}
	l.written(&b, refused)
	slices.SortStableFunc(reports, func(a, b report) int { return a.line - b.line })
	for _, r := range reports {
		if err := l.report(r); err != nil {
			return err
		}
	}
	l.line = b.last
	l.progress.show(func() string {
		return rateText(l.events, "event", l.begun) + fmt.Sprintf(", line %s", words.Number(float64(l.line)))
	})
	return nil
}

// written counts the events of a batch but for those of lines that were refused.
func (l *loading) written(b *batch, refused map[int]bool) {
	l.events += len(b.events) - len(refused)
	for i, line := range b.lines {
		if refused[line] {
			continue
		}
		if at := b.events[i].Time; !codec.Truncate(at, l.precision).Equal(at) {
			if l.cut++; l.cut == 1 {
				l.cutLine = line
			}
		}
		if before, replaces := l.identities.Add(&b.events[i], line); replaces {
			l.replaced.Add(line, before)
		}
	}
}

// rangeError says why a time before 1970, or soon after, is refused.
func rangeError(err error, at time.Time) error {
	if errors.Is(err, codec.ErrTimeRange) && at.Year() <= 1970 {
		return fmt.Errorf("%w: no row can have a time before 1970, or in a bucket that begins before it", err)
	}
	return err
}

// broken ends the loading because Bigtable did not store events: all lines before the first
// of them are written.
func (l *loading) broken(b *batch, failed *store.WriteError) error {
	first := len(b.events)
	for _, f := range failed.Failures {
		first = min(first, f.Index)
	}
	l.events += first
	l.line = b.lines[first] - 1
	return failed
}

// report prints a report. It returns errTooMany after too many.
func (l *loading) report(r report) error {
	l.progress.end()
	if _, err := fmt.Fprintf(l.out, "%s:%s\n", words.Printable(l.name), r.text); err != nil {
		return err
	}
	l.line = r.line
	if l.reported++; l.reported == l.options.maxErrors {
		return errTooMany
	}
	return nil
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
	since := map[bool]string{true: fmt.Sprintf(" from line %d on", l.options.fromLine)}[l.options.fromLine > 1]
	if err != nil {
		text := "nothing is written"
		if l.line >= l.options.fromLine {
			text = fmt.Sprintf("all lines up to %d are written or reported, %s%s", l.line, countOf(l.events, "event"), cmp.Or(since, " in total"))
		}
		if ctx.Err() != nil {
			err = errors.New("interrupted")
		}
		return fmt.Errorf("%w: %s; to continue, repeat the command with --from-line %d", err, text, l.line+1)
	}
	notes := []string{countOf(l.events, "event") + map[bool]string{false: " written", true: " would be written"}[l.options.dryRun] + since}
	note := func(n int, noun, format string, args ...any) {
		if n > 0 {
			notes = append(notes, countOf(n, noun)+" "+fmt.Sprintf(format, args...))
		}
	}
	note(l.reported, "line", "reported")
	note(l.others, "line", "of other metrics skipped")
	others, advice := "others", " (--merge joins their fields)"
	if l.options.input.reader.Partial {
		others, advice = "values of others", ""
	}
	r := l.replaced
	note(r.Events, "event", "replaced %s of the same series and time, as that of line %d did with line %d%s", others, r.Line, r.Before, advice)
	if l.cut > 0 {
		notes = append(notes, fmt.Sprintf("times of %s cut to %s, the precision of the schema, as that of line %d", countOf(l.cut, "event"), schema.FormatDuration(l.precision), l.cutLine))
	}
	for _, table := range slices.Sorted(maps.Keys(l.expired)) {
		note(l.expired[table], "event", "skipped in table %s, where they have expired", table)
	}
	if _, err := fmt.Fprintln(l.out, strings.Join(notes, "; ")); err != nil {
		return err
	}
	if l.reported > 0 {
		return cli.ErrFindings
	}
	return nil
}
