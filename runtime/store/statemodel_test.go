package store

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/btgen-dev/btgen/golden/testlong"
)

// This file explores the protocol of the pattern latest: every interleaving of the requests of
// writers, deleters, garbage collection and the clock on one series, on a model of its row and of
// the table of events. A process that stops anywhere is one that takes no further step, so every
// state is checked as if all processes had been killed in it. A request of a deletion or a back-fill that
// changes the row may arrive at any later time, if its process was killed; and each of them may be
// executed once more at any later time, also after its call has ended: the client or the network has sent
// it twice. So may each request of a writer. One copy is in flight at a time.
//
// What is promised, in each state, for a reader that requests the row of a series (and searches the
// events if the row does not tell), and for one that scans the rows of many series:
//
//   - both find what a search of the events finds, unless a writer is between its two requests;
//   - while it is, they may still find the state before that write, and nothing older;
//   - so a deleter that stops at any step hides nothing and leaves nothing that was deleted.
//
// Not promised is the state of an event that is written and deleted at the same time: each of the
// tables may then have it or not, as in any two tables. Neither is that after a copy of the request that writes an event to the
// table of events has arrived when a deletion or a back-fill has repaired the row since.

// nowEvent is what the model stores of an event.
type nowEvent struct {
	time, sequence int8 // the sequence is a fraction of the timestamp of cells
	data           [2]byte
}

// nothing is no event.
var nothing = nowEvent{}

// Times are from 1 to nowTimes-1.
const nowTimes, nowSequences, nowCallers = 6, 3, 3

// nowState is a state of both tables and of all processes.
type nowState struct {
	now    int8
	events [nowTimes][nowSequences][2]byte
	row    [2][nowTimes]byte              // two columns, whose cells have a time
	sums   [nowTimes]nowSum               // of the versions of events
	marks  [2 * nowCallers][nowMarks]int8 // the times up to which the row does not tell; 0 if there is none
	at     [nowCallers]nowProcess
	late   nowRequest // of a killed process, or a copy
	none   int8       // the time of the mark of no call; 0 if there is none
}

// nowSum is the sum of the digests of the versions of an event that were written to the row: a multiple of one of
// them, or mixed. The zero sum is none.
type nowSum struct {
	data  [2]byte
	mixed bool
}

// add adds the digest of a version.
func (n *nowSum) add(data [2]byte) {
	n.mixed = n.mixed || *n != nowSum{} && n.data != data
	n.data = data
}

// nowMarks is the number of marks that a call may set, one after the other.
const nowMarks = 4

// nowRequest is a request of a deletion or a back-fill that changes the row, or one that writes an event.
type nowRequest struct {
	of      int8    // the index of the marks of its call plus one; 0 for no request
	writes  int8    // the step of the writer plus one; 0 for a deletion or a back-fill
	has     int8    // the number of the mark that the row must have, plus one; 0 for no condition
	set     int8    // the number of the mark to set
	mark    int8    // its time; 0 for none
	from    int8    // the time from which cells of some columns are deleted
	clear   int8    // and up to which
	columns [2]bool // of these
	put     nowEvent
	add     nowEvent             // its digest is added to the sum of its time
	unmark  bool                 // remove the marks of the call before
	seen    [2 * nowCallers]bool // calls whose marks to remove, too
	none    bool                 // remove the mark of no call
}

// nowProcess is the progress of a process.
type nowProcess struct {
	step     int
	again    bool // it repeats the request of a step, once in its life
	repeated bool // the whole call, after it was killed
	up       int8 // of a deletion: the time of its mark
	mark     int8 // the number of its mark
	cleared  int8 // the number of the mark with which it has deleted the cells
	newer    bool // the row had a newer event
	columns  [2]bool
	found    nowEvent
	before   [2]byte // what a writer replaced
	had      bool
	seen     [2 * nowCallers]bool // marks of others
	none     bool                 // of a deletion: the row has the mark of no call
	exists   bool                 // of a write of an absent event: it was there
}

// nowCall is a call of a process: a write, a deletion of a range of times, or a worker of a back-fill.
type nowCall struct {
	name     string
	write    nowEvent
	absent   bool // it is written if it is absent
	from, to int8
	fills    bool
}

