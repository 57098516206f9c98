package window

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Options say which windows a fold yields, and how it tells series apart. Series are pointers, of
// type *S of the [Spec].
type Options struct {
	Fill Fill
	// Limit is the largest number of windows; 0 for no limit.
	Limit int
	// NewestFirst yields the windows of each series in reverse order. The fold then holds the windows of one series.
	NewestFirst bool
	// Descending says that [Fold.AddWindow] adds the windows of each series from the newest to the
	// oldest one. Fill is then FillNone or FillNull, there is one series or one group, and windows are
	// yielded after [Fold.Passed] and, with Steps, when the last values before them are known.
	Descending bool
	// Steps adds to the increase of each window of a series the step from its last value before the window,
	// so that the increases of adjacent windows add up to that of all of them.
	Steps bool
	// Since is the time of the first event that is added for the steps into the first windows, if that is
	// before the range: these events are in one window, which is not yielded; zero for none.
	Since time.Time
	// Group clears the values of a series by which series are not grouped. The fold then holds all
	// windows. If it is nil, each series has windows of its own.
	Group func(series any)
	// Cells divides windows into cells, from one multiple of it to the next, whose statistics are added up
	// in order of time; 0 for no cells. Sums of floating-point numbers depend on it. Windows are then
	// the same whether the events of a cell are added, or with [Fold.AddCell] their statistics.
	Cells time.Duration
	// Scattered says that the events of a series do not follow each other. The fold then holds all
	// windows, and yields them at the end, by series.
	Scattered bool
	// ID appends text that differs between different series.
	ID func(dst []byte, series any) []byte
	// Clone returns a copy that shares nothing with the series.
	Clone func(series any) any
}

// ErrOrder is the error for events of a series that are not in order of time.
var ErrOrder = errors.New("events are not in order of time")

// Fold summarizes events, batch by batch. It holds one open window, and more only where [Options] say so.
type Fold struct {
	spec    *Spec
	width   Width
	bounds  span
	options Options
	yield   func(w *Summary) bool

	now      *series            // whose events are being folded
	spare    *series            // one that has ended, for the next one; nil if there is none
	nowID    []byte             // of now
	id       []byte             // memory of another one
	byID     map[string]*series // if they are scattered or grouped
	all      []*series          // these, in the order in which they came
	zero     *Summary           // a window without events
	yielded  int
	finished bool // the caller wants no more
	seen     bool // a series has windows

	target  *series // whose windows are yielded, if they descend; nil before the first one
	falling []*held // windows that are not yielded yet, if they descend, from the newest one
}

// held is a window that is not yielded yet.
type held struct {
	window *Summary
	open   int // number of fields, by series, whose last value before the window is not known yet
}

// value is the last value of a field of a series before the next window or, if windows descend, the first
// one after it.
type value struct {
	window *Summary
	to     *held // whose increase begins with the value; nil if windows ascend
	doubt  bool  // there may be others between it and the next window, if windows ascend
}

// series are the windows of one series, or of a group of series. Windows are pointers.
type series struct {
	of     any
	open   *Summary
	window span       // of open; zero if none is open
	part   *Summary   // of open: the events of a cell; nil if there are no cells
	cell   span       // of part; zero if none is open
	doubt  span       // what is left of the range of [Fold.Doubt]
	closed []*Summary // windows that are not yielded yet
	some   bool       // it has windows in the range
	low    time.Time  // start of the last window that was yielded, if they descend
	prev   *Summary   // the last window with events that was yielded, to fill others; nil if there is none
	values []value    // of each part; nil without Options.Steps
	last   *Summary   // that of all values, if windows ascend; nil before the first one
}

// Start returns a fold of events with from <= time < to, which calls yield with each window, which is valid until
// yield returns, until that returns false. A zero from precedes all events: windows without events before the first
// one with events are then not yielded. The error wraps [ErrWidth] or [ErrFill].
func (s *Spec) Start(width Width, from, to time.Time, o Options, yield func(w *Summary) bool) (*Fold, error) {
	if err := width.Check(); err != nil {
		return nil, err
	}
	if o.Fill < FillNone || o.Fill > FillLinear {
		return nil, fmt.Errorf("%w: it is %d", ErrFill, o.Fill)
	}
	return &Fold{spec: s, width: width, bounds: span{from, to}, options: o, yield: yield, byID: map[string]*series{}, zero: s.new()}, nil
}

