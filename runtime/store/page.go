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
	"github.com/btgen-dev/btgen/runtime/scan"
)

// Page makes a read return one page of its events, for [ReadOptions]. The read sets Next, with
// which the next page continues after the last event of this one, in another process if need be:
// events that are stored throughout are returned once, whatever is written or deleted between the
// pages. A Page must not be used by several reads at a time.
type Page struct {
	// Size is the maximum number of events; at least 1. In codec.BucketNewColumns, a page ends
	// only between two times, because nothing else tells events apart.
	Size int
	// Token is the Next of the previous page; empty for the first page. A token of a read with
	// other parameters, of another table or of another layout causes a *TokenError.
	Token string
	// Next is the token of the next page; empty if there are no more events. The read sets it
	// after each event, so that it continues after the last one that was yielded if the loop or
	// the read ends early. If there are exactly Size events left, it is not empty. It contains
	// row keys, and is not encrypted.
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
	last   *pagePlace // the last event that arrived; nil before the first
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
	class    int
	// alike is the number of events with this place up to this one, in codec.BucketNewColumns.
	alike int
}

// compare orders places in order of time, or of row keys, as far as it is the order of events: the
// opposite for reads with the newest first. backward is whether row keys are read in descending
// order.
func (p *pagePlace) compare(o *pagePlace, byTime, newestFirst, backward bool) int {
	sign := 1
	if newestFirst {
		sign = -1
	}
	if byTime {
		return sign * cmp.Or(p.time.Compare(o.time), cmp.Compare(p.sequence, o.sequence), strings.Compare(p.key, o.key), p.class-o.class)
	}
	order := strings.Compare(p.key, o.key)
	if backward {
		order = -order
	}
	return cmp.Or(sign*p.period.Compare(o.period), p.group-o.group, sign*p.part.Compare(o.part), order,
		sign*cmp.Or(p.time.Compare(o.time), cmp.Compare(p.sequence, o.sequence), p.class-o.class))
}

// beginPage begins the read of a page.
func (r *reading) beginPage() error {
	p := r.options.Page
	if p == nil {
		return nil
	}
	if r.options.LatestOnly || p.Size < 1 {
		return ErrPage
	}
	p.Next = p.Token
	page := &paging{Page: p, byTime: r.sorts() || r.many == nil && !r.q.MultiSeries}
	r.page = page
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

// startAt restricts the time range to what does not precede a time in the order of the read.
func (r *reading) startAt(at time.Time) {
	a := &r.assembler
	if r.options.NewestFirst {
		a.to = earlier(a.to, at.Add(1))
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
	for i, reader := range append([]*reader{r.reader}, r.reader.older...) {
		text(reader.table.id)
		text(reader.mapping.Table.Layout)
		text(reader.mapping.Since.UTC().Format(time.RFC3339Nano))
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
		of.many = &many{all: []event{r.given}}
	}
	if r.high.exists() {
		spans, err := r.q.Spans(r.high)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprint(h, spans)
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

// place returns the place of an event.
func (r *reading) place(e event) (pagePlace, error) {
	l := r.reader.mapping
	p := pagePlace{period: l.Since, group: r.page.group, part: r.page.part, time: *l.Time(e), sequence: l.sequenceOf(e)}
	if class := l.ttlFields(e).Class; class != nil {
		p.class = *class
	}
	if r.inOrderOfTime() {
		p.part = time.Time{} // it ends where the page begins if the newest come first
		return p, nil
	}
	metric := ""
	if l.Pattern == codec.BucketNewColumns {
		metric = l.Columns[0].Name
	}
	key, err := l.rowKey(e, metric)
	if err != nil {
		return p, err
	}
	p.key = string(key[:len(key)-l.Ties]) // time and sequence tell the order of an instant
	if r.page.merged {
		p.key = p.key[len(r.asked.Spans[spanOf(r.asked.Spans, p.key)].Prefix):]
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
	compare := func(o *pagePlace) int {
		return at.compare(o, p.byTime, r.options.NewestFirst, r.options.NewestFirst != r.reader.shape.Descending())
	}
	several := r.reader.mapping.Pattern == codec.BucketNewColumns // events may have the same place
	if at.alike = 1; several && p.last != nil && compare(p.last) == 0 {
		at.alike += p.last.alike
	}
	full := r.op.Events >= r.options.Limit
	p.last = &at
	switch order := p.afterwards(compare); {
	case order < 0, order == 0 && at.alike <= p.after.alike:
		return true
	case several && full && at.alike == 1:
		return false
	}
	r.op.Events++
	p.Next = at.token(p.hash)
	return r.yield(e, nil) && (several || r.op.Events < r.options.Limit)
}

// afterwards returns the result of a comparison with the last event of the previous page.
func (p *paging) afterwards(compare func(*pagePlace) int) int {
	if p.after == nil {
		return 1
	}
	return compare(p.after)
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

// since returns the rows of a request that a page which begins with the rows of a key prefix can
// have: those from there on, in reading order.
func since(rows []codec.Rows, begin string) []codec.Rows {
	edge := codec.PrefixRows(begin)
	var left []codec.Rows
	for _, r := range rows {
		switch {
		case r.Keys != nil:
			r.Keys = slices.DeleteFunc(slices.Clone(r.Keys), func(key string) bool {
				return r.Reverse && edge.End != "" && key >= edge.End || !r.Reverse && key < begin
			})
			if len(r.Keys) == 0 {
				continue
			}
		case !r.Reverse:
			r.Start = max(r.Start, begin)
		case edge.End != "" && (r.End == "" || edge.End < r.End):
			r.End = edge.End
		}
		if r.Keys != nil || r.End == "" || r.Start < r.End {
			left = append(left, r)
		}
	}
	return left
}

// tokenVersion is the first byte of a token.
const tokenVersion = 1

// token returns the token of a page that continues after a place.
func (p *pagePlace) token(hash uint64) string {
	b := binary.BigEndian.AppendUint64([]byte{tokenVersion}, hash)
	for _, t := range []time.Time{p.period, p.part, p.time} {
		b = binary.AppendVarint(b, t.Unix())
		b = binary.AppendUvarint(b, uint64(t.Nanosecond()))
	}
	b = binary.AppendUvarint(b, uint64(p.group))
	b = binary.AppendUvarint(b, uint64(p.sequence))
	b = binary.AppendUvarint(b, uint64(p.class))
	b = binary.AppendUvarint(b, uint64(p.alike))
	b = append(b, p.key...)
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
}

// parseToken parses a token of a read with the given hash. The error is a *TokenError.
func parseToken(token string, hash uint64) (*pagePlace, error) {
	b, err := base64.RawURLEncoding.DecodeString(token)
	n := len(b) - 4
	switch {
	case err != nil || n < 9 || crc32.ChecksumIEEE(b[:n]) != binary.BigEndian.Uint32(b[n:]):
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
	p.class = int(readVarint(&b, binary.Uvarint))
	p.alike = int(readVarint(&b, binary.Uvarint))
	p.key = string(b)
	return p, nil
}

// readVarint reads a number from the beginning of b; 0 if it has none.
func readVarint[N int64 | uint64](b *[]byte, read func([]byte) (N, int)) N {
	v, n := read(*b)
	*b = (*b)[max(0, n):]
	return v
}