func (c *nowCall) deletes() bool { return c.to > 0 }
func (c *nowCall) writes() bool  { return !c.deletes() && !c.fills }

// nowVariant is a broken protocol.
type nowVariant struct {
	latestFirst bool // writers write the row before the event
	noRefill    bool // deleters do not search the newest event that is left
	oneVersion  bool // deleters delete only the newest version
	noMark      bool // deleters do not mark the row first
	once        bool // deleters do not search again after they wrote what they found
	allMarks    bool // deleters remove the marks of others, too
	outlives    bool // the row lives longer than the events
	atOnce      bool // deleters of a row with a newer event remove its old cells and the mark at once
	anyway      bool // changes do not depend on the mark of their call
	oneMark     bool // a change leaves the mark on which it depends
	anyMark     bool // the mark of another call suffices for an event that exists
	noneLast    bool // the mark of no call is removed with that of a deletion
	noSums      bool // readers believe rows without the sum of versions
	lastSum     bool // the sum is only that of the last version
	resets      bool // the sum is set to the digest of a refill at once, without a condition
	unsummed    bool // the digest of a refill is not added, and rows without a sum are believed
}

// nowModel explores the interleavings of some calls.
type nowModel struct {
	nowVariant
	calls    []nowCall
	life     int8 // of events; 0 for ever
	collect  bool
	restart  bool // killed processes are started again
	clock    int8 // the last time
	states   int
	failure  string
	empty    bool // the row has nothing at first, and is only read when a back-fill has ended
	lates    bool // requests of killed processes may arrive late
	held     bool // the next request that changes the row does
	twice    bool // it is executed, and again later
	versions bool // two of the calls write versions of an event, and copies of their requests may arrive late
}

// alive reports whether a table with a time to live has an event of a time.
func (s *nowState) alive(at, life int8) bool { return life == 0 || at > s.now-life }

// search finds the newest event.
func (m *nowModel) search(s *nowState) nowEvent {
	for at := int8(nowTimes - 1); at > 0 && s.alive(at, m.life); at-- {
		for sequence := int8(nowSequences - 1); sequence >= 0; sequence-- {
			if data := s.events[at][sequence]; data != [2]byte{} {
				return nowEvent{at, sequence, data}
			}
		}
	}
	return nothing
}

func (e nowEvent) compare(o nowEvent) int { return int(cmp.Or(e.time-o.time, e.sequence-o.sequence)) }

// rowLife is the time to live of the row.
func (m *nowModel) rowLife() int8 {
	if m.outlives {
		return 0
	}
	return m.life
}

// inRow returns the event that the row has, whether it tells the newest event, and whether the row
// exists. A reader of a row that does not tell searches.
func (m *nowModel) inRow(s *nowState) (e nowEvent, tells, exists bool) {
	for i := range s.row {
		at := int8(nowTimes - 1)
		for at > 0 && s.row[i][at] == 0 {
			at--
		}
		if at == 0 || !s.alive(at, m.rowLife()) {
			continue
		}
		if at > e.time {
			e.data, e.time = [2]byte{}, at
		}
		if at == e.time {
			e.data[i] = s.row[i][at]
		}
	}
	marked := false
	for _, marks := range s.marks {
		for _, at := range marks {
			if at > 0 && s.alive(at, m.rowLife()) {
				exists = true
				marked = marked || at >= e.time
			}
		}
	}
	if s.none > 0 && s.alive(s.none, m.rowLife()) {
		exists, marked = true, marked || s.none >= e.time
	}
	marked = marked || !m.pure(s, e)
	return e, e != nothing && !marked, exists || e != nothing
}

// pure reports whether the newest sum of the row is that of one version of its event.
func (m *nowModel) pure(s *nowState, e nowEvent) bool {
	at := int8(nowTimes - 1)
	for at > e.time && s.sums[at] == (nowSum{}) {
		at--
	}
	return m.noSums || at == e.time && s.sums[at] == nowSum{data: e.data} || m.unsummed && s.sums[e.time] == (nowSum{})
}

// put writes the cells of an event in one mutation.
func (s *nowState) put(e nowEvent) {
	for i := range s.row {
		s.row[i][e.time] = e.data[i]
	}
}