// SetCells changes the width of cells from now on; see Options. Both widths must divide the time of the next event.
func (f *Fold) SetCells(every time.Duration) { f.options.Cells = every }

// Add folds a batch of events of one series, in order of time. It returns false if no
// more events are wanted. The error wraps [ErrOrder].
func (f *Fold) Add(of any, events Slices) (more bool, err error) {
	s := f.enter(of)
	times := events.times()
	for begin := 0; begin < len(times) && !f.finished; {
		if err := f.openAt(s, times[begin]); err != nil {
			return false, err
		}
		end := begin + until(times[begin:], s.window.end)
		if f.options.Cells > 0 {
			f.addCells(s, events, begin, end)
		} else {
			f.closeCell(s) // of before [Fold.SetCells]
			f.spec.add(s.open, events, begin, end)
		}
		s.open.common.Events += int64(end - begin)
		begin = end
	}
	return !f.finished, nil
}

// add adds events to the statistics of a window.
func (s *Spec) add(w *Summary, events Slices, begin, end int) {
	times := events.times()[begin:end]
	for i := range s.parts {
		p := &s.parts[i]
		p.add(w.fields[p.at], times, events[p.slice], begin, end)
	}
}

// addCells adds events to the open window, cell by cell.
func (f *Fold) addCells(s *series, events Slices, begin, end int) {
	for times := events.times(); begin < end; {
		if !s.cell.holds(times[begin]) {
			f.closeCell(s)
			s.cell = Every(f.options.Cells).at(times[begin], f.bounds)
			if s.part == nil {
				s.part = f.spec.new()
			}
		}
		last := begin + until(times[begin:end], s.cell.end)
		f.spec.add(s.part, events, begin, last)
		begin = last
	}
}

// closeCell adds the open cell of a series to its window.
func (f *Fold) closeCell(s *series) {
	if s.cell.none() {
		return
	}
	f.spec.follow(s.open, s.part)
	f.spec.assign(s.part, f.zero)
	s.cell = span{}
}

// follow adds the statistics of a later window of the same series.
func (s *Spec) follow(to, later *Summary) {
	for i := range s.parts {
		p := &s.parts[i]
		p.follow(to.fields[p.at], later.fields[p.at])
	}
}

// Holds reports whether a cell is in one window and in the range that is read.
func (f *Fold) Holds(start, end time.Time) bool {
	return !start.Before(f.begin()) && !end.After(f.bounds.end) && !f.at(start).end.Before(end)
}

// begin returns the time of the first event that is added.
func (f *Fold) begin() time.Time {
	if f.options.Since.IsZero() {
		return f.bounds.start
	}
	return f.options.Since
}

// at returns the window that holds a time.
func (f *Fold) at(t time.Time) span {
	if begin := f.begin(); t.Before(f.bounds.start) && !t.Before(begin) {
		return span{begin, f.bounds.start}
	}
	return f.width.at(t, f.bounds)
}

// precedes reports whether a window precedes the range.
func (f *Fold) precedes(end time.Time) bool {
	return !f.options.Since.IsZero() && !end.After(f.bounds.start)
}

// Cuts reports whether windows around a time divide cells of a width, which divide time as [Every] does.
func (f *Fold) Cuts(cell time.Duration, around time.Time) bool {
	if f.width.whole {
		return false
	}
	w := f.width.at(around, f.bounds)
	return !OnGrid(cell, w.start) || !OnGrid(cell, w.end)
}

// OnGrid reports whether a cell of a width begins at a time, if cells divide time as [Every] does.
func OnGrid(cell time.Duration, at time.Time) bool { return Every(cell).fixed(at).Equal(at) }

// AddCell adds the statistics of a cell that [Fold.Holds]: w has the start and the end of the
// cell, and is not kept. The series may be nil, for that of the last call. The events of the cell must not be added, too. It returns false if no more are wanted.
// The error wraps [ErrOrder].
func (f *Fold) AddCell(of any, w *Summary) (more bool, err error) {
	s, c := f.enter(of), w.common
	if err := f.openAt(s, c.Start); err != nil {
		return false, err
	}
	f.closeCell(s)
	f.spec.follow(s.open, w)
	to := s.open.common
	to.Events += c.Events
	to.Inexact = to.Inexact || c.Inexact
	return !f.finished, nil
}

