package store

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"iter"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/protobuf/proto"

	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/rollup"
	"github.com/btgen-dev/btgen/runtime/window"
)

// This file explores the protocol of rollups: all interleavings of the steps of writers, deleters and
// sealers at one row, on one cluster and on two. The steps are those of the package: a writer, a
// deleter, a sealer or a reader is called for the cells that the row has in a state, and what it sends is
// recorded, to arrive later, more than once, or not at all.
//
// Between two clusters, each change may be copied at any moment. Only who reads a cluster can tell, so a state has what a
// cluster must have: what has arrived there, and what was there when a step has read it. A step that reads
// is explored for each set of changes that the cluster may have then, and readers are tried with all of these.

// roleStep is a step of an actor at a cluster.
type roleStep struct {
	what    string // one of the constants below
	event   int    // number of an event; 0 for all
	value   int
	mark    int // number of the mark of a writer
	cluster int
	all     bool // of a sealer: RollupOptions.All, once no program writes without marks
	older   bool // of a deletion: it leaves marks, runs, and families that it has not read
}

// The steps. A deletion and a sealer read the row first; what they send arrives afterward.
const (
	stepOld    = "old" // a program without the rollup writes an event without a mark
	stepWrite  = "write"
	stepDelete = "delete"
	stepLook   = "look" // a sealer notes the row, waits, and decides
	stepLand   = "land" // what the actor has sent last arrives; with all, it looks again if another sealer was faster
	stepLate   = "late" // events begin to expire
	stepGone   = "gone" // a cluster collects those that have expired
)

// landed is a change that has arrived at a cluster.
type landed struct {
	muts  []*bigtablepb.Mutation
	user  bool
	id    uint64
	known uint32 // which changes of users were there when a sealer read the row
}

// protocolState is a state of the exploration.
type protocolState struct {
	steps   []uint8       // of each actor
	landed  []*landed     // in the order of their timestamps, which is that of their arrival anywhere
	have    [2]uint32     // which of them a cluster has at least
	pending [][]rowChange // what each actor has sent last
	known   []uint32      // which changes of users each sealer has read
	late    bool
	gone    [2]bool
}

// protocolRow is the row at a cluster.
type protocolRow struct {
	cells    rowCells
	text, id string
}

// protocol explores a scenario.
type protocol struct {
	t        *testing.T
	name     string
	clusters int
	actors   [][]roleStep
	most     int // states

	*protocolTable
	seen    map[[16]byte]bool
	answers map[string]string // of reads, by cells and time
	right   map[string]bool   // what was checked
	sent    map[string][]rowChange
	rows    map[string]protocolRow

	states, runs, inexact, wrong int
	example                      string
}

// protocolTable is the table, and what reads, writes and seals it.
type protocolTable struct {
	server *rowServer
	client Client
	l      *mappingOf[sample]
	into   *columnsOf[sample, sampleColumns]
	early  time.Time // all events are there
	later  time.Time // some have expired
	writes map[roleStep]rowChange
}

// eventAt is the time of an event of the protocol.
func eventAt(n int) time.Time { return day0.Add(time.Duration(n)*time.Hour + time.Minute) }

// newProtocolTable returns a table with an empty row.
func newProtocolTable(t *testing.T) *protocolTable {
	const ttl = 40 * 24 * time.Hour
	p := &protocolTable{server: &rowServer{key: "s#2021-03-05"}, writes: map[roleStep]rowChange{}}
	p.l = rolled(days(), ttl)
	p.into = intoColumns(p.l.untyped())
	p.client = tableClient{p.server.client(t), func(_ string, api bigtable.TableAPI) bigtable.TableAPI { return api }} // which no interceptor serves
	p.early = day0.Add(26 * time.Hour)
	p.later = eventAt(1).Add(ttl + time.Minute) // the first event has expired, and the others have not
	return p
}

// at returns the time of a state.
func (p *protocolTable) at(late bool) time.Time {
	if late {
		return p.later
	}
	return p.early
}

