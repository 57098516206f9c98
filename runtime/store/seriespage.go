package store

import (
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/request"
)

// beginPage begins a page of series.
func (l *listing) beginPage() error {
	p := l.page
	if p == nil {
		return nil
	}
	if err := p.check(); err != nil {
		return err
	}
	p.Next = p.Token
	of := *l.read
	of.assembler.from, of.assembler.to = time.Time{}, time.Time{} // the order does not depend on them
	hash, err := of.pageHash()
	l.hash = ^hash // a page of events is another one
	if err != nil || p.Token == "" {
		return err
	}
	if l.after, err = parseToken(p.Token, l.hash); err != nil {
		return err
	}
	if at, known := l.after.rows(); known != l.ordered() || known && at.End != "" && at.End <= at.Start {
		return &TokenError{"it is damaged"}
	}
	return nil
}

// ordered reports whether the row keys of a series tell which series precede it.
func (l *listing) ordered() bool {
	return l.seen == nil && l.read.q.MultiSeries && l.read.q.AllTimes
}

// yield yields a series, unless it is that of an earlier page. It reports whether the caller wants more.
func (l *listing) yield(base event) (more bool) {
	p, n := l.page, l.read.op.Events
	if p == nil {
		return l.read.count(base, nil)
	}
	if l.listed++; l.after != nil && l.listed <= l.after.group {
		return true
	}
	before := p.Next
	p.Next = l.place().token(l.hash)
	more = l.read.count(base, nil)
	if l.read.op.Events == n { // the context has ended
		p.Next = before
	}
	return more && l.read.op.Events < p.Size
}

// place returns the place of the series of the last row.
func (l *listing) place() *pagePlace {
	if !l.ordered() {
		return &pagePlace{group: l.listed}
	}
	at := codec.Rows{Start: l.last, End: l.last + "\x00"} // another program wrote a wrong salt
	if l.current.Prefix != "" {
		at = l.current.All()
	}
	return &pagePlace{group: l.value, key: at.Start, mark: mark{open: true, data: []string{at.End}}}
}

// rows returns the rows of the series at a place; false if the place is a number of series.
func (p *pagePlace) rows() (at codec.Rows, known bool) {
	if len(p.data) != 1 {
		return at, false
	}
	return codec.Rows{Start: p.key, End: p.data[0]}, true
}

// left returns what a page needs of the rows of a request: none before those of the last series of the previous page.
func (l *listing) left(rows []codec.Rows) []codec.Rows {
	if l.after == nil || !l.ordered() {
		return rows
	}
	at, _ := l.after.rows()
	if l.value != l.after.group || !slices.ContainsFunc(rows, func(r codec.Rows) bool { return r.Start <= at.Start && (r.End == "" || at.Start < r.End) }) {
		return nil
	}
	l.after = nil
	return request.Past(rows, at)
}
