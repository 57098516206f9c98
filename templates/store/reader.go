package store

import (
	"context"
	"errors"
	"iter"
	"math"
	"slices"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/templates/codec"
)

// maxRowSet is the size in bytes that the listed row keys of one request are
// kept under; Bigtable takes 512 KiB.
const maxRowSet = 384 << 10

// longRead is longer than a read takes.
const longRead = time.Hour

// maxListed is how many buckets are read key by key without looking first which
// of them there are.
const maxListed = 1000

// Reader reads the events of one table. It is safe for use by several goroutines.
type Reader[E any] struct {
	options Options
	layout  *Layout[E]
	id      string
	api     bigtable.TableAPI
}

// NewReader returns a Reader for a layout.
func NewReader[E any](client Client, layout *Layout[E], opts ...Options) *Reader[E] {
	o := merge(opts)
	id := o.TablePrefix + layout.Table.ID
	return &Reader[E]{options: o, layout: layout, id: id, api: client.OpenTable(id)}
}

// Read yields the events of the series of base with from <= time < to, in the
// order of time, and holds no more than one bucket in memory. An event that
// cannot be decoded is yielded as far as it was understood, with a
// *DecodeError; the caller may go on. Any other error is the last thing yielded.
func (r *Reader[E]) Read(ctx context.Context, base E, from, to time.Time) iter.Seq2[E, error] {
	return func(yield func(E, error) bool) {
		op := Operation{Name: "Read", Table: r.id}
		ctx := r.options.Hooks.start(ctx, &op)
		var failed error
		defer func() { r.options.Hooks.end(ctx, &op, failed) }()
		for event, err := range r.scan(ctx, &op, base, from, to) {
			if err != nil {
				failed = err
			} else {
				op.Events++
			}
			if !yield(event, err) {
				return
			}
		}
	}
}

// Latest returns the newest event of the series of base, or ErrNotFound.
func (r *Reader[E]) Latest(ctx context.Context, base E) (event E, err error) {
	op := Operation{Name: "Latest", Table: r.id}
	ctx = r.options.Hooks.start(ctx, &op)
	defer func() { r.options.Hooks.end(ctx, &op, err) }()
	prefixes, err := r.layout.Prefixes(&base)
	if err != nil {
		return event, err
	}
	event, err = r.latest(ctx, &op, base, prefixes)
	if err == nil {
		op.Events = 1
	}
	return event, err
}

// scan is Read without its hooks.
func (r *Reader[E]) scan(ctx context.Context, op *Operation, base E, from, to time.Time) iter.Seq2[E, error] {
	return func(yield func(E, error) bool) {
		prefixes, err := r.layout.Prefixes(&base)
		if err != nil {
			var none E
			yield(none, err)
			return
		}
		now := r.options.Now()
		if since, bounded := r.layout.Table.since(now); bounded {
			from = later(from, since)
		}
		if !from.Before(to) {
			return
		}
		a := &assembler[E]{layout: r.layout, table: r.id, base: base, from: from, to: to, now: r.options.Now}
		switch r.layout.Kind {
		case SingleRows:
			r.singles(ctx, op, a, prefixes[0], now)(yield)
		case BucketCells:
			r.buckets(ctx, op, a, prefixes[0], now)(yield)
		case BucketColumns:
			r.metrics(ctx, op, a, prefixes, now)(yield)
		}
	}
}

// singles reads a table of one row per event.
func (r *Reader[E]) singles(ctx context.Context, op *Operation, a *assembler[E], prefix string, now time.Time) iter.Seq2[E, error] {
	return func(yield func(E, error) bool) {
		rows, ok := r.layout.TimeKey.Rows(prefix, a.from, a.to)
		filter, alive := r.filter(now, time.Time{}, farFuture, 0)
		if !ok || !alive {
			return
		}
		for row, err := range r.rows(ctx, op, rows, bigtable.RowFilter(filter)) {
			if err != nil {
				yield(a.base, err)
				return
			}
			if !a.single(row, prefix, yield) {
				return
			}
		}
	}
}

// buckets reads a table of one row per bucket.
func (r *Reader[E]) buckets(ctx context.Context, op *Operation, a *assembler[E], prefix string, now time.Time) iter.Seq2[E, error] {
	return func(yield func(E, error) bool) {
		filter, alive := r.filter(now, a.from, a.to, 0)
		if !alive {
			return
		}
		for row, err := range r.bucketRows(ctx, op, prefix, a.from, a.to, filter) {
			if err != nil {
				yield(a.base, err)
				return
			}
			if !a.cells(row, prefix, yield) {
				return
			}
		}
	}
}

