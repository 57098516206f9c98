package setup

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/runtime/internal/call"
	"github.com/btgen-dev/btgen/runtime/store"
)

// Unmanaged is a live table, or a part of one, that is not in the schemas. Setup does not
// change it.
type Unmanaged struct {
	Table  string // with its prefix
	Family string // empty for a table
	// Part says which property of the table this is, if it is one, such as "row key schema of table t: not in the schemas".
	Part string
	// Means says what a Part means for the events of the table; it may be empty.
	Means string

	// ExamineUnmanaged and DeleteTables set the fields below, for tables and families.

	// Until is the end of the last layout that stored events here, in UTC; zero if the history
	// of layouts records no end.
	Until time.Time
	// Expired is when the newest event of that layout expired or will expire, according to
	// the live garbage collection rule; zero if that depends on more than the event's time.
	Expired time.Time
	// Ended reports whether no schema should use it anymore: according to the history, its
	// layouts have ended, or its removal from the schemas was accepted by name.
	Ended bool
	// Keep is the reason for which [DeleteTables] refuses to delete it; empty if it is safe
	// to delete.
	Keep string
}

// Name returns the name of a table or family for [DeleteTables]: "table" or "table/family".
func (u Unmanaged) Name() string {
	if u.Family == "" {
		return u.Table
	}
	return u.Table + "/" + u.Family
}

// String describes what is unmanaged on one line, and says whether it can be deleted.
func (u Unmanaged) String() string {
	s := "? " + cmp.Or(u.Part, where(u.Table, u.Family)+": not in the schemas") + ", left alone"
	switch {
	case u.Means != "":
		return s + ": " + u.Means
	case !u.Ended:
		return s
	case u.Keep != "":
		return s + ": " + u.Keep
	}
	return s + ": " + u.deletable() + "; to delete it: btgen-live delete-table " + u.Name()
}

// Deletion describes the deletion of a table or family on one line, such as
// "- table t (its layout ended on 2026-01-05, and its newest event expired on 2026-02-04)".
func (u Unmanaged) Deletion() string {
	return "- " + where(u.Table, u.Family) + " (" + u.deletable() + ")"
}

// deletable says why it is safe to delete.
func (u Unmanaged) deletable() string {
	switch {
	case u.Until.IsZero():
		return "it was removed from the schemas, and contains no unexpired cells"
	case u.Expired.IsZero():
		return fmt.Sprintf("its layout ended on %s, and it contains no unexpired cells", showDay(u.Until))
	}
	return fmt.Sprintf("its layout ended on %s, and its newest event expired on %s", showDay(u.Until), showDay(u.Expired))
}

// showDay returns a time as a date, if it is one, in UTC.
func showDay(at time.Time) string {
	if at = at.UTC(); at.Equal(at.Truncate(ageDay)) {
		return at.Format(time.DateOnly)
	}
	return at.Format(time.RFC3339)
}

// Lister lists the tables of an instance. *bigtable.AdminClient implements it.
type Lister interface {
	Tables(ctx context.Context) ([]string, error)
}

// UnknownTables returns the tables of an instance that begin with Options.TablePrefix
// and are not in tables, sorted. It takes the options of [Setup] and uses TablePrefix and
// Timeout. [Setup] ignores them, because they may belong to other schemas;
// [ExamineUnmanaged] says which of them can be deleted.
func UnknownTables(ctx context.Context, admin Lister, tables []store.Table, opts ...Options) ([]Unmanaged, error) {
	o := defaults(opts)
	if noAdmin(admin) {
		return nil, ErrNoAdmin
	}
	ctx, cancel := call.Within(ctx, o.Timeout)
	defer cancel()
	ids, err := admin.Tables(ctx)
	if status.Code(err) == codes.NotFound {
		return nil, &InstanceError{err}
	}
	if err != nil {
		return nil, fmt.Errorf("listing the tables: %w", call.Explain(ctx, err))
	}
	var unknown []Unmanaged
	for _, id := range slices.Sorted(slices.Values(ids)) {
		bare, ours := strings.CutPrefix(id, o.TablePrefix)
		if ours && id != HistoryTable && !slices.ContainsFunc(tables, func(t store.Table) bool { return t.ID == bare }) {
			unknown = append(unknown, Unmanaged{Table: id})
		}
	}
	return unknown, nil
}