// record calls a function for a row, and returns what it sends.
func (p *protocolTable) record(cells rowCells, f func() error) []rowChange {
	p.server.cells, p.server.changed = cells, nil
	if err := f(); err != nil {
		panic(err)
	}
	return p.server.changed
}

// numbers returns numbers in sequence instead of random ones.
func numbers(from uint64) func() uint64 { return func() uint64 { from++; return from } }

// writer returns a writer whose marks are numbered.
func (p *protocolTable) writer(now time.Time, mark uint64) *writerOf[sample] {
	w := newWriterOf(p.client, []*mappingOf[sample]{p.l}, WriterOptions{Now: func() time.Time { return now }})
	w.Writer.tables[0].marker.alone()
	w.Writer.tables[0].marker.random = numbers(mark)
	return w
}

// delete returns what a deletion sends.
func (p *protocolTable) delete(t *testing.T, cells rowCells, s roleStep, now time.Time, id uint64) []rowChange {
	sent := p.record(cells, func() (err error) {
		w := p.writer(now, id)
		if s.event == 0 {
			_, err = w.DeleteAll(t.Context(), seriesOf(sample{Series: "s"}))
		} else {
			_, err = w.DeleteRange(t.Context(), seriesOf(sample{Series: "s"}), eventAt(s.event).Truncate(time.Hour), eventAt(s.event+1).Truncate(time.Hour))
		}
		return err
	})
	if s.older && !cells.have("f.1") && now.Equal(p.early) {
		return nil
	}
	for i := range sent {
		if s.older {
			sent[i].then = slices.DeleteFunc(sent[i].then, func(m *bigtablepb.Mutation) bool {
				of := m.GetDeleteFromFamily().GetFamilyName()
				return of == "h" || of != "" && !cells.have(of)
			})
		}
	}
	return sent
}

// look returns what a sealer sends.
func (p *protocolTable) look(t *testing.T, cells rowCells, now time.Time, id uint64, all bool) []rowChange {
	return p.record(cells, func() error {
		_, err := runRollup(t.Context(), p.client, []*mappingOf[sample]{p.l}, p.into, sampleWindows, RollupOptions{
			Now: func() time.Time { return now }, Workers: -1, All: all,
			Sleep: noSleep, test: &rollupTest{random: numbers(id)},
		})
		return err
	})
}

// read returns the windows that a reader returns: each with its hour, and what it contains.
func (p *protocolTable) read(t *testing.T, cells rowCells, now time.Time) string {
	var out []string
	op := Operation{}
	p.record(cells, func() error {
		r := newReaderOf(p.client, p.l, tells(int(now.Sub(day0)/time.Second), &op))
		for w, err := range readWindows(t.Context(), r, p.into, sampleWindows, seriesOf(sample{Series: "s"}), day0, day0.Add(24*time.Hour), window.Every(time.Hour)) {
			if err != nil {
				return err
			}
			v := &w.Value
			out = append(out, fmt.Sprintf("%02d:%d,%d,%d,%d,%v;%v", w.Start.Hour(), w.Events, v.Min, v.Max, v.Last, v.BigSum(), w.Inexact))
		}
		return nil
	})
	return fmt.Sprintf("%d|%s", op.Runs, strings.Join(out, " "))
}

// row returns the row at a cluster that has some changes. Its ID has the changes of users, and what runs know of them.
func (p *protocol) row(s *protocolState, cluster int, have uint32) protocolRow {
	var id []byte
	for i, m := range s.landed {
		if have&(1<<i) != 0 || m.user {
			id = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(id, m.id), m.known)
			id = strconv.AppendBool(id, have&(1<<i) != 0)
		}
	}
	id = strconv.AppendBool(id, s.gone[cluster])
	row, known := p.rows[string(id)]
	if !known {
		row.id = string(id)
		for i, m := range s.landed {
			if have&(1<<i) != 0 {
				row.cells = row.cells.mutate(m.muts)
			}
		}
		oldest := codec.Micros(p.later.Add(-40 * 24 * time.Hour))
		row.cells = slices.DeleteFunc(row.cells, func(c rowCell) bool { return s.gone[cluster] && c.family != "h" && c.micros < oldest })
		row.text = row.cells.text()
		p.rows[row.id] = row
	}
	return row
}