// steps calls add with the states after one step of any process.
func (m *nowModel) steps(s nowState, add func(s nowState)) {
	for i := range m.calls {
		p := &s.at[i]
		if m.done(i, p) {
			continue
		}
		run := m.writing
		if !m.calls[i].writes() {
			run = m.deleting
		}
		next := s
		run(&next, i)
		add(next)
		if p.step > 0 && !p.again && m.calls[i].writes() { // the reply was lost, and the client sends the request of the last step again
			next := s
			next.at[i].step--
			next.at[i].again = true
			run(&next, i)
			add(next)
		}
		if next := s; m.lates && next.late.of == 0 && (m.versions || !m.calls[i].writes()) {
			m.twice = true
			if run(&next, i); next.late.of > 0 {
				add(next)
			}
			m.twice = false
		}
		if m.restart && p.step > 0 && !p.repeated { // killed, and called again
			next := s
			next.at[i] = nowProcess{repeated: true, again: p.again, before: p.before, had: p.had}
			add(next)
			if next, m.held = s, true; m.lates && next.late.of == 0 && !m.calls[i].writes() { // or its request is in flight
				if run(&next, i); next.late.of > 0 {
					next.at[i] = nowProcess{repeated: true}
					add(next)
				}
			}
			m.held = false
		}
	}
	if s.late.of > 0 {
		next := s
		next.late = nowRequest{}
		m.receive(&next, &s.late)
		add(next)
	}
	if s.now < m.clock {
		next := s
		next.now++
		add(next)
	}
	if m.collect {
		for i := range s.row {
			next := s
			newest := true
			for at := int8(nowTimes - 1); at > 0; at-- {
				if !newest {
					next.row[i][at] = 0
				}
				newest = newest && next.row[i][at] == 0
			}
			for at := int8(nowTimes - 1); i == 0 && at > 0; at-- {
				if next.sums[at] != (nowSum{}) {
					clear(next.sums[:at])
				}
			}
			add(next)
		}
	}
}

// The steps of a deleter, and of a worker of a back-fill, which begins with another search. From looking
// on, they are repeated until a second search finds what was written.
const (
	marking = iota
	erasing1
	erasing2
	looking
	searching
	changing
	adding
	verifying
	unmarking
	raising
	deleted = 100
)

// done reports whether a call has returned.
func (m *nowModel) done(i int, p *nowProcess) bool {
	if m.calls[i].writes() {
		return p.step == 3
	}
	return p.step == deleted
}

// writing executes the next step of a writer: the event, the row, and the return.
func (m *nowModel) writing(s *nowState, i int) {
	p, e := &s.at[i], m.calls[i].write
	switch {
	case p.step == 2:
	case (p.step == 0) != m.latestFirst:
		stored := &s.events[e.time][e.sequence]
		if p.exists = m.calls[i].absent && *stored != [2]byte{}; p.exists {
			break
		}
		if !p.again && !p.repeated {
			p.before, p.had = *stored, *stored != [2]byte{}
		}
		*stored = e.data
		if m.twice && !m.calls[i].absent && !slices.ContainsFunc(m.calls, func(c nowCall) bool { return !c.writes() }) {
			s.late = nowRequest{of: int8(i + 1), writes: 1, put: e}
		}
	case p.exists:
		m.markNone(s, e.time)
	default:
		m.writeRow(s, e)
		if m.twice {
			s.late = nowRequest{of: int8(i + 1), writes: 2, put: e}
		}
	}
	p.step++
}

// writeRow writes an event to the row.
func (m *nowModel) writeRow(s *nowState, e nowEvent) {
	s.put(e)
	if m.lastSum {
		s.sums[e.time] = nowSum{}
	}
	s.sums[e.time].add(e.data)
}

// rewrites executes the request of a writer once more.
func (m *nowModel) rewrites(s *nowState, r *nowRequest) {
	if r.writes == 2 {
		m.writeRow(s, r.put)
		return
	}
	s.events[r.put.time][r.put.sequence] = r.put.data
}

