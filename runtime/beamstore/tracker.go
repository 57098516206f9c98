package beamstore

import (
	"encoding/json"
	"errors"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"

	"github.com/btgen-dev/btgen/runtime/store"
)

// tracker tracks which rows of a range are processed. It implements [sdf.RTracker]. Positions
// are row keys, and rangeEnd. A claimed row is processed as a whole, so events of one row
// never end up in two parts.
type tracker struct {
	within  store.KeyRange // shrinks when it is split
	claimed string         // the last claimed row; empty if there is none, since no row key is empty
	done    bool
	err     error
}

// ranged is a splittable DoFn whose restrictions are ranges of row keys of a source.
type ranged struct{}

// CreateInitialRestriction returns the range of all rows.
func (fn *ranged) CreateInitialRestriction(Source) store.KeyRange { return store.KeyRange{} }

// RestrictionSize returns the size of a range relative to other ranges.
func (fn *ranged) RestrictionSize(Source, store.KeyRange) float64 { return 1 }

// CreateTracker returns a tracker of a range.
func (fn *ranged) CreateTracker(within store.KeyRange) *sdf.LockRTracker {
	return sdf.NewLockRTracker(&tracker{within: within})
}

// rangeEnd is the position after the last row of a range.
type rangeEnd struct{}

// Errors of claims. They are bugs of this package.
var (
	errAfterEnd   = errors.New("a row was claimed after the end of its range")
	errOutOfOrder = errors.New("a row was claimed out of order")
)

// TryClaim claims the row with a key, or the rest of the range.
func (t *tracker) TryClaim(position any) bool {
	key, isRow := position.(string)
	switch {
	case !isRow:
		t.done = true
		return true
	case t.done:
		t.err = errAfterEnd
		return false
	case key < t.within.Start || key <= t.claimed:
		t.err = errOutOfOrder
		return false
	case t.ends(key):
		t.done = true
		return false
	}
	t.claimed = key
	return true
}

// ends reports whether a key is at or after the end of the range.
func (t *tracker) ends(key string) bool { return t.within.End != "" && key >= t.within.End }

// next returns the first key that is not claimed yet.
func (t *tracker) next() string {
	if t.claimed != "" {
		return t.claimed + "\x00"
	}
	return max(t.within.Start, "\x00") // so that a range that ends there is not open
}

// GetError returns the error of a claim.
func (t *tracker) GetError() error { return t.err }

// TrySplit keeps the given fraction of the remaining rows, as if keys were spread evenly, and
// returns the others as the residual; nil if there are none.
func (t *tracker) TrySplit(fraction float64) (primary, residual any, err error) {
	if t.IsDone() {
		return t.within, nil, nil
	}
	at := t.next()
	if fraction > 0 {
		at = max(at, store.KeyRange{Start: at, End: t.within.End}.At(min(fraction, 1)))
	}
	if t.ends(at) || t.within.End == "" && fraction >= 1 {
		return t.within, nil, nil
	}
	rest := store.KeyRange{Start: at, End: t.within.End}
	t.within.End = at
	return t.within, rest, nil
}

// GetProgress returns the shares of the range that are processed and remain.
func (t *tracker) GetProgress() (done, remaining float64) {
	switch {
	case t.done:
		return 1, 0
	case t.claimed == "":
		return 0, 1
	}
	share := t.within.Done(t.claimed)
	return share, 1 - share
}

// IsDone reports whether no rows remain.
func (t *tracker) IsDone() bool { return t.done || t.ends(t.next()) }

// GetRestriction returns the range, as far as it has not been split off.
func (t *tracker) GetRestriction() any { return t.within }

// IsBounded reports that the range is finite.
func (t *tracker) IsBounded() bool { return true }

func encodeRange(r store.KeyRange) ([]byte, error) { return json.Marshal(r) }

func decodeRange(b []byte) (r store.KeyRange, err error) {
	err = json.Unmarshal(b, &r)
	return r, err
}
