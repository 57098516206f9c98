package store

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/request"
	"github.com/btgen-dev/btgen/runtime/scan"
	"github.com/btgen-dev/btgen/runtime/window"
)

// Limits of reads of windows in parts.
const (
	aloneEvents = 16_384 // read before other goroutines help
	partWindows = 4096   // windows of a part in memory
	partBatch   = 64     // windows that are passed on at a time
)

// windowParts reads windows of several series with several goroutines. The read begins alone. After
// its first events, it only finishes the series that it is reading, the lead, and the series that
// follow are read in parts, each with its own requests. Parts never share a series, so every window
// is folded as if it were read alone, and they are consumed in their order. Memory is bounded: a
// part waits while the caller has not yet taken the windows before.
type windowParts struct {
	lead    *windowsReading
	reader  *Reader
	query   *query
	spans   []codec.Span
	owns    func(key string) bool // whether the lead reads a row
	ctx     context.Context
	cancel  context.CancelFunc
	queue   chan *windowPart // in their order
	stop    chan struct{}    // closed when the caller wants no more
	running sync.WaitGroup

	mu    sync.Mutex
	next  func() (*windowsReading, bool) // the next part
	most  int                            // the largest number of windows in a part
	ended bool                           // there are no more parts
	op    request.Operation              // of the parts that have ended
}

// windowPart is a part that is being read.
type windowPart struct {
	batch []windowItem
	items chan []windowItem
}

// windowItem is a window, or an error.
type windowItem struct {
	window *window.Summary
	err    error
	series any // whose window has the event that err is about; nil if none has
}

// split begins to read what follows the series of base in parts; nil if that is not possible.
func (r *windowsReading) split(base event) *windowParts {
	p := &windowParts{lead: r, reader: r.reading.reader, query: r.reading.q, spans: r.reading.asked.Spans, stop: make(chan struct{})}
	listed := r.reading.many != nil && r.reading.many.listed
	spans, err := p.reader.mapping.Spans(base)
	if err != nil || !p.byValue(spans[0].Prefix, listed) && !p.byKey(spans[0], listed) {
		return nil
	}
	workers := r.parallelism()
	if !listed { // each of its spans may have a stream
		workers = max(1, min(workers, scan.MaxStreams/len(p.spans)))
	}
	p.queue = make(chan *windowPart, workers)
	p.ctx, p.cancel = context.WithCancel(r.reading.ctx)
	for range workers {
		p.running.Go(p.work)
	}
	return p
}

// close ends all goroutines.
func (p *windowParts) close() {
	close(p.stop)
	p.cancel()
	p.running.Wait()
	p.lead.reading.op.Add(&p.op)
}

// leads reports whether the lead reads a series.
func (p *windowParts) leads(base event) bool {
	spans, err := p.reader.mapping.Spans(base)
	return err == nil && p.owns(spans[0].Prefix)
}

// again returns a read of a selection like that of the lead.
func (p *windowParts) again(of *selection) *windowsReading {
	return p.lead.newReading(p.ctx, p.reader, of, p.query)
}

// byValue splits the values of a selection after the one that contains a series, given the prefix of
// its keys. It returns false if there is only one value, or if the rows of a value do not follow
// each other or have those of other values among them.
func (p *windowParts) byValue(prefix string, listed bool) bool {
	of := p.lead.of
	if !of.many {
		return false
	}
	read := p.again(of)
	values, err := read.reading.distinct()
	among := func(s codec.Span) bool { return s.Rest > 0 }
	if err != nil || len(values) < 2 || slices.ContainsFunc(values, func(w wanted) bool { return listed && len(w.spans) > 1 || slices.ContainsFunc(w.spans, among) }) {
		return false
	}
	lead := slices.IndexFunc(values, func(w wanted) bool { return w.has(prefix) })
	if lead < 0 {
		return false
	}
	p.owns = values[lead].has
	left := values[lead+1:]
	each := max(1, len(left)/(16*p.lead.parallelism()))
	p.next = func() (*windowsReading, bool) {
		if len(left) == 0 {
			return nil, false
		}
		if p.most > partWindows {
			each, p.most = max(1, each*partWindows/p.most), 0
		}
		some := *of
		some.values = nil
		for _, w := range left[:min(each, len(left))] {
			some.values = append(some.values, w.value)
		}
		left = left[len(some.values):]
		return p.again(&some), true
	}
	return true
}