// markNone marks a row that lacks an event of a time, unless it has a newer one.
func (m *nowModel) markNone(s *nowState, at int8) {
	has := s.none >= at
	for i := range s.row {
		has = has || slices.ContainsFunc(s.row[i][at:], func(datum byte) bool { return datum != 0 })
	}
	for _, marks := range s.marks {
		has = has || m.anyMark && slices.Max(marks[:]) >= at
	}
	if !has {
		s.none = at
	}
}

// deleting executes the next step of a deleter or a back-fill.
func (m *nowModel) deleting(s *nowState, i int) {
	p, call := &s.at[i], &m.calls[i]
	p.step++
	switch p.step - 1 {
	case marking:
		if call.fills {
			p.up, p.step = m.search(s).time, raising
			if p.up == 0 {
				*p = nowProcess{step: deleted, repeated: p.repeated}
			}
			return
		}
		p.up = call.to - 1
		for of, marks := range s.marks {
			p.seen[of] = m.allMarks && marks != [nowMarks]int8{}
		}
		m.send(s, i, nowRequest{mark: p.up})
	case raising:
		p.step = looking
		m.send(s, i, nowRequest{mark: p.up})
	case erasing1, erasing2: // two events are not deleted at once
		for at := call.from; at < call.to; at++ {
			if s.events[at] != [nowSequences][2]byte{} {
				s.events[at] = [nowSequences][2]byte{}
				break
			}
		}
	case looking:
		m.looking(s, i)
	case searching:
		if p.found = m.search(s); m.noRefill {
			p.found = nothing
		}
		p.up = max(p.up, p.found.time)
	case changing:
		m.changing(s, i)
	case adding:
		if p.found != nothing && !m.unsummed {
			m.send(s, i, nowRequest{set: p.mark, add: p.found})
		}
	case verifying:
		if m.search(s) != p.found {
			p.step, p.found = looking, nothing
		}
	case unmarking:
		m.unmarking(s, i)
	}
}

// looking reads the row.
func (m *nowModel) looking(s *nowState, i int) {
	p, own := &s.at[i], s.marks[m.markOf(s, i)]
	p.mark = nowMarks - 1
	for p.mark >= 0 && own[p.mark] == 0 {
		p.mark--
	}
	switch {
	case m.noMark:
		p.mark = 0
	case p.mark < 0 || p.mark == nowMarks-1: // it was removed, or the mark stays
		*p = nowProcess{step: deleted, repeated: p.repeated}
		return
	default:
		p.up = max(own[p.mark], s.none)
	}
	e, _, _ := m.inRow(s)
	p.newer, p.found, p.none = e.time > p.up, e, s.none > 0
	for column := range s.row {
		p.columns[column] = s.row[column] != [nowTimes]byte{}
	}
	switch {
	case p.newer && p.cleared > 0 && (p.cleared == p.mark || m.oneMark || m.noMark):
		p.step = unmarking
	case p.newer:
		p.step, p.found = changing, nothing
	}
}

// changing sends the request that changes the row, and replaces the mark.
func (m *nowModel) changing(s *nowState, i int) {
	p := &s.at[i]
	r := nowRequest{has: p.mark + 1, set: p.mark + 1, mark: p.up, columns: p.columns, clear: p.up, put: p.found, unmark: true, none: p.none && !m.noneLast}
	if m.oneVersion {
		r.from = p.up
	}
	if m.oneMark {
		r.set, r.unmark = p.mark, false
	}
	if m.anyway || m.noMark {
		r.has = 0
	}
	if m.atOnce && p.newer {
		r.mark = 0
	}
	ends := r.mark == 0
	switch matched := m.send(s, i, r); {
	case !matched:
		p.step, p.found = looking, nothing
	case ends:
		*p = nowProcess{step: deleted, repeated: p.repeated}
	case p.newer:
		p.step, p.mark, p.cleared = looking, r.set, r.set
		if m.oneMark || m.noMark {
			p.cleared = 1
		}
	default:
		p.mark = r.set
		if m.once || m.noRefill {
			p.step = unmarking
		}
	}
}

// unmarking removes the marks of the call.
func (m *nowModel) unmarking(s *nowState, i int) {
	p := &s.at[i]
	m.send(s, i, nowRequest{set: nowMarks - 1, unmark: true, seen: p.seen, none: p.none && m.noneLast})
	*p = nowProcess{step: deleted, repeated: p.repeated}
}