// have reports whether there are cells of a family.
func (c rowCells) have(family string) bool {
	return slices.ContainsFunc(c, func(c rowCell) bool { return c.family == family })
}

// text identifies cells.
func (c rowCells) text() string {
	var b strings.Builder
	for _, cell := range c {
		fmt.Fprintf(&b, "%s %q %d %q\n", cell.family, cell.qualifier, cell.micros, cell.value)
	}
	return b.String()
}

// check compares what readers of each cluster find with the events that it has, whatever it may have.
func (p *protocol) check(s *protocolState, trace []string) {
	for cluster := range p.clusters {
		for have := range s.possible(cluster) {
			p.checkAt(s, cluster, have, trace)
		}
	}
}

// possible yields the sets of changes that a cluster may have.
func (s *protocolState) possible(cluster int) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		missing := (uint32(1)<<len(s.landed) - 1) &^ s.have[cluster]
		for some := missing; ; some = (some - 1) & missing {
			if !yield(s.have[cluster]|some) || some == 0 {
				return
			}
		}
	}
}

// checkAt is check for a cluster that has some changes.
func (p *protocol) checkAt(s *protocolState, cluster int, have uint32, trace []string) {
	if p.sealsBefore(s, have) { // else, reads do not use the rollup yet
		return
	}
	row := p.row(s, cluster, have)
	key := fmt.Sprint(row.id, s.late)
	if p.right[key] {
		return
	}
	p.right[key] = true
	got := p.answer(row.cells, row.text, p.at(s.late))
	ofRuns, got, _ := strings.Cut(got, "|")
	if ofRuns != "0" {
		p.runs++
		have |= s.knownBy(row.cells)
	}
	events := s.events(have)
	_, want, _ := strings.Cut(p.answer(events, events.text(), p.early), "|")
	if why := p.differs(want, got, s.late && !s.erased(have)); why != "" {
		p.wrong++
		if p.example == "" {
			p.example = fmt.Sprintf("cluster %d: %s\nwant %s\ngot  %s\nafter %s", cluster, why, want, got, strings.Join(trace, " "))
		}
	}
}

// erased reports whether the last of some changes of users is a deletion of all times.
func (s *protocolState) erased(have uint32) bool {
	for i, m := range slices.Backward(s.landed) {
		if m.user && have&(1<<i) != 0 {
			return slices.ContainsFunc(m.muts, func(m *bigtablepb.Mutation) bool { return m.GetDeleteFromFamily().GetFamilyName() == "h" })
		}
	}
	return false
}

// checkEnd checks that a sealer leaves nothing of a row that is erased in the end.
func (p *protocol) checkEnd(s *protocolState, trace []string) {
	n := s.clone()
	n.have[0] = 1<<len(s.landed) - 1
	if !s.erased(n.have[0]) {
		return
	}
	cells := p.row(n, 0, n.have[0]).cells
	for _, c := range p.recorded(n, roleStep{}, 1, func(c rowCells) []rowChange { return p.look(p.t, c, p.at(s.late), 1, false) }) {
		cells = cells.mutate(c.then)
	}
	if len(cells) > 0 {
		p.wrong++
		p.example = fmt.Sprintf("an erased row keeps\n%s\nafter %s", cells.text(), strings.Join(trace, " "))
	}
}