// Doubt marks as inexact all windows of a series with times from <= time < to, which must be in the range that is
// read, whether or not they have events. add adds the events and cells of the series in that range; it may be
// nil. Doubt returns false if no more are wanted. The error wraps [ErrOrder], or is that of add.
func (f *Fold) Doubt(of any, from, to time.Time, add func() (more bool, err error)) (more bool, err error) {
	if !from.Before(to) {
		return !f.finished, nil
	}
	s := f.enter(of)
	s.doubt = span{from, to}
	if err := f.doubtUntil(s, from); err != nil {
		return false, err
	}
	if add != nil {
		if more, err := add(); !more || err != nil {
			return more, err
		}
	}
	err = f.doubtUntil(s, to.Add(-1))
	s.doubt = span{}
	return !f.finished && err == nil, err
}

// doubtUntil marks windows that are in doubt, up to the one that holds a time.
func (f *Fold) doubtUntil(s *series, at time.Time) error {
	for s.doubt.start.Before(s.doubt.end) && !s.doubt.start.After(at) && !f.finished {
		if err := f.open(s, s.doubt.start); err != nil {
			return err
		}
		s.open.common.Inexact = true
		s.doubt.start = s.window.end
	}
	return nil
}

// Flag marks the window with a time as one that lacks an event of a series, which cannot be decoded. If the time
// precedes the window that is open, that one lacks it.
func (f *Fold) Flag(of any, at time.Time) error {
	s := f.enter(of)
	if !at.Before(s.window.start) {
		if err := f.openAt(s, at); err != nil {
			return err
		}
	}
	s.open.common.Undecodable++
	return nil
}

// Enter ends the series before another one, whose windows follow, as its first event would. It
// returns false if no more are wanted.
func (f *Fold) Enter(of any) (more bool) {
	f.enter(of)
	return !f.finished
}

// AddWindow adds a window that another fold has yielded, which had no options but functions. The fold keeps it. The windows of a series must follow each other, in order. They have their steps
// already, unless they descend. It returns false if no more are wanted.
func (f *Fold) AddWindow(w *Summary) (more bool) {
	s, c := f.enter(w.series), w.common
	if f.options.Descending {
		f.fall(s, w)
		return !f.finished
	}
	s.open, s.window = w, span{c.Start, c.End}
	f.name(w, s.of, s.window)
	f.closed(s)
	return !f.finished
}

// openAt opens the window of a series that holds a time, unless it is open.
func (f *Fold) openAt(s *series, at time.Time) error {
	if s.window.holds(at) {
		return nil
	}
	if err := f.doubtUntil(s, at); err != nil {
		return err
	}
	return f.open(s, at)
}

// open is openAt for a window that is not in doubt.
func (f *Fold) open(s *series, at time.Time) error {
	if s.window.holds(at) {
		return nil
	}
	if at.Before(s.window.start) {
		return fmt.Errorf("%w: %s comes after %s", ErrOrder, at.Format(time.RFC3339Nano), s.window.start.Format(time.RFC3339Nano))
	}
	f.close(s)
	s.window = f.at(at)
	if !s.window.holds(at) {
		s.window = span{}
		return fmt.Errorf("%w: %s is outside the range that is read", ErrOrder, at.Format(time.RFC3339Nano))
	}
	return nil
}

// until returns the number of leading times before end. Most often, it is all of them.
func until(times []time.Time, end time.Time) int {
	if n := len(times); times[n-1].Before(end) {
		return n
	}
	n, _ := slices.BinarySearchFunc(times, end, time.Time.Compare)
	return n
}

// enter makes the series of the next events current: that of the last ones if it is nil.
func (f *Fold) enter(of any) *series {
	if of == nil {
		return f.now
	}
	f.id = f.options.ID(f.id[:0], of)
	if f.now != nil && bytes.Equal(f.nowID, f.id) {
		return f.now
	}
	f.nowID, f.id = f.id, f.nowID
	f.leave()
	if f.options.Scattered || f.options.Descending {
		f.now = f.known(f.nowID, of)
	} else {
		f.now = f.newSeries(of)
	}
	return f.now
}