// send sends a request, and reports whether it changed the row. One that is held arrives later.
func (m *nowModel) send(s *nowState, i int, r nowRequest) bool {
	r.of = int8(m.markOf(s, i) + 1)
	if m.noMark {
		r.mark = 0
	}
	if m.held || m.twice {
		s.late = r
	}
	return m.held || m.receive(s, &r)
}

// receive executes a request, and reports whether it changed the row.
func (m *nowModel) receive(s *nowState, r *nowRequest) bool {
	if r.writes > 0 {
		m.rewrites(s, r)
		return true
	}
	own := &s.marks[r.of-1]
	if r.has > 0 && own[r.has-1] == 0 {
		return false
	}
	for column, named := range r.columns {
		if named {
			clear(s.row[column][r.from : r.clear+1])
		}
	}
	clear(s.sums[r.from : r.clear+1])
	if r.add != nothing {
		if m.resets {
			s.sums[r.add.time] = nowSum{}
		}
		s.sums[r.add.time].add(r.add.data)
	}
	if r.put != nothing {
		s.put(r.put)
	}
	if r.unmark {
		clear(own[:r.set])
	}
	own[r.set] = max(own[r.set], r.mark)
	if r.none {
		s.none = 0
	}
	for of, seen := range r.seen {
		if seen {
			s.marks[of] = [nowMarks]int8{}
		}
	}
	return true
}

// markOf returns the index of the mark of a call. Each call has its own, also one that is repeated.
func (m *nowModel) markOf(s *nowState, i int) int {
	of := i
	if s.at[i].repeated {
		of += nowCallers
	}
	return of
}

// check returns what is wrong with a state; empty if nothing is.
func (m *nowModel) check(s *nowState) string {
	filled := func(i int) bool { return m.calls[i].fills && m.done(i, &s.at[i]) }
	if m.empty && !filled(0) && !filled(len(m.calls)-1) {
		return ""
	}
	truth := m.search(s)
	e, tells, exists := m.inRow(s)
	if !tells {
		e = truth // a search
	}
	if why := m.allowed(s, e, truth); why != "" {
		return fmt.Sprintf("a read of the series finds %v instead of %v: %s", e, truth, why)
	}
	if !exists {
		if why := m.allowed(s, nothing, truth); why != "" {
			return fmt.Sprintf("a scan finds nothing instead of %v: %s", truth, why)
		}
	}
	return ""
}

// allowed returns why a reader must not find an event instead of the newest one.
func (m *nowModel) allowed(s *nowState, e, truth nowEvent) string {
	if e == truth {
		return ""
	}
	writes := func(of nowEvent, before *[2]byte) bool { // a call that has begun and not returned
		for i := range m.calls {
			c, p := &m.calls[i], &s.at[i]
			if c.writes() && c.write == of && !m.done(i, p) && (p.step > 0 || p.again || p.repeated) && (before == nil || p.before == *before) {
				return true
			}
		}
		return false
	}
	if !s.alive(e.time, m.life) && e != nothing {
		return "it has expired"
	}
	if e.compare(truth) == 0 {
		if writes(truth, &e.data) || m.versions && writes(truth, nil) { // one of the others
			return ""
		}
		return "no writer is replacing it"
	}
	for at := int8(1); at < nowTimes; at++ {
		for sequence, data := range s.events[at] {
			newer := nowEvent{at, int8(sequence), data}
			if data != [2]byte{} && s.alive(at, m.life) && newer.compare(e) > 0 && !writes(newer, nil) {
				return fmt.Sprintf("no writer is writing %v", newer)
			}
		}
	}
	if e != nothing && s.events[e.time][e.sequence] != e.data &&
		!slices.ContainsFunc(s.at[:], func(p nowProcess) bool { return p.had && p.before == e.data }) {
		return "it is not stored"
	}
	return ""
}

// String describes an event.
func (e nowEvent) String() string {
	if e == nothing {
		return "nothing"
	}
	return fmt.Sprintf("%d.%d%q", e.time, e.sequence, e.data)
}