// knownBy returns the changes of users that the best run knows. It may be at a cluster before they are.
func (s *protocolState) knownBy(cells rowCells) (known uint32) {
	var row rollup.Row
	for _, c := range cells {
		if c.family == "h" {
			row.Add(c.qualifier, []byte(c.value))
		}
	}
	value, _ := row.Best()
	for _, m := range s.landed {
		for _, mut := range m.muts {
			if set := mut.GetSetCell(); set.GetFamilyName() == "h" && slices.Contains(row.Runs, string(set.GetColumnQualifier())) && bytes.Equal(set.GetValue(), value) {
				known |= m.known
			}
		}
	}
	return known
}

// events returns the events after some changes of users, as if none expired.
func (s *protocolState) events(have uint32) (events rowCells) {
	for i, m := range s.landed {
		if have&(1<<i) == 0 || !m.user {
			continue
		}
		events = events.mutate(m.muts)
		for _, mut := range m.muts {
			if set := mut.GetSetCell(); set.GetFamilyName() == "h" && len(set.GetValue()) > 0 { // events may be deleted that have expired
				gone, _ := rollup.ParseRanges(set.GetValue())
				events = slices.DeleteFunc(events, func(c rowCell) bool {
					at := codec.FromMicros(c.micros).Sub(day0)
					all, _ := gone.Cover(rollup.Range{From: at, To: at + 1})
					return all
				})
			}
		}
	}
	return slices.DeleteFunc(events, func(c rowCell) bool { return c.family == "h" })
}

// differs returns what is wrong with the windows that a reader returned.
func (p *protocol) differs(want, got string, late bool) string {
	wanted, inexact := map[string]string{}, map[string]bool{}
	for _, w := range strings.Fields(want) {
		wanted[w[:2]] = w
	}
	for _, w := range strings.Fields(got) {
		if strings.HasSuffix(w, ";true") {
			inexact[w[:2]] = true
			continue
		}
		if wanted[w[:2]] != w {
			return "window " + w + " differs"
		}
		delete(wanted, w[:2])
	}
	if len(inexact) > 0 {
		if p.inexact++; !late {
			return "windows are inexact although all events are there, or were deleted"
		}
	}
	for hour, w := range wanted {
		if !inexact[hour] {
			return "window " + w + " is missing"
		}
	}
	return ""
}

// answer is read with a memory.
func (p *protocol) answer(cells rowCells, text string, now time.Time) string {
	key := strconv.FormatInt(now.Unix(), 10) + text
	known, ok := p.answers[key]
	if !ok {
		known = p.read(p.t, cells, now)
		p.answers[key] = known
	}
	return known
}

// key identifies a state.
func (s *protocolState) key() [16]byte {
	b := slices.Clone(s.steps)
	for _, is := range []bool{s.late, s.gone[0], s.gone[1]} {
		b = strconv.AppendBool(b, is)
	}
	for c := range s.have {
		b = binary.BigEndian.AppendUint32(b, s.have[c])
	}
	for _, m := range s.landed {
		b = binary.BigEndian.AppendUint64(b, m.id)
	}
	for i, sent := range s.pending {
		b = binary.BigEndian.AppendUint32(append(b, '/'), s.known[i])
		for _, c := range sent {
			b = binary.BigEndian.AppendUint64(b, c.id)
		}
	}
	sum := sha256.Sum256(b)
	return [16]byte(sum[:16])
}

// identify returns a number that identifies a change.
func (c rowChange) identify() uint64 {
	h := fnv.New64a()
	for _, muts := range [][]*bigtablepb.Mutation{c.then, c.otherwise} {
		for _, m := range muts {
			b, _ := proto.MarshalOptions{Deterministic: true}.Marshal(m)
			_, _ = h.Write(b)
		}
		_, _ = h.Write([]byte{0})
	}
	b, _ := proto.MarshalOptions{Deterministic: true}.Marshal(c.condition)
	_, _ = h.Write(b)
	return h.Sum64()
}

func (s *protocolState) clone() *protocolState {
	n := *s
	n.steps, n.landed, n.pending = slices.Clone(s.steps), slices.Clone(s.landed), slices.Clone(s.pending)
	n.known = slices.Clone(s.known)
	return &n
}