// has reports whether a row key is one of the value.
func (w *wanted) has(key string) bool {
	return slices.ContainsFunc(w.spans, func(s codec.Span) bool {
		rows := s.All()
		return request.Range{Start: rows.Start, End: rows.End}.Contains(key)
	})
}

// byKey splits the row keys after those of a series as if they were spread evenly. It returns false
// if the rows of a series do not follow each other, or if nothing follows.
func (p *windowParts) byKey(current codec.Span, listed bool) bool {
	key := &p.reader.mapping.Key
	width, ok := key.SeriesWidth()
	if !ok || !p.query.Contiguous || p.reader.mapping.Pattern.RowPerField() || listed && len(p.spans) > 1 {
		return false
	}
	rows, skip := current.All(), len(p.spans[0].Prefix)
	if len(rows.End) <= skip {
		return false
	}
	own := request.Range{Start: rows.Start[skip:], End: rows.End[skip:]}
	p.owns = func(key string) bool { return own.Contains(key[min(skip, len(key)):]) }
	c := &keyCutter{begin: own.End, backward: p.reader.shape.Descending(), step: 1 / float64(16*p.lead.parallelism())}
	if c.backward {
		c.begin = own.Start
	}
	p.next = func() (*windowsReading, bool) {
		read := p.again(p.lead.of)
		if c.scale == nil {
			c.scale = new(keyScale)
			if end, some := p.farEnd(&read.reading, c); some {
				c.scale = newKeyScale(own.Start, end[skip:], key.Delimiter, max(0, width-skip))
			}
		}
		if p.most > partWindows {
			c.step, p.most = max(c.step*partWindows/float64(p.most), 1./4096), 0
		}
		var some bool
		read.reading.within, some = c.next()
		return read, some
	}
	return true
}

// farEnd returns the last key, in reading order, of the rows of the first span that the parts read.
// After an error, it returns false: a part will find it, too.
func (p *windowParts) farEnd(r *reading, c *keyCutter) (string, bool) {
	all, in := p.spans[0].All(), request.Range{Start: c.begin}
	if all.Reverse = !c.backward; c.backward {
		in = request.Range{End: c.begin}
	}
	rows := request.Within([]codec.Rows{all}, in.Of(p.spans[0]))
	if rows == nil {
		return "", false
	}
	row, err := p.reader.table.One(p.ctx, &r.op, rows[0], p.reader.table.Filters.Of(scan.KeysOnly(nil)), 1)
	if err != nil || !row.Exists() {
		return "", false
	}
	defer row.Release()
	return row.Key(), true
}

// work reads parts.
func (p *windowParts) work() {
	for part, read := p.take(); part != nil; part, read = p.take() {
		windows := part.read(p, read)
		close(part.items)
		p.mu.Lock()
		p.most = max(p.most, windows)
		p.op.Add(&read.reading.op)
		p.mu.Unlock()
	}
}

// take returns the next part; nil if there is none.
func (p *windowParts) take() (*windowPart, *windowsReading) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return nil, nil
	}
	part := &windowPart{items: make(chan []windowItem, partWindows/partBatch)}
	read, some := p.next()
	if some {
		select {
		case p.queue <- part:
			return part, read
		case <-p.stop:
		}
	}
	p.ended = true
	close(p.queue)
	return nil, nil
}

// read reads a part. It returns the number of windows.
func (w *windowPart) read(p *windowParts, r *windowsReading) (windows int) {
	o := r.options()
	o.Steps = true
	r.items(o, func(item windowItem) bool {
		if item.isWindow() {
			windows++
		}
		if w.batch = append(w.batch, item); len(w.batch) < partBatch {
			return true
		}
		return w.send(p.stop)
	})
	w.send(p.stop)
	return windows
}