func (f *Fold) newSeries(of any) *series {
	s := f.spare
	if f.spare = nil; s == nil {
		s = &series{open: f.spec.new()}
		if f.options.Steps {
			s.values = make([]value, len(f.spec.parts))
		}
	}
	clear(s.values)
	*s = series{of: f.options.Clone(of), open: s.open, part: s.part, values: s.values, last: s.last}
	return s
}

// known returns the series or the group with an ID.
func (f *Fold) known(id []byte, of any) *series {
	s := f.byID[string(id)]
	if s == nil {
		s = f.newSeries(of)
		f.byID[string(id)] = s
		f.all = append(f.all, s)
	}
	return s
}

// leave ends the current series.
func (f *Fold) leave() {
	s := f.now
	f.now = nil
	if s == nil || f.finished || f.options.Scattered || f.options.Descending {
		return
	}
	f.close(s)
	if f.options.Group == nil {
		f.end(s)
	}
	if !f.holds() {
		f.spare = s // its windows are empty again
	}
}

// close closes the open window of a series.
func (f *Fold) close(s *series) {
	if s.window.none() {
		return
	}
	f.closeCell(s)
	f.name(s.open, s.of, s.window)
	f.step(s)
	f.closed(s)
}

// step adds to the open window of a series the steps from the last values before it.
func (f *Fold) step(s *series) {
	c := s.open.common
	doubt := c.Inexact
	for i := range s.values {
		p, v := &f.spec.parts[i], &s.values[i]
		switch {
		case p.step == nil:
			continue
		case !p.has(s.open.fields[p.at]):
			v.doubt = v.doubt || doubt
			continue
		case v.window == nil:
			if s.last == nil {
				s.last = f.spec.new()
			}
			v.window = s.last
		default:
			p.step(s.open.fields[p.at], v.window.fields[p.at], s.open.fields[p.at])
		}
		c.Inexact = c.Inexact || v.doubt
		p.copy(v.window.fields[p.at], s.open.fields[p.at])
		v.doubt = doubt
	}
}

// fall adds a window to those of a series that descend.
func (f *Fold) fall(s *series, w *Summary) {
	c := w.common
	doubt, to := c.Inexact, &held{window: w}
	if !f.precedes(c.End) {
		to = f.hold(s, w)
	}
	for i := range s.values {
		p, v := &f.spec.parts[i], &s.values[i]
		if p.step == nil {
			continue
		}
		if v.to != nil && doubt {
			v.to.window.common.Inexact = true
		}
		if !p.has(w.fields[p.at]) {
			continue
		}
		if v.to != nil {
			p.step(v.to.window.fields[p.at], w.fields[p.at], v.window.fields[p.at])
			v.to.open--
		}
		*v = value{window: w, to: to}
		to.open++
	}
}

// hold holds a window of a series, or adds it to that of its group, until it is yielded.
func (f *Fold) hold(s *series, w *Summary) *held {
	if f.target == nil {
		of := f.options.Clone(s.of)
		if f.options.Group != nil {
			f.options.Group(of)
		}
		f.target = &series{of: of, some: true}
		f.seen = true
	}
	c, own := w.common, w
	if f.options.Group != nil {
		own = f.spec.new()
		f.spec.assign(own, w) // w keeps the values of the series
	}
	f.name(own, f.target.of, span{c.Start, c.End})
	at, found := slices.BinarySearchFunc(f.falling, c.Start, func(h *held, start time.Time) int {
		return start.Compare(h.window.common.Start)
	})
	if !found {
		f.falling = slices.Insert(f.falling, at, &held{window: own})
	} else {
		f.spec.Combine(f.falling[at].window, own)
	}
	return f.falling[at]
}

// Passed says that no windows that end after a time will be added, if they descend. It returns false if no more
// are wanted.
func (f *Fold) Passed(from time.Time) (more bool) {
	n := 0
	for ; n < len(f.falling) && f.falling[n].open == 0 && f.falling[n].window.common.End.After(from); n++ {
		f.drop(f.falling[n])
	}
	f.falling = slices.Delete(f.falling, 0, n)
	return !f.finished
}

// Yielded returns the number of windows that were yielded.
func (f *Fold) Yielded() int { return f.yielded }

// Waits reports whether windows wait for earlier values, if they descend.
func (f *Fold) Waits() bool { return len(f.falling) > 0 }