// arrive returns the state after changes have arrived at a cluster.
func (p *protocol) arrive(s *protocolState, changes []rowChange, cluster int, user bool, known uint32) {
	for _, c := range changes {
		muts := c.then
		id := c.id
		if len(muts) == 0 {
			continue
		}
		s.landed = append(s.landed, &landed{muts, user, id, known})
		s.have[cluster] |= 1 << (len(s.landed) - 1)
	}
}

// settable returns the names of marks that steps to come may set.
func (p *protocol) settable(s *protocolState) map[string]bool {
	names := map[string]bool{}
	for a, steps := range p.actors {
		left := steps[s.steps[a]:]
		for i, step := range left {
			var changes []rowChange
			switch {
			case step.what == stepWrite || step.what == stepOld:
				changes = []rowChange{p.written(step)}
			case step.what == stepLand && !slices.ContainsFunc(left[:i], func(before roleStep) bool { return before.what == stepDelete || before.what == stepLook }):
				changes = s.pending[a]
			}
			for _, c := range changes {
				for _, m := range c.then {
					if set := m.GetSetCell(); set.GetFamilyName() == "h" {
						names[string(set.GetColumnQualifier())] = true
					}
				}
			}
		}
	}
	return names
}

// explore visits a state, and all that follow it.
func (p *protocol) explore(s *protocolState, trace []string) {
	key := s.key()
	if p.seen[key] || p.wrong > 0 || p.states >= p.most {
		return
	}
	p.seen[key] = true
	p.states++
	p.check(s, trace)
	ended := true
	for i := range p.actors { // in an order that depends on the state, so that an exploration that is cut off sees all kinds
		a := (i + int(key[0])) % len(p.actors)
		steps := p.actors[a]
		if int(s.steps[a]) == len(steps) {
			continue
		}
		ended = false
		for _, n := range p.step(s, a, steps[s.steps[a]]) {
			p.explore(n, append(trace[:len(trace):len(trace)], fmt.Sprintf("%d:%s%d", a, steps[s.steps[a]].what, steps[s.steps[a]].event)))
		}
	}
	if ended {
		p.checkEnd(s, trace)
	}
}

// step returns the states after a step of an actor; none if it has to wait.
func (p *protocol) step(s *protocolState, a int, step roleStep) (after []*protocolState) {
	reads := step.what == stepDelete || step.what == stepLook
	for have := range s.possible(step.cluster) {
		if step.what == stepLook && have != 1<<len(s.landed)-1 && !p.unmarked(s, step, have) {
			continue
		}
		n := s.clone()
		n.steps[a]++
		if reads {
			n.have[step.cluster] = have
		}
		if step.what == stepLook && p.clusters == 2 {
			n.replicate(1 - step.cluster)
		}
		if p.stepOf(n, s, a, step) {
			after = append(after, n)
		}
		if !reads {
			break
		}
	}
	return after
}

// replicate copies changes to a cluster, as sealers wait for it between their passes: a change between the wait and the second pass
// would have changed the marks that were noted, unless it is one of a program without marks, or replaces only runs.
func (s *protocolState) replicate(cluster int) {
	for i, m := range s.landed {
		if slices.ContainsFunc(m.muts, func(m *bigtablepb.Mutation) bool {
			column := cmp.Or(string(m.GetSetCell().GetColumnQualifier()), string(m.GetDeleteFromColumn().GetColumnQualifier()))
			return cmp.Or(m.GetSetCell().GetFamilyName(), m.GetDeleteFromColumn().GetFamilyName()) == "h" && column < rollup.FirstRun
		}) {
			s.have[cluster] |= 1 << i
		}
	}
}

