package store

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/request"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// Page makes a read return one page of its events, for [ReadOptions]. The read sets Next, with
// which the next page continues after the last event of this one, in another process if need be:
// events that are stored throughout are returned once, whatever is written or deleted between the
// pages. A Page must not be used by several reads at a time.
type Page struct {
	// Size is the maximum number of events; at least 1.
	Size int
	// Token is the Next of the previous page; empty for the first page. A token of a read with
	// other parameters, of another table or of another layout causes a *TokenError.
	Token string
	// Next is the token of the next page; empty if there are no more events. The read sets it
	// after each event, so that it continues after the last one that was yielded if the loop or
	// the read ends early. If there are exactly Size events left, it is not empty. It contains
	// row keys or, in codec.BucketNewColumns, values, and is not encrypted.
	Next string
}

// ErrPage is the error for a page of a read that has no lasting order: with LatestOnly, with Size
// less than 1, or in order of time of several values, in different row ranges.
var ErrPage = errors.New("the read cannot return pages")

// TokenError reports a Page.Token with which a read cannot continue.
type TokenError struct{ Reason string }

// Error says what is wrong with the token, and what to do.
func (e *TokenError) Error() string {
	return "page token: " + e.Reason + ": start again without a token"
}

// paging is the state of a read of a page.
type paging struct {
	*Page
	hash   uint64     // of what the read must have in common with that of the token
	byTime bool       // the order of events is that of their times, rather than of their row keys
	after  *pagePlace // the last event of the previous page; nil for the first page
	group  int        // the group of values that is being read
	part   time.Time  // the end of the part that is being read
	merged bool       // the rows of several spans of the part are merged
}

// pagePlace is the place of an event in the order of a read.
type pagePlace struct {
	period   time.Time // Mapping.Since
	group    int       // of several values
	part     time.Time // end of the part of the time range
	key      string    // of the row, without what precedes the time if the rows of several spans are merged
	time     time.Time
	sequence uint32
	mark
}

// mark tells an event from the others of its series that have the same time and sequence number.
// These are the events of codec.BucketNewColumns, and otherwise those that programs with different
// classes have written, because a write replaces an event of another class that it knows. A page
// that ends with the last of them needs no mark: what the next page finds at its time was written
// later, or is the same event with another class.
type mark struct {
	open  bool     // others follow the event
	class int      // the class of the event
	data  []string // its data in the columns that are fetched, in codec.BucketNewColumns
}

// compare orders the marks of events with the same place. Events of new columns consist of the
// n-th datum of each column, so that no datum of an event precedes that of an earlier one.
func (m *mark) compare(o *mark) int { return cmp.Or(m.class-o.class, slices.Compare(m.data, o.data)) }

// pageOrder is the order of the places of a read.
type pageOrder struct {
	byTime      bool // see paging
	newestFirst bool
	backward    bool // row keys are read in descending order
}

// compare orders places. Events at the same time have the order of their rows, whatever the order
// of times.
func (o pageOrder) compare(a, b *pagePlace) int {
	sign := 1
	if o.newestFirst {
		sign = -1
	}
	at := sign * cmp.Or(a.time.Compare(b.time), cmp.Compare(a.sequence, b.sequence))
	row := strings.Compare(a.key, b.key)
	if o.backward {
		row = -row
	}
	if o.byTime {
		return cmp.Or(at, row)
	}
	return cmp.Or(sign*a.period.Compare(b.period), a.group-b.group, sign*a.part.Compare(b.part), row, at)
}

// follows reports whether an event comes after another one.
func (o pageOrder) follows(a, b *pagePlace) bool {
	switch order := o.compare(a, b); {
	case order != 0 || !b.open:
		return order > 0
	case o.newestFirst:
		return a.mark.compare(&b.mark) < 0
	}
	return a.mark.compare(&b.mark) > 0
}

func (r *reading) beginPage() error {
	p := r.options.Page
	if p == nil {
		return nil
	}
	if err := p.check(); err != nil {
		return err
	}
	if r.options.LatestOnly {
		return fmt.Errorf("%w with LatestOnly, whose events have no lasting order", ErrPage)
	}
	p.Next = p.Token
	page := &paging{Page: p, byTime: r.sorts() || r.many == nil && !r.q.MultiSeries}
	r.page, r.assembler.marks = page, true
	if limit := r.options.Limit; limit == 0 || p.Size < limit {
		r.options.Limit = p.Size
	}
	var err error
	if page.hash, err = r.pageHash(); err != nil || p.Token == "" {
		return err
	}
	if page.after, err = parseToken(p.Token, page.hash); err != nil || !page.byTime {
		return err
	}
	r.startAt(page.after.time)
	return nil
}