// items folds the events of the read, and passes windows and errors on, until give returns false.
func (r *windowsReading) items(o window.Options, give func(item windowItem) bool) {
	r.reading.yield = r.one
	r.fail = func(err error) bool { return r.give(give(windowItem{err: err, series: r.flagged})) }
	var err error
	r.fold, err = r.start(o, func(w *window.Summary) bool { return r.give(give(windowItem{window: r.spec.Clone(w)})) })
	if err != nil {
		r.fail(err)
	} else if r.events() {
		r.fold.End()
	}
}

// send passes windows on. It reports whether the caller wants more.
func (w *windowPart) send(stop <-chan struct{}) bool {
	if len(w.batch) == 0 {
		return true
	}
	select {
	case w.items <- w.batch:
		w.batch = nil
		return true
	case <-stop:
		return false
	}
}

// drain adds the windows of all parts to the fold of the lead. It reports whether all were read.
func (p *windowParts) drain() bool {
	for part := range p.queue {
		for batch := range part.items {
			for _, item := range batch {
				if !p.lead.consume(item) {
					return false
				}
			}
		}
	}
	return true
}

// keyCutter cuts the row keys that follow a series into ranges, as if they were spread evenly.
type keyCutter struct {
	begin    string // of the next range, in reading order
	backward bool   // keys are read in descending order
	step     float64
	share    float64
	scale    *keyScale
	done     bool
}

// next returns the next range; false after the last one.
func (c *keyCutter) next() (request.Range, bool) {
	if c.done {
		return request.Range{}, false
	}
	end := ""
	for end == "" {
		if c.share += c.step; c.share >= 1 {
			c.done = true
			break
		}
		if at := c.scale.at(c.share); at != c.begin && (at < c.begin) == c.backward {
			end = at
		}
	}
	r := request.Range{Start: c.begin, End: end}
	if c.backward {
		r = request.Range{Start: end, End: c.begin}
	}
	c.begin = end
	return r, true
}

// keyScale interpolates row keys.
type keyScale struct {
	common   string   // beginning of all keys
	digits   []string // alphabets of the bytes after it
	from, to float64
	end      string // bytes that end a key
}

// alphabets are the sets of bytes that keys often consist of, from the smallest one.
var alphabets = func() []string {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	const digits, letters = "0123456789", "abcdefghijklmnopqrstuvwxyz"
	return []string{digits, digits + letters[:6], letters, digits + strings.ToUpper(letters[:6]), digits + letters, string(all)}
}()

// newKeyScale returns the scale from one key to another. Keys end with a byte of end, or after a
// number of bytes if that is positive, so that no key is in the middle of a series.
func newKeyScale(from, to, end string, most int) *keyScale {
	n := 0
	for n < len(from) && n < len(to) && from[n] == to[n] {
		n++
	}
	s := &keyScale{common: from[:n], end: end}
	for i := n; i < len(from) && i < len(to) && i < n+6 && (end != "" || i < most); i++ {
		a := slices.IndexFunc(alphabets, func(a string) bool { return strings.IndexByte(a, from[i]) >= 0 && strings.IndexByte(a, to[i]) >= 0 })
		alphabet := alphabets[a]
		s.digits = append(s.digits, alphabet)
		s.from = s.from*float64(len(alphabet)) + float64(strings.IndexByte(alphabet, from[i]))
		s.to = s.to*float64(len(alphabet)) + float64(strings.IndexByte(alphabet, to[i]))
		if strings.IndexByte(end, from[i]) >= 0 || strings.IndexByte(end, to[i]) >= 0 {
			break
		}
	}
	return s
}

// at returns the key at a share of the way.
func (s *keyScale) at(share float64) string {
	key, rest, unit := []byte(s.common), s.from+share*(s.to-s.from), 1.0
	for _, alphabet := range s.digits {
		unit *= float64(len(alphabet))
	}
	for _, alphabet := range s.digits {
		unit /= float64(len(alphabet))
		n := min(int(rest/unit), len(alphabet)-1)
		rest -= float64(n) * unit
		key = append(key, alphabet[n])
		if strings.IndexByte(s.end, alphabet[n]) >= 0 {
			break
		}
	}
	return string(key)
}

// parallelism returns the number of goroutines that help a read.
func (o *WindowOptions) parallelism() int { return max(1, cmp.Or(o.Parallelism, DefaultParallelism)) }