// unmarked reports whether a sealer finds no mark and seals at once. It needs the events of older programs.
func (p *protocol) unmarked(s *protocolState, step roleStep, have uint32) bool {
	if !step.all {
		return false
	}
	for i, m := range s.landed {
		if old := m.user && !slices.ContainsFunc(m.muts, func(m *bigtablepb.Mutation) bool { return m.GetSetCell().GetFamilyName() == "h" }); old && have&(1<<i) == 0 {
			return false
		}
	}
	return !slices.ContainsFunc(p.row(s, step.cluster, have).cells, func(c rowCell) bool { return c.family == "h" && c.qualifier < rollup.FirstRun })
}

// oldPrograms reports whether programs are left that write without marks.
func (p *protocol) oldPrograms(s *protocolState) bool {
	for a, steps := range p.actors {
		if slices.ContainsFunc(steps[s.steps[a]:], func(step roleStep) bool { return step.what == stepOld }) {
			return true
		}
	}
	return false
}

// sealsBefore reports whether sealers have sealed the row while programs wrote without marks, and none has since sealed
// what these have written, or its runs have not arrived.
func (p *protocol) sealsBefore(s *protocolState, have uint32) bool {
	lacks := func(m *landed) bool { return !m.user && have&(1<<slices.Index(s.landed, m)) == 0 }
	before := false
	for a, steps := range p.actors {
		if len(steps) > 0 && steps[0].what == stepLook {
			if last := steps[len(steps)-1]; last.all && int(s.steps[a]) == len(steps) && !slices.ContainsFunc(s.landed, lacks) {
				return false
			}
			before = before || !steps[0].all
		}
	}
	return before && slices.ContainsFunc(slices.Concat(p.actors...), func(step roleStep) bool { return step.what == stepOld })
}

// stepOf makes a step from a state. It returns false if the actor has to wait.
func (p *protocol) stepOf(n, s *protocolState, a int, step roleStep) bool {
	id := uint64(a+1)<<16 | uint64(s.steps[a])<<8
	switch step.what {
	case stepWrite, stepOld:
		if !s.late || step.event > 1 { // else, the writer refuses it
			p.arrive(n, []rowChange{p.written(step)}, step.cluster, true, 0)
		}
	case stepDelete:
		n.pending[a] = p.recorded(n, step, id, func(c rowCells) []rowChange { return p.delete(p.t, c, step, p.at(s.late), id) })
	case stepLook:
		if step.all && p.oldPrograms(s) {
			return false
		}
		cells := p.row(n, step.cluster, n.have[step.cluster]).cells
		if names := p.settable(s); slices.ContainsFunc(cells, func(c rowCell) bool { return c.family == "h" && names[c.qualifier] }) {
			return false
		}
		n.pending[a] = p.recorded(n, step, id, func(c rowCells) []rowChange { return p.look(p.t, c, p.at(s.late), id, step.all) })
		n.known[a] = n.usersOf(step.cluster)
	case stepLand:
		user := slices.ContainsFunc(p.actors[a], func(s roleStep) bool { return s.what == stepDelete })
		if !p.applies(n, s.pending[a], step.cluster) {
			if step.all {
				n.steps[a] -= 2
			}
			return true
		}
		p.arrive(n, s.pending[a], step.cluster, user, s.known[a])
	case stepLate:
		n.late = true
	case stepGone:
		n.gone[step.cluster] = true
	}
	return true
}

// applies reports whether the cells of a cluster fulfill the condition of a change.
func (p *protocol) applies(s *protocolState, changes []rowChange, cluster int) bool {
	return !slices.ContainsFunc(changes, func(c rowChange) bool {
		if c.condition == nil {
			return false
		}
		found, err := p.server.pass(p.row(s, cluster, s.have[cluster]).cells, c.condition)
		if err != nil {
			panic(err)
		}
		return len(found) == 0
	})
}

// usersOf returns which changes of users a cluster has.
func (s *protocolState) usersOf(cluster int) (mask uint32) {
	for i, m := range s.landed {
		if m.user {
			mask |= s.have[cluster] & (1 << i)
		}
	}
	return mask
}