// check returns the error for an invalid size.
func (p *Page) check() error {
	if p.Size < 1 {
		return fmt.Errorf("%w: the size is %d: use 1 or more", ErrPage, p.Size)
	}
	return nil
}

// startAt restricts the time range to what does not precede a time in the order of the read.
func (r *reading) startAt(at time.Time) {
	a := &r.assembler
	if r.options.NewestFirst {
		a.to = codec.Earlier(a.to, at.Add(1))
	} else if a.from.Before(at) {
		a.from = at
	}
}

// inOrderOfTime reports whether the events that are being read, of all or of one of several values,
// are those of one series in order of time.
func (r *reading) inOrderOfTime() bool {
	return !r.q.MultiSeries && !r.sorts() && (r.many == nil || !r.many.listed)
}

// pageHash returns a hash of what determines the order of the events of a read.
func (r *reading) pageHash() (uint64, error) {
	h := fnv.New64a()
	text := func(s string) { _, _ = fmt.Fprintf(h, "%d:%s", len(s), s) }
	text(r.q.Name)
	a, o := &r.assembler, &r.options
	text(a.from.UTC().Format(time.RFC3339Nano))
	text(a.to.UTC().Format(time.RFC3339Nano))
	text(fmt.Sprint(o.NewestFirst, o.TimeOrder, r.many != nil))
	for i, reader := range append([]*Reader{r.reader}, r.reader.older...) {
		text(reader.table.ID)
		text(reader.mapping.Table.Layout)
		text(reader.mapping.Since.UTC().Format(time.RFC3339Nano))
		if reader.mapping.Pattern.Appends() {
			text(fmt.Sprintf("%#v", o.Fields)) // they determine how many events there are
		}
		q := r.q
		if i > 0 {
			q = r.q.older(reader, i-1)
		}
		of := *r
		of.reader, of.q = reader, q
		if err := of.hashValues(h); err != nil {
			return 0, err
		}
	}
	return h.Sum64(), nil
}

// hashValues adds the values of the query to a hash: their spans, the patterns of their keys and
// the conditions on fields.
func (r *reading) hashValues(h io.Writer) error {
	of := *r
	if r.many == nil {
		of.many = &many{all: []bound{r.value()}}
	}
	conditions, err := r.conditions()
	if err != nil {
		return err
	}
	if conditions != nil {
		_, _ = fmt.Fprintf(h, "%#v", conditions)
	}
	values, err := of.distinct()
	for i := range values {
		_, _ = fmt.Fprintf(h, "%d:%s", len(values[i].id), values[i].id)
	}
	return err
}

func (r *reading) place(e event) (pagePlace, error) {
	l := r.reader.mapping
	p := pagePlace{period: l.Since, group: r.page.group, part: r.page.part, time: *l.Time(e), sequence: l.sequenceOf(e), mark: r.assembler.mark}
	if class := l.ttlFields(e).Class; class != nil {
		p.class = *class
	}
	if r.inOrderOfTime() {
		p.part = time.Time{} // it ends where the page begins if the newest come first
		return p, nil
	}
	key, err := l.firstKey(e)
	if err != nil {
		return p, err
	}
	p.key = string(key[:len(key)-l.ties]) // time and sequence tell the order of an instant
	if r.page.merged {
		p.key = p.key[len(r.asked.Spans[request.SpanOf(r.asked.Spans, p.key)].Prefix):]
	}
	return p, nil
}

// countPaged is count for an event of a page. It leaves out those of earlier pages.
func (r *reading) countPaged(e event) bool {
	p := r.page
	at, err := r.place(e)
	if err != nil {
		r.failed = err
		r.yield(e, err)
		return false
	}
	order := pageOrder{p.byTime, r.options.NewestFirst, r.options.NewestFirst != r.reader.shape.Descending()}
	if p.after != nil && !order.follows(&at, p.after) {
		return true
	}
	r.op.Events++
	p.Next = at.token(p.hash)
	return r.yield(e, nil) && r.op.Events < r.options.Limit
}

