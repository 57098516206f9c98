package format

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"reflect"
	"time"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Identities finds events with the series, the time and the sequence number of an earlier one, which they
// replace. It remembers the last half a million events, and up to twice as many.
type Identities struct {
	precision time.Duration
	columns   []Column // of the series
	scratch   []byte
	seed      maphash.Seed
	now, then map[uint64]known // by hash
}

// known is what is known of an event.
type known struct {
	line    int
	columns uint64 // hash of those that it has, for a Joiner
}

// NewIdentities returns an Identities of the events of a schema.
func NewIdentities(l *layout.Layout) *Identities {
	return &Identities{
		precision: l.Precision, columns: Columns(l)[:len(l.Series)], seed: maphash.MakeSeed(), now: map[uint64]known{},
	}
}

// Add adds an event. If it replaces one that it remembers, it returns the line of that.
func (i *Identities) Add(e *dynamic.Event, line int) (before int, replaces bool) {
	of, replaces := i.swap(i.of(e), known{line: line})
	return of.line, replaces
}

// of returns what tells an event from others. It is valid until the next call.
func (i *Identities) of(e *dynamic.Event) []byte {
	dst := i.scratch[:0]
	for k := range i.columns {
		begin := len(dst)
		dst = appendText(append(dst, 0, 0, 0, 0), i.columns[k].Type, e.Series[k])
		binary.LittleEndian.PutUint32(dst[begin:], uint32(len(dst)-begin))
	}
	at := codec.Truncate(e.Time, i.precision)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(at.Unix()))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(at.Nanosecond()))
	i.scratch = binary.LittleEndian.AppendUint32(dst, e.Sequence)
	return i.scratch
}

// maxRecent is half of the number of events that are remembered.
const maxRecent = 1 << 19

// swap remembers an event, and returns what was known of the one that it replaces.
func (i *Identities) swap(event []byte, now known) (before known, ok bool) {
	id := maphash.Bytes(i.seed, event)
	if before, ok = i.now[id]; !ok {
		before, ok = i.then[id]
	}
	if len(i.now) >= maxRecent {
		i.now, i.then = map[uint64]known{}, i.now
	}
	i.now[id] = now
	return before, ok
}

// Limits of the events that a Joiner holds.
const (
	maxHeld      = 100_000
	maxHeldBytes = 32 << 20
)

// Errors that end the reading at a line that continues the event of an earlier one, which it would replace.
var (
	ErrScattered = errors.New("the lines of a point do not follow each other, so that the last would replace the others: " +
		"add --merge, or sort them by series and time")
	ErrFar = fmt.Errorf("they are too far apart to be joined, by more than about %d events: "+
		"sort the lines by series and time", maxHeld)
)

// Joiner reads the events of another reader, and joins those of the same series, time and sequence number, as
// InfluxDB does: the result has the fields of all of them, and the last value of each. It holds at most 100,000
// events and about 32 MiB. An event with other fields than one that it no longer holds, which it would replace, ends the reading
// with [ErrScattered] or [ErrFar], unless the tables merge them.
type Joiner struct {
	reader   Reader
	parser   *builder
	ids      *Identities // of the events that were returned
	most     int         // events that it holds: one if only those that follow each other are joined
	merges   bool        // the tables keep what is stored of fields that an event lacks
	held     map[string]*heldEvent
	queue    []*heldEvent // in the order of lines
	bytes    int
	end      error
	replaced Replacements
}

// Replacements are events that replaced others, or values of others.
type Replacements struct {
	Events       int
	Line, Before int // of the first of them, and of the one that it replaced
}

// Add counts an event on a line that replaced one on a line before.
func (r *Replacements) Add(line, before int) {
	if r.Events++; r.Events == 1 {
		r.Line, r.Before = line, before
	}
}

// heldEvent is an event that others may be joined to, or an error.
type heldEvent struct {
	event       dynamic.Event
	id          string
	bytes, line int
	err         error
}

// NewJoiner returns a Joiner. reader must be that of ReaderOptions whose Partial is set. merges says that tables keep what is stored of
// the fields that an event lacks: then it gets no defaults, which would replace that.
func NewJoiner(reader Reader, l *layout.Layout, o ReaderOptions, merges bool) (*Joiner, error) {
	j, err := newJoiner(reader, l, o, maxHeld)
	if err == nil {
		j.merges, j.parser.options.Partial = merges, merges
	}
	return j, err
}