// bucketRows yields the rows of the buckets that overlap [from, to), in the
// order of time.
func (r *Reader[E]) bucketRows(ctx context.Context, op *Operation, prefix string, from, to time.Time, filter bigtable.Filter) iter.Seq2[bigtable.Row, error] {
	return func(yield func(bigtable.Row, error) bool) {
		b := r.layout.Bucket
		if !b.Sorted() && b.Count(from, to) > maxListed {
			stored, err := r.stored(ctx, op, prefix, filter)
			if err != nil {
				yield(nil, err)
				return
			}
			if stored.newestKey == "" {
				return
			}
			from, to = later(from, stored.oldest), earlier(to, b.End(stored.newest))
		}
		for rows := range b.Rows(prefix, from, to, maxRowSet) {
			for row, err := range r.rows(ctx, op, rows, bigtable.RowFilter(filter)) {
				if !yield(row, err) || err != nil {
					return
				}
			}
		}
	}
}

// metrics reads a table of one row per bucket and metric: a stream for each
// metric, all at once, brought together bucket by bucket.
func (r *Reader[E]) metrics(ctx context.Context, op *Operation, a *assembler[E], prefixes []string, now time.Time) iter.Seq2[E, error] {
	return func(yield func(E, error) bool) {
		filter, alive := r.filter(now, a.from, a.to, 0)
		if !alive {
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		streams := make([]*stream, len(prefixes))
		for i, prefix := range prefixes {
			streams[i] = startStream(ctx, func(op *Operation) iter.Seq2[bigtable.Row, error] {
				return r.bucketRows(ctx, op, prefix, a.from, a.to, filter)
			})
		}
		defer func() {
			cancel()
			for _, s := range streams {
				s.wait(op)
			}
		}()
		for {
			rows, err := nextBucket(streams, func(i int, row bigtable.Row) (time.Time, error) {
				return a.bucketOf(row, prefixes[i])
			})
			if err != nil {
				if !yield(a.base, err) || !isDecodeError(err) {
					return
				}
				continue
			}
			if rows == nil || !a.columns(rows, yield) {
				return
			}
		}
	}
}

// filter returns the filter of a read of [from, to): of each family the cells
// that garbage collection would have left. The time range comes first and a
// limit to the newest cells last, since the other way round loses cells. It
// reports false if no cell can be alive.
func (r *Reader[E]) filter(now, from, to time.Time, newest int) (bigtable.Filter, bool) {
	var names []string
	var windows [][]codec.Window
	for _, f := range r.layout.Table.Families {
		end := to
		if f.Life.Retention.Turns(now, from, to, longRead) {
			// What grows too old during the read is alive by its rank, if at
			// all: the cells after the range must be there to be counted.
			end = farFuture
		}
		w := f.Life.Windows(now, from, end)
		same := slices.IndexFunc(windows, func(other []codec.Window) bool { return slices.Equal(w, other) })
		switch {
		case len(w) == 0:
		case same >= 0:
			names[same] += "|" + quote(f.Name)
		default:
			names, windows = append(names, quote(f.Name)), append(windows, w)
		}
	}
	if len(names) == 0 {
		return nil, false
	}
	branches := make([]bigtable.Filter, len(names))
	for i := range names {
		branches[i] = chain(bigtable.FamilyFilter(names[i]), windowsFilter(windows[i]))
	}
	out := interleave(branches...)
	if newest > 0 {
		out = chain(out, bigtable.LatestNFilter(newest))
	}
	return out, true
}

// windowsFilter returns the filter for the windows of a family; nil if they do
// not limit anything.
func windowsFilter(windows []codec.Window) bigtable.Filter {
	branches := make([]bigtable.Filter, len(windows))
	for i, w := range windows {
		branch, limits := windowFilter(w)
		if !limits {
			return nil
		}
		branches[i] = branch
	}
	return interleave(branches...)
}

// chain applies filters one after the other; a nil filter passes all. The server
// refuses a chain of one.
func chain(a, b bigtable.Filter) bigtable.Filter {
	if b == nil {
		return a
	}
	return bigtable.ChainFilters(a, b)
}

// interleave passes what any of the filters passes. The server refuses to
// interleave one.
func interleave(filters ...bigtable.Filter) bigtable.Filter {
	if len(filters) == 1 {
		return filters[0]
	}
	return bigtable.InterleaveFilters(filters...)
}

// windowFilter returns the filter for one window, and whether it limits
// anything. The newest cells of a column are counted before the time range is
// cut out, for that is how garbage collection counts them.
func windowFilter(w codec.Window) (bigtable.Filter, bool) {
	times := bigtable.TimestampRangeFilterMicros(bigtable.Timestamp(w.From), bigtable.Timestamp(w.To))
	bounded := w.From > 0 || w.To > 0
	switch {
	case w.Versions > 0 && bounded:
		return bigtable.ChainFilters(bigtable.LatestNFilter(w.Versions), times), true
	case w.Versions > 0:
		return bigtable.LatestNFilter(w.Versions), true
	default:
		return times, bounded
	}
}

// quote escapes a family name for the filter, which is a regular expression:
// of the characters that Bigtable allows in a name only the dot means something.
func quote(family string) string {
	out := make([]byte, 0, len(family)+4)
	for i := range len(family) {
		if family[i] == '.' {
			out = append(out, '\\')
		}
		out = append(out, family[i])
	}
	return string(out)
}

// farFuture is later than any event: the end of the year 9999.
var farFuture = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)