// explore visits all states, and records the first failure.
func (m *nowModel) explore(first []nowEvent) {
	start := nowState{now: m.clock}
	if m.life > 0 {
		start.now -= 2
	}
	for _, e := range first {
		start.events[e.time][e.sequence] = e.data
		if !m.empty {
			m.writeRow(&start, e)
		}
	}
	if m.life > 0 && len(first) == 1 {
		start.none = 3 // an event was deleted since
	}
	seen := map[nowState]bool{start: true}
	queue := []nowState{start}
	for len(queue) > 0 && m.failure == "" {
		s := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		m.states++
		if why := m.check(&s); why != "" {
			m.failure = fmt.Sprintf("%v, from %v: %s in state %v", m.calls, first, why, s)
		}
		m.steps(s, func(next nowState) {
			if !seen[next] {
				seen[next] = true
				queue = append(queue, next)
			}
		})
	}
}

// nowCalls are the calls that are combined.
func nowCalls() []nowCall {
	write := func(name string, at int8, data ...byte) nowCall {
		return nowCall{name: name, write: nowEvent{time: at, data: [2]byte(data)}}
	}
	return []nowCall{
		write("new", 3, 'n', 'n'),
		write("without b", 3, 'o', 0),
		write("late", 2, 'l', 'l'),
		write("late, without a", 2, 0, 'm'),
		write("replace", 1, 'r', 0),
		{name: "absent", write: nowEvent{time: 2, data: [2]byte{'i', 0}}, absent: true},
		{name: "delete nothing", from: 3, to: 4},
		{name: "delete newest", from: 2, to: 3},
		{name: "delete oldest", from: 1, to: 2},
		{name: "delete both", from: 1, to: 3},
		{name: "fill", fills: true},
	}
}

// conflict reports whether an event is written and deleted at the same time.
func conflict(calls []nowCall) bool {
	for i, a := range calls {
		for _, b := range calls[:i] {
			switch {
			case a.deletes() && b.deletes():
			case a.from <= b.write.time && b.write.time < a.to, b.from <= a.write.time && a.write.time < b.to:
				return true
			}
		}
	}
	return false
}

// versions reports whether two calls write versions of an event.
func versions(calls []nowCall) bool {
	for i, a := range calls {
		for _, b := range calls[:i] {
			if a.writes() && b.writes() && a.write.time == b.write.time && a.write != b.write {
				return true
			}
		}
	}
	return false
}

// combinations calls f with each combination of n calls, in which a call may occur twice.
func combinations(all []nowCall, n int, f func([]nowCall)) {
	var extend func(from int, some []nowCall)
	extend = func(from int, some []nowCall) {
		if len(some) == n {
			f(slices.Clone(some))
			return
		}
		for i := from; i < len(all); i++ {
			extend(i, append(some, all[i]))
		}
	}
	extend(0, nil)
}

// nowVersions are calls that write versions of an event beside a repair of the row.
func nowVersions() [][]nowCall {
	one, two := nowCall{write: nowEvent{2, 0, [2]byte{'x', 'x'}}}, nowCall{write: nowEvent{2, 0, [2]byte{'y', 0}}}
	return [][]nowCall{
		{one, two, {fills: true}}, // many states
		{one, two, {from: 3, to: 4}},
		{one, two, {from: 1, to: 2}},
		{one, two, two},
	}
}

// nowStarts are the events at the start.
func nowStarts() [][]nowEvent {
	one, two := nowEvent{1, 0, [2]byte{'a', 'b'}}, nowEvent{2, 0, [2]byte{'c', 0}}
	return [][]nowEvent{nil, {one}, {one, two}}
}