// drop yields the next window of those that descend.
func (f *Fold) drop(h *held) {
	c := h.window.common
	f.gapAbove(f.target, c.End)
	f.give(h.window)
	f.target.low = c.Start
}

// closed passes the window of a series on that is complete.
func (f *Fold) closed(s *series) {
	if f.options.Steps && f.precedes(s.window.end) {
		f.spec.assign(s.open, f.zero)
		s.window = span{}
		return
	}
	s.some, f.seen = true, true
	switch {
	case f.options.Group != nil && !f.options.Scattered:
		f.group(s.of, f.take(s))
	case f.holds():
		s.closed = append(s.closed, f.take(s))
	default:
		f.next(s, s.open)
		f.spec.assign(s.open, f.zero)
	}
	s.window = span{}
}

// take returns the open window of a series, and gives the series another one.
func (f *Fold) take(s *series) *Summary {
	w := s.open
	s.open = f.spec.new()
	return w
}

// holds reports whether windows are held until the end of their series, or of the read.
func (f *Fold) holds() bool {
	return f.options.NewestFirst || f.options.Scattered || f.options.Group != nil
}

// name sets what a window is of.
func (f *Fold) name(w *Summary, of any, s span) {
	f.spec.name(w.series, of)
	c := w.common
	c.Start, c.End = s.start.In(f.width.Location()), s.end.In(f.width.Location())
}

// group adds a window of a series to that of its group. Windows of several series are combined in the
// order in which the series come, which can depend on the range that is read: see [Spec.Combine].
func (f *Fold) group(of any, w *Summary) {
	of = f.options.Clone(of)
	f.options.Group(of)
	f.id = f.options.ID(f.id[:0], of)
	g := f.known(f.id, of)
	g.some = true
	f.spec.name(w.series, of)
	at, found := slices.BinarySearchFunc(g.closed, w.common.Start, func(o *Summary, start time.Time) int {
		return o.common.Start.Compare(start)
	})
	if !found {
		g.closed = slices.Insert(g.closed, at, w)
		return
	}
	f.spec.Combine(g.closed[at], w)
}

// Combine adds a window to that of another series, with the same start. The result does not depend on the order in which the windows
// of a group are combined, except in the last bits of sums of floating-point numbers.
func (s *Spec) Combine(to, w *Summary) {
	for i := range s.parts {
		p := &s.parts[i]
		p.combine(to.fields[p.at], w.fields[p.at])
	}
	c, other := to.common, w.common
	c.Events += other.Events
	c.Undecodable += other.Undecodable
	c.Inexact = c.Inexact || other.Inexact
}

// End yields what is left. It must be called once, after all events, and not after an error.
func (f *Fold) End() {
	f.leave()
	if f.options.Descending {
		for _, h := range f.falling {
			f.drop(h)
		}
		if f.target != nil {
			f.end(f.target)
		}
		return
	}
	all := f.all
	if f.options.Scattered && f.options.Group != nil {
		all = f.grouped()
	}
	for _, s := range all {
		f.close(s)
		f.end(s)
	}
}

// grouped returns the groups of scattered series.
func (f *Fold) grouped() []*series {
	scattered := f.all
	f.all, f.byID = nil, map[string]*series{}
	for _, s := range scattered {
		f.close(s)
		for _, w := range s.closed {
			f.group(s.of, w)
		}
	}
	return f.all
}

// Empty yields the windows of a series that has no events, where they are filled.
func (f *Fold) Empty(of any) {
	if f.options.Group != nil {
		of = f.options.Clone(of)
		f.options.Group(of)
	}
	s := f.newSeries(of)
	s.some = true
	f.end(s)
}

// Seen reports whether a series has windows.
func (f *Fold) Seen() bool { return f.seen }

// end yields the windows of a series that are left.
func (f *Fold) end(s *series) {
	if !s.some && !f.options.Since.IsZero() {
		return // its events are all before the range
	}
	if f.options.Descending {
		f.gapAbove(s, f.bounds.start)
		return
	}
	if !f.options.NewestFirst {
		for _, w := range s.closed {
			f.next(s, w)
		}
		f.trail(s)
		return
	}
	f.backward(s)
}