// skips reports whether all events of a mapping precede the page.
func (p *paging) skips(since time.Time, newestFirst bool) bool {
	if p == nil || p.after == nil || p.byTime {
		return false
	}
	order := since.Compare(p.after.period)
	return order < 0 && !newestFirst || order > 0 && newestFirst
}

// enterGroup begins with a group of values. It reports whether all its events precede the page.
func (r *reading) enterGroup(n int) (skipped bool) {
	p := r.page
	if p == nil {
		return false
	}
	p.group = n
	if !p.within(r.reader.mapping.Since) {
		return false
	}
	if n == p.after.group && r.inOrderOfTime() {
		r.startAt(p.after.time)
	}
	return n < p.after.group
}

// within reports whether the page continues within a mapping.
func (p *paging) within(since time.Time) bool {
	return p.after != nil && !p.byTime && p.after.period.Equal(since)
}

// enterPart begins with a part of the time range. It returns what the keys of the page's first
// rows begin with, if it begins in the part, and reports whether all events precede the page.
func (r *reading) enterPart(part *scan.Part) (begin string, skipped bool) {
	p := r.page
	if p == nil {
		return "", false
	}
	p.part, p.merged = part.To, part.Route == scan.Merged
	if !p.within(r.reader.mapping.Since) || p.group != p.after.group || r.inOrderOfTime() {
		return "", false
	}
	switch order := part.To.Compare(p.after.part); {
	case order == 0:
		return p.after.key, false
	default:
		return "", order < 0 != r.options.NewestFirst
	}
}

// tokenVersion is the first byte of a token.
const tokenVersion = 2

// token returns the token of a page that continues after a place.
func (p *pagePlace) token(hash uint64) string {
	b := binary.BigEndian.AppendUint64([]byte{tokenVersion}, hash)
	for _, t := range []time.Time{p.period, p.part, p.time} {
		b = binary.AppendVarint(b, t.Unix())
		b = binary.AppendUvarint(b, uint64(t.Nanosecond()))
	}
	b = binary.AppendUvarint(b, uint64(p.group))
	b = binary.AppendUvarint(b, uint64(p.sequence))
	b = appendText(b, p.key)
	if p.open {
		b = binary.AppendUvarint(b, uint64(p.class))
		for _, datum := range p.data {
			b = appendText(b, datum)
		}
	}
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
}

// appendText appends a text with its length.
func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// parseToken parses a token of a read with the given hash. The error is a *TokenError.
func parseToken(token string, hash uint64) (*pagePlace, error) {
	b, err := base64.RawURLEncoding.DecodeString(token)
	n := len(b) - 4
	switch {
	case err != nil || n < 9 || base64.RawURLEncoding.EncodeToString(b) != token || crc32.ChecksumIEEE(b[:n]) != binary.BigEndian.Uint32(b[n:]):
		return nil, &TokenError{"it is damaged"}
	case b[0] != tokenVersion:
		return nil, &TokenError{fmt.Sprintf("it has version %d, not %d", b[0], tokenVersion)}
	case binary.BigEndian.Uint64(b[1:]) != hash:
		return nil, &TokenError{"it is that of another read: the query, its values, the time range, the order or the layout of the table differ"}
	}
	b = b[9:n]
	p := new(pagePlace)
	for _, t := range []*time.Time{&p.period, &p.part, &p.time} {
		seconds := readVarint(&b, binary.Varint)
		*t = time.Unix(seconds, int64(readVarint(&b, binary.Uvarint))).UTC()
	}
	p.group = int(readVarint(&b, binary.Uvarint))
	p.sequence = uint32(readVarint(&b, binary.Uvarint))
	p.key = readText(&b)
	if p.open = len(b) > 0; p.open {
		p.class = int(readVarint(&b, binary.Uvarint))
	}
	for len(b) > 0 {
		p.data = append(p.data, readText(&b))
	}
	return p, nil
}

// readText reads a text with its length from the beginning of b, as far as b has it.
func readText(b *[]byte) string {
	n := min(readVarint(b, binary.Uvarint), uint64(len(*b)))
	s := string((*b)[:n])
	*b = (*b)[n:]
	return s
}

// readVarint reads a number from the beginning of b; 0 if it has none, and then b is empty.
func readVarint[N int64 | uint64](b *[]byte, read func([]byte) (N, int)) N {
	v, n := read(*b)
	if n <= 0 {
		n = len(*b)
	}
	*b = (*b)[n:]
	return v
}
