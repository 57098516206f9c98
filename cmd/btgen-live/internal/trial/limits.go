package trial

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// limits are assumptions about sizes. Each limit is two: what btgen allows is accepted, and what it refuses would be refused.
var limits = []Assumption{
	{"limit-key", "A row key may have 4 KiB.", quotas, keyOf(codec.MaxKey, codes.OK)},
	{"limit-key-over", "A row key over 4 KiB is refused.", quotas, keyOf(codec.MaxKey+1, codes.InvalidArgument)},
	{"limit-key-empty", "An empty row key is refused.", data("MutateRowRequest"), emptyKey},
	{"limit-qualifier", "A qualifier may have 16 KiB.", quotas, qualifierOf(16<<10, codes.OK)},
	{"limit-qualifier-over", "A qualifier over 16 KiB is refused.", quotas, qualifierOf(16<<10+1, codes.InvalidArgument)},
	{"limit-mutations", "A request may have 100,000 mutations of a row.", quotas, mutationsOf(100_000, codes.OK)},
	{"limit-mutations-over", "A request with 100,001 mutations of a row is refused.", quotas, mutationsOf(100_001, codes.InvalidArgument)},
	{"limit-bulk", "A bulk request may have 100,000 mutations.", quotas, bulkMutationsOf(100_000, codes.OK)},
	{"limit-bulk-over", "A bulk request with 100,001 mutations is refused.", quotas, bulkMutationsOf(100_001, codes.InvalidArgument)},
	{"limit-cell", "A cell may have 100 MiB, and no more.", quotas, tooLarge("it would send more than 100 MiB")},
	{"limit-row", "A row over 256 MB cannot be read.", quotas, tooLarge("it would store more than 256 MB")},
}

// keyOf writes a row with a key of n bytes.
func keyOf(n int, code codes.Code) check {
	return func(ctx context.Context, p place) (string, error) {
		return p.accepts(ctx, strings.Repeat("k", n-len(p.keys)), "x", code, fmt.Sprintf("a key of %d bytes", n))
	}
}

// qualifierOf writes a cell with a qualifier of n bytes.
func qualifierOf(n int, code codes.Code) check {
	return func(ctx context.Context, p place) (string, error) {
		return p.accepts(ctx, "a", strings.Repeat("q", n), code, fmt.Sprintf("a qualifier of %d bytes", n))
	}
}

// accepts writes a cell, which gets a code, and reads it.
func (p place) accepts(ctx context.Context, key, qualifier string, code codes.Code, what string) (string, error) {
	seen, err := saw(what, p.mutate(ctx, key, rebased([]mutation{set("f", qualifier, ms, "1")}, p.base)), code)
	if err != nil || code != codes.OK {
		return seen, err
	}
	cells, err := p.readRows(ctx, fixture{})
	if err == nil && (len(cells) != 1 || cells[0].row != key || cells[0].qualifier != qualifier) {
		err = differs("read %s", showCells(cells, p.base))
	}
	return seen + ", and read", err
}

// emptyKey writes to a row with an empty key.
func emptyKey(ctx context.Context, p place) (string, error) {
	p.keys = ""
	err := p.mutate(ctx, "", rebased([]mutation{set("f", "x", ms, "1")}, p.base))
	return "an empty key was refused", expected(err, codes.InvalidArgument, "an empty key")
}

// mutationsOf writes the same cell n times.
func mutationsOf(n int, code codes.Code) check {
	return func(ctx context.Context, p place) (string, error) {
		return saw(fmt.Sprintf("a request with %d mutations", n), p.mutate(ctx, "a", slices.Repeat([]mutation{deleteColumn("f", "x", nil)}, n)), code)
	}
}

// bulkMutationsOf writes the same cells of several rows, n times in all.
func bulkMutationsOf(n int, code codes.Code) check {
	return func(ctx context.Context, p place) (string, error) {
		const rows = 10
		var entries []entry
		for i := range rows {
			some := n / rows
			if i == 0 {
				some += n % rows
			}
			entries = append(entries, entry{fmt.Sprint(i), slices.Repeat([]mutation{deleteColumn("f", "x", nil)}, some)})
		}
		_, err := p.bulk(ctx, p.bulkOf(entries...))
		return saw(fmt.Sprintf("a request with %d mutations of %d rows", n, rows), err, code)
	}
}

// saw returns what became of something that gets a code.
func saw(what string, err error, code codes.Code) (string, error) {
	if err := expected(err, code, what); err != nil {
		return "", err
	}
	return what + map[bool]string{true: " was accepted", false: " was refused"}[code == codes.OK], nil
}

// tooLarge is the check of what a trial does not do.
func tooLarge(why string) check {
	return func(context.Context, place) (string, error) { return "", untried(why) }
}