// latest finds the newest event. What expires between the request and the look
// at the clock may hide an older one that lives on: then it asks again.
func (r *Reader[E]) latest(ctx context.Context, op *Operation, base E, prefixes []string) (E, error) {
	for {
		event, expired, err := r.newest(ctx, op, base, prefixes)
		if !expired || !errors.Is(err, ErrNotFound) {
			return event, err
		}
	}
}

// newest makes one attempt to find the newest event, and reports whether it left
// out what had expired meanwhile.
func (r *Reader[E]) newest(ctx context.Context, op *Operation, base E, prefixes []string) (event E, expired bool, err error) {
	perColumn := 0
	if r.layout.Kind == BucketCells {
		perColumn = 1
	}
	filter, alive := r.filter(r.options.Now(), time.Time{}, farFuture, perColumn)
	if !alive {
		return event, false, ErrNotFound
	}
	a := &assembler[E]{layout: r.layout, table: r.id, base: base, to: farFuture, now: r.options.Now}
	rows := make([]bigtable.Row, len(prefixes))
	for i, prefix := range prefixes {
		if rows[i], err = r.newestRow(ctx, op, prefix, filter); err != nil {
			return event, false, err
		}
	}
	if r.layout.Kind == BucketColumns {
		err := keepNewest(rows, func(i int) (time.Time, error) { return a.bucketOf(rows[i], prefixes[i]) })
		if err != nil {
			return event, false, err
		}
	}
	event, err = a.last(rows, prefixes)
	return event, a.expired, err
}

// newestRow returns the row of the newest bucket or event with the prefix that
// has a cell which passes the filter; nil if there is none.
func (r *Reader[E]) newestRow(ctx context.Context, op *Operation, prefix string, filter bigtable.Filter) (bigtable.Row, error) {
	if r.layout.Kind == SingleRows || r.layout.Bucket.Sorted() {
		return r.one(ctx, op, codec.PrefixRows(prefix), bigtable.RowFilter(filter), bigtable.ReverseScan(), bigtable.LimitRows(1))
	}
	// The labels do not sort as time does, so that the newest is not the last.
	stored, err := r.stored(ctx, op, prefix, filter)
	if err != nil || stored.newestKey == "" {
		return nil, err
	}
	return r.one(ctx, op, codec.Rows{Keys: []string{stored.newestKey}}, bigtable.RowFilter(filter))
}

// extent is the oldest and the newest bucket that there are of a series.
type extent struct {
	oldest, newest time.Time // starts
	newestKey      string    // empty if there is none
}

// stored looks which buckets there are with the prefix, one cell of each
// without its value, for tables whose labels do not sort.
func (r *Reader[E]) stored(ctx context.Context, op *Operation, prefix string, filter bigtable.Filter) (extent, error) {
	probe := bigtable.ChainFilters(filter, bigtable.CellsPerRowLimitFilter(1), bigtable.StripValueFilter())
	var out extent
	for row, err := range r.rows(ctx, op, codec.PrefixRows(prefix), bigtable.RowFilter(probe)) {
		if err != nil {
			return extent{}, err
		}
		start, err := r.layout.Bucket.ParseLabel(row.Key()[len(prefix):])
		if err != nil {
			continue // of somebody else
		}
		if out.newestKey == "" || start.After(out.newest) {
			out.newest, out.newestKey = start, row.Key()
		}
		if out.oldest.IsZero() || start.Before(out.oldest) {
			out.oldest = start
		}
	}
	return out, nil
}

// later and earlier return one of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// one returns the first row, or nil if there is none.
func (r *Reader[E]) one(ctx context.Context, op *Operation, rows codec.Rows, opts ...bigtable.ReadOption) (bigtable.Row, error) {
	for row, err := range r.rows(ctx, op, rows, opts...) {
		return row, err
	}
	return nil, nil
}

// rows sends one request and yields its rows. It gives up when no row comes
// within the time-out; the time that the caller takes does not count.
func (r *Reader[E]) rows(ctx context.Context, op *Operation, rows codec.Rows, opts ...bigtable.ReadOption) iter.Seq2[bigtable.Row, error] {
	return func(yield func(bigtable.Row, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		idle := r.options.Timeout
		if idle <= 0 {
			idle = math.MaxInt64
		}
		timer := time.AfterFunc(idle, func() { cancel(errIdle) })
		defer timer.Stop()
		op.Requests++
		stopped := false
		err := r.api.ReadRows(ctx, rowSet(rows), func(row bigtable.Row) bool {
			timer.Stop()
			op.Rows++
			stopped = !yield(row, nil)
			timer.Reset(idle)
			return !stopped
		}, opts...)
		if err != nil && !stopped {
			yield(nil, explain(ctx, err))
		}
	}
}

// rowSet turns rows into what the client takes.
func rowSet(rows codec.Rows) bigtable.RowSet {
	if rows.Keys != nil {
		return bigtable.RowList(rows.Keys)
	}
	return bigtable.NewRange(rows.Start, rows.End)
}