// explored explores combinations of n calls with a variant of the protocol, and returns the first
// failure.
func explored(v nowVariant, n int) (failure string, states int) {
	all := nowCalls()
	if !v.latestFirst && !v.outlives { // deletions and back-fills, the last ones, find most faults
		slices.Reverse(all)
	}
	var groups [][]nowCall
	combinations(all, n, func(calls []nowCall) {
		if !conflict(calls) {
			groups = append(groups, calls)
		}
	})
	if v == (nowVariant{}) { // a variant ends at its first failure
		groups = testlong.Sample(groups, 36)
	}
	for _, calls := range groups {
		for _, first := range nowStarts() {
			for _, life := range []int8{0, 2} {
				for _, empty := range []bool{false, true} {
					if failure != "" || empty && !calls[0].fills && !calls[n-1].fills {
						continue
					}
					m := nowModel{nowVariant: v, calls: calls, life: life, clock: 4, collect: true, restart: n < 3, empty: empty}
					m.versions = versions(calls)
					m.lates = life == 0 && !empty && len(first) == 2
					late := m // requests, without restarts
					late.lates, late.restart = true, false
					m.explore(first)
					if m.failure == "" && !m.lates && testlong.Enabled() {
						late.explore(first)
					}
					states += m.states + late.states
					failure = cmp.Or(m.failure, late.failure)
				}
			}
		}
	}
	return failure, states
}

// TestStateProtocol explores the protocol of the pattern latest: two calls, or as many as the environment
// variable BTGEN_STATE_CALLS says. Three have 8.5 million states, which takes minutes.
func TestStateProtocol(t *testing.T) {
	most, err := strconv.Atoi(cmp.Or(os.Getenv("BTGEN_STATE_CALLS"), "2"))
	must(t, err)
	for n := 2; n <= most; n++ {
		failure, states := explored(nowVariant{}, n)
		if failure != "" {
			t.Error(failure)
		}
		t.Logf("%d calls: %d states", n, states)
	}
}

// TestStateProtocolVariants checks that the exploration finds what is wrong with broken protocols.
func TestStateProtocolVariants(t *testing.T) {
	for _, v := range testlong.Sample([]struct {
		name string
		nowVariant
	}{
		{"the row before the event", nowVariant{latestFirst: true}},
		{"a deletion without refill", nowVariant{noRefill: true}},
		{"deletion of the newest version", nowVariant{oneVersion: true}},
		{"a deletion without mark", nowVariant{noMark: true}},
		{"a refill that is not verified", nowVariant{once: true}},
		{"removing the marks of others", nowVariant{allMarks: true}},
		{"a row that outlives the events", nowVariant{outlives: true}},
		{"clearing and unmarking at once", nowVariant{atOnce: true}},
		{"a change without a condition", nowVariant{anyway: true}},
		{"a change that leaves the mark", nowVariant{oneMark: true}},
		{"marks that suffice for others", nowVariant{anyMark: true}},
		{"the mark of none removed last", nowVariant{noneLast: true}},
	}, 7) {
		if failure, _ := explored(v.nowVariant, 2); failure == "" {
			t.Errorf("%s: not found", v.name)
		} else {
			t.Logf("%s: %s", v.name, failure)
		}
	}
	m := nowModel{clock: 4, calls: []nowCall{ // less than a millisecond apart
		{write: nowEvent{1, 2, [2]byte{'x', 'x'}}}, {write: nowEvent{1, 1, [2]byte{'y', 'y'}}},
	}}
	if m.explore(nil); m.failure == "" {
		t.Error("equal milliseconds: not found")
	}
}

// TestVersionsProtocol explores writers of versions of an event, and repairs of its row, with copies of each request at
// any later time, and with broken protocols.
func TestVersionsProtocol(t *testing.T) {
	for _, v := range []struct {
		name string
		nowVariant
	}{
		{"", nowVariant{}},
		{"no sums", nowVariant{noSums: true}},
		{"the sum of the last version only", nowVariant{lastSum: true}},
		{"sums that are set", nowVariant{resets: true}},
		{"rows without sums", nowVariant{unsummed: true}},
	} {
		failure := ""
		for i, calls := range nowVersions() {
			if failure == "" && (v.name != "" || i >= 2 || testlong.Enabled()) {
				m := nowModel{nowVariant: v.nowVariant, clock: 4, calls: calls, lates: true, versions: true}
				m.explore([]nowEvent{{1, 0, [2]byte{'a', 'b'}}, {2, 0, [2]byte{'c', 0}}})
				failure = m.failure
			}
		}
		if (failure == "") != (v.name == "") {
			t.Errorf("%s: %q", v.name, failure)
		}
		t.Logf("%s: %s", v.name, failure)
	}
}