// backward yields the held windows of a series in reverse order, and fills those between them one by
// one: a gap can have any number of windows.
func (f *Fold) backward(s *series) {
	if f.options.Fill == FillNone {
		for _, w := range slices.Backward(s.closed) {
			f.give(w)
		}
		return
	}
	filling := make([]*Summary, len(s.closed)) // what fills the windows after each
	for i, w := range s.closed {
		f.remember(s, w)
		filling[i] = s.prev
	}
	high, next := f.bounds.end, (*Summary)(nil)
	for i := len(s.closed); i >= 0; i-- {
		low := f.bounds.start
		if s.prev = nil; i > 0 {
			s.prev, low = filling[i-1], filling[i-1].common.End
		}
		f.gapBelow(s, high, low, next)
		if i > 0 {
			next = s.closed[i-1]
			f.give(next)
			high = next.common.Start
		}
	}
}

// next yields a window, after those without events before it.
func (f *Fold) next(s *series, w *Summary) {
	if f.options.Fill != FillNone {
		f.gap(s, w.common.Start, w)
		f.remember(s, w)
	}
	f.give(w)
}

// remember makes a window the one that fills those after it. Fields that its events lack keep the values of the
// window before it, except for those that are filled on a line, which begins at the window.
func (f *Fold) remember(s *series, w *Summary) {
	before := s.prev
	s.prev = f.spec.new()
	f.spec.assign(s.prev, w)
	if before == nil || f.options.Fill == FillNull {
		return
	}
	carried := false
	for i := range f.spec.parts {
		if p := &f.spec.parts[i]; (f.options.Fill == FillPrevious || p.numbers == nil) && !p.has(s.prev.fields[p.at]) {
			p.copy(s.prev.fields[p.at], before.fields[p.at])
			carried = true
		}
	}
	c := s.prev.common
	c.Inexact = c.Inexact || carried && before.common.Inexact
}

// trail yields the windows without events after the last one.
func (f *Fold) trail(s *series) {
	if f.options.Fill != FillNone {
		f.gap(s, f.bounds.end, nil)
	}
}

// gap yields the windows without events from the last one with events until a time. next is the
// window after them; nil if there is none.
func (f *Fold) gap(s *series, to time.Time, next *Summary) {
	at := f.bounds.start
	if s.prev != nil {
		at = s.prev.common.End
	} else if at.IsZero() {
		return
	}
	for at.Before(to) && !f.finished {
		at = f.empty(s, f.width.at(at, f.bounds), next).end
	}
}

// gapAbove yields the windows without events, in reverse order, from the last one that was yielded
// down to a time, without values.
func (f *Fold) gapAbove(s *series, low time.Time) {
	if f.options.Fill == FillNone {
		return
	}
	at := s.low
	if at.IsZero() {
		at = f.bounds.end
	}
	f.gapBelow(s, at, low, nil)
}

// gapBelow yields the windows without events from a time down to another one, in reverse order. next is
// the window after them; nil if there is none. There are none down to a zero time.
func (f *Fold) gapBelow(s *series, at, low time.Time, next *Summary) {
	for !low.IsZero() && at.After(low) && !f.finished {
		at = f.empty(s, f.width.at(at.Add(-1), f.bounds), next).start
	}
}

// empty yields a window without events, and returns it.
func (f *Fold) empty(s *series, window span, next *Summary) span {
	w := f.spec.new()
	f.name(w, s.of, window)
	w.common.Filled = true
	f.fill(s, w, next)
	f.give(w)
	return window
}

// fill sets the values of a window without events.
func (f *Fold) fill(s *series, w, next *Summary) {
	if s.prev == nil || f.options.Fill == FillNull || f.options.Fill == FillLinear && next == nil {
		return
	}
	c := w.common
	c.Inexact = s.prev.common.Inexact
	var at share
	if f.options.Fill == FillLinear {
		c.Inexact = c.Inexact || next.common.Inexact
		at = shareOf(s.prev.common.Start, w.common.Start, next.common.Start)
	}
	for i := range f.spec.parts {
		if p := &f.spec.parts[i]; f.options.Fill == FillLinear {
			p.between(w.fields[p.at], s.prev.fields[p.at], next.fields[p.at], at)
		} else {
			p.previous(w.fields[p.at], s.prev.fields[p.at])
		}
	}
}

// give yields a window.
func (f *Fold) give(w *Summary) {
	if f.finished {
		return
	}
	f.yielded++
	f.finished = !f.yield(w) || f.options.Limit > 0 && f.yielded == f.options.Limit
}