func newJoiner(reader Reader, l *layout.Layout, o ReaderOptions, most int) (*Joiner, error) {
	o.Partial = false
	p, err := newBuilder(l, o)
	ids := NewIdentities(l)
	if most == 1 {
		ids.precision = time.Nanosecond // others may have the same stored time, and are reported
	}
	return &Joiner{reader: reader, parser: p, ids: ids, most: most, held: map[string]*heldEvent{}}, err
}

// Skipped implements [Reader].
func (j *Joiner) Skipped() int { return j.reader.Skipped() }

// Replaced implements [Reader].
func (j *Joiner) Replaced() Replacements { return j.replaced }

// Next implements [Reader].
func (j *Joiner) Next() (dynamic.Event, int, error) {
	for j.end == nil && len(j.held) <= j.most && len(j.queue) < maxHeld && j.bytes < maxHeldBytes {
		j.read()
	}
	if len(j.queue) == 0 {
		return dynamic.Event{}, 0, j.end
	}
	first := j.queue[0]
	j.queue[0] = nil
	j.queue = j.queue[1:]
	if first.err == nil {
		delete(j.held, first.id)
		j.bytes -= first.bytes
		first.err = j.complete(first)
	}
	return first.event, first.line, first.err
}

// complete sets the defaults of an event, unless tables keep what is stored.
func (j *Joiner) complete(of *heldEvent) error {
	const fnvBasis, fnvPrime = 0xcbf29ce484222325, 0x100000001b3
	now := known{of.line, fnvBasis}
	for i := range j.parser.columns {
		if j.parser.columns[i].Value(&of.event) != nil {
			now.columns = (now.columns ^ uint64(i)) * fnvPrime
		}
	}
	before, again := j.ids.swap([]byte(of.id), now)
	name := j.parser.completeJoined(&of.event)
	scattered := func(why error) error {
		return fmt.Errorf("line %d continues the point of line %d: %w", of.line, before.line, why)
	}
	switch {
	case again && before.columns != now.columns && j.most == 1:
		return scattered(ErrScattered)
	case again && before.columns != now.columns && (name != "" || !j.merges):
		return scattered(ErrFar)
	case name == "":
		return nil
	}
	failed := lacks(of.line, name)
	if j.most == 1 {
		failed.Err = fmt.Errorf("%w: if another line of the point has it, add --merge", ErrMissing)
	}
	return failed
}

// read reads an event, or an error.
func (j *Joiner) read() {
	e, line, err := j.reader.Next()
	if err != nil {
		if _, refused := errors.AsType[*InputError](err); !refused {
			j.end = err
		}
		j.queue = append(j.queue, &heldEvent{line: line, err: err})
		return
	}
	added := &heldEvent{event: e, line: line}
	id := j.ids.of(&added.event)
	if before := j.held[string(id)]; before != nil {
		j.join(before, &added.event, line)
		return
	}
	added.id, added.bytes = string(id), Bytes(&added.event)+len(id)
	j.held[added.id], j.bytes = added, j.bytes+added.bytes
	j.queue = append(j.queue, added)
}

// join adds the values of an event to another one.
func (j *Joiner) join(to *heldEvent, e *dynamic.Event, line int) {
	replaces := false
	for i := range j.parser.columns {
		c := &j.parser.columns[i]
		v, before := c.Value(e), c.Value(&to.event)
		if c.part < fieldPart || v == nil {
			continue
		}
		replaces = replaces || c.part == fieldPart && before != nil && !reflect.DeepEqual(before, v)
		c.set(&to.event, v)
	}
	if replaces {
		j.replaced.Add(line, to.line)
	}
	j.bytes -= to.bytes
	to.bytes = Bytes(&to.event) + len(to.id)
	j.bytes += to.bytes
}

// Bytes returns about how much memory an event takes.
func Bytes(e *dynamic.Event) int {
	const perEvent, perValue = 200, 40
	n := perEvent + perValue*(len(e.Series)+len(e.Values))
	for _, values := range [][]any{e.Series, e.Values} {
		for _, v := range values {
			text, _ := v.(string)
			b, _ := v.([]byte)
			n += len(text) + len(b)
		}
	}
	return n
}