// recorded returns what a step sends that reads the row.
func (p *protocol) recorded(s *protocolState, step roleStep, id uint64, run func(c rowCells) []rowChange) []rowChange {
	row := p.row(s, step.cluster, s.have[step.cluster])
	cells := row.cells
	key := fmt.Sprint(id, s.late, row.text)
	known, ok := p.sent[key]
	if !ok {
		for _, c := range run(cells) {
			c.id = c.identify()
			known = append(known, c)
		}
		p.sent[key] = known
	}
	return known
}

// written returns what a writer sends.
func (p *protocol) written(s roleStep) rowChange {
	s.cluster = 0
	c, known := p.writes[s]
	if known {
		return c
	}
	sent := p.record(nil, func() error {
		e := sample{Series: "s", Time: eventAt(s.event), Value: uint64(s.value)}
		return p.writer(p.early, uint64(s.mark)<<8).Write(p.t.Context(), e)
	})
	if len(sent) != 1 {
		p.t.Fatalf("%d requests", len(sent))
	}
	if c = sent[0]; s.what == stepOld {
		c.then = slices.DeleteFunc(slices.Clone(c.then), func(m *bigtablepb.Mutation) bool { return m.GetSetCell().GetFamilyName() == "h" })
	}
	c.id = c.identify()
	p.writes[s] = c
	return c
}

// run explores the scenario.
func (p *protocol) run() {
	p.seen, p.answers, p.sent = map[[16]byte]bool{}, map[string]string{}, map[string][]rowChange{}
	p.right, p.rows = map[string]bool{}, map[string]protocolRow{}
	p.explore(&protocolState{steps: make([]uint8, len(p.actors)), pending: make([][]rowChange, len(p.actors)), known: make([]uint32, len(p.actors))}, nil)
}

// Steps in short.
func stepsOf(groups ...[]roleStep) []roleStep { return slices.Concat(groups...) }
func writes(event, value, cluster, mark int) []roleStep {
	return []roleStep{{what: stepWrite, event: event, value: value, cluster: cluster, mark: mark}}
}
func olds(event, value, cluster int) []roleStep {
	return []roleStep{{what: stepOld, event: event, value: value, cluster: cluster}}
}
func deletes(event, cluster int) []roleStep {
	return []roleStep{{what: stepDelete, event: event, cluster: cluster}, {what: stepLand, event: event, cluster: cluster}}
}
func olderDeletes(cluster int) []roleStep {
	return []roleStep{{what: stepDelete, cluster: cluster, older: true}, {what: stepLand, cluster: cluster}}
}
func lands(cluster int) []roleStep { return []roleStep{{what: stepLand, cluster: cluster}} }
func seals(cluster, rounds int) (out []roleStep) {
	for range rounds {
		out = append(out, roleStep{what: stepLook, cluster: cluster}, roleStep{what: stepLand, cluster: cluster})
	}
	return out
}
func passes(clusters int) (out []roleStep) {
	out = append(out, roleStep{what: stepLate})
	for c := range clusters {
		out = append(out, roleStep{what: stepGone, cluster: c})
	}
	return out
}

// allOf returns the steps of a sealer with RollupOptions.All.
func allOf(seals []roleStep) []roleStep {
	for i := range seals {
		seals[i].all = true
	}
	return seals
}

// sealersOfScenario returns the sealers of a scenario: those of a table that gets a rollup while it has events find them without marks.
func sealersOfScenario(scenario string) [][]roleStep {
	switch scenario {
	case eventsWithoutMarks:
		return [][]roleStep{allOf(seals(0, 2)), allOf(seals(0, 1))}
	case sealedTooEarly:
		return [][]roleStep{seals(0, 1), seals(0, 1), allOf(seals(0, 1))}
	}
	return [][]roleStep{seals(0, 2), seals(0, 1)}
}

// The scenarios of a table that gets a rollup while it has events. In the second one, it is also sealed before the last program
// that writes without marks has ended.
const (
	eventsWithoutMarks = "events without marks"
	sealedTooEarly     = "sealed too early"
	erasedUnsealed     = "erased, unsealed"
)

// scenarios returns what users do, with one cluster or with two.
func scenarios(clusters int) map[string][][]roleStep {
	o := clusters - 1
	return map[string][][]roleStep{
		"a retry on the other cluster": {stepsOf(writes(1, 1, 0, 1), writes(1, 1, o, 1)), writes(1, 2, 0, 2)},
		"append, a retry":              {stepsOf(writes(1, 1, 0, 1), writes(1, 1, 0, 1)), writes(2, 1, o, 2), writes(3, 1, 0, 3)},
		"a mark that is used again":    {stepsOf(writes(1, 1, 0, 1), writes(1, 2, 0, 1), writes(2, 2, 0, 1)), stepsOf(writes(3, 1, o, 3), deletes(1, o))},
		"overwrite, a retry":           {stepsOf(writes(1, 1, 0, 1), writes(1, 2, 0, 2), writes(1, 2, 0, 2)), writes(2, 1, o, 3)},
		"delete, a late retry":         {stepsOf(writes(1, 1, 0, 1), writes(1, 1, 0, 1)), stepsOf(deletes(1, o), lands(o)), writes(2, 1, o, 3)},
		"delete the series":            {stepsOf(writes(1, 1, 0, 1), deletes(0, o)), writes(2, 1, o, 3)},
		"expiry":                       {stepsOf(writes(1, 1, 0, 1), writes(2, 1, 0, 2)), writes(3, 1, o, 3), passes(clusters)},
		eventsWithoutMarks:             {stepsOf(olds(1, 1, 0), writes(1, 2, o, 1)), stepsOf(olds(2, 1, o), deletes(2, 0)), writes(3, 1, o, 3)},
		sealedTooEarly:                 {stepsOf(olds(1, 1, 0), olds(2, 2, 0)), writes(2, 1, o, 3)},
		"delete what has expired":      {stepsOf(writes(1, 1, 0, 1), passes(clusters)), stepsOf(writes(2, 1, o, 3), deletes(1, o))},
		erasedUnsealed:                 {stepsOf(writes(1, 1, 0, 1), passes(clusters)), stepsOf(deletes(0, o), lands(o)), writes(2, 1, o, 3)},
		"erased again":                 {stepsOf(writes(1, 1, 0, 1), deletes(0, 0), writes(2, 1, 0, 1), deletes(0, o)), writes(2, 2, o, 3)},
		"erased by an older program":   {stepsOf(writes(1, 1, 0, 1), passes(clusters)), stepsOf(olderDeletes(o), writes(2, 1, o, 3), deletes(0, o))},
	}
}

// TestRollupProtocol explores all interleavings of scenarios with two sealers: readers of each cluster find exactly
// the events that it has, or are told that windows are inexact, which happens only after events have expired.
func TestRollupProtocol(t *testing.T) {
	t.Parallel()
	table := newProtocolTable(t)
	for _, clusters := range []int{1, 2} {
		for name, actors := range scenarios(clusters) {
			p := protocol{t: t, name: name, clusters: clusters, most: testlong.Pick(400, 1_000_000), protocolTable: table}
			p.actors = append(slices.Clone(actors), sealersOfScenario(name)...)
			begun := time.Now()
			p.run()
			t.Logf("%s, %d clusters: %d states, %d answers from runs, %d inexact, %d reads, %v", name, clusters, p.states, p.runs, p.inexact, len(p.answers), time.Since(begun))
			if p.wrong > 0 {
				t.Errorf("%s, %d clusters: %s", name, clusters, p.example)
			}
			if testlong.Enabled() && p.states >= p.most {
				t.Errorf("%s, %d clusters: not all states were explored", name, clusters)
			}
			if p.runs == 0 {
				t.Errorf("%s, %d clusters: no answer from a run", name, clusters)
			}
		}
	}
}
