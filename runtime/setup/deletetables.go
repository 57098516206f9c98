package setup

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/facts"
	"github.com/btgen-dev/btgen/runtime/internal/call"
	"github.com/btgen-dev/btgen/runtime/store"
)

// DeleteOptions configure [ExamineUnmanaged] and [DeleteTables]. The zero value is valid.
// If several are passed, the last one replaces the others.
type DeleteOptions struct {
	// TablePrefix precedes every table ID, for example "staging_".
	TablePrefix string
	// Timeout limits each request, including its retries. 0 means
	// [store.DefaultTimeout]; with [store.NoTimeout], a call whose context has no deadline may retry forever.
	Timeout time.Duration
	// Now is the clock for times to live; time.Now if nil.
	Now func() time.Time
	// DryRun returns what would be deleted without deleting anything.
	DryRun bool
	// Removed are the tables ("table") and families ("table/family"), without prefix, whose
	// removal from the schemas was accepted by name, as btgen.lock records it.
	Removed []string
}

// Deleter contains the methods of *bigtable.AdminClient that [DeleteTables] uses.
type Deleter interface {
	Admin
	DeleteTable(ctx context.Context, table string) error
	DeleteColumnFamily(ctx context.Context, table, family string) error
}

// KeptError reports that [DeleteTables] deleted nothing because of these tables and families,
// for the reasons in Unmanaged.Keep.
type KeptError struct{ Kept []Unmanaged }

// Error lists the tables and families with the reasons.
func (e *KeptError) Error() string {
	s := "nothing was deleted:"
	for _, u := range e.Kept {
		s += "\n" + where(u.Table, u.Family) + ": " + u.Keep
	}
	return s
}

// ExamineUnmanaged returns unmanaged tables and families with what the history of layouts and
// the stored cells say about them, and whether [DeleteTables] would delete them. For each one
// whose newest event should have expired, it looks for a cell that has not. It changes nothing.
// The error is a *[HistoryError] if the history cannot be read.
func ExamineUnmanaged(ctx context.Context, admin Admin, client store.Client, found []Unmanaged, opts ...DeleteOptions) ([]Unmanaged, error) {
	x, err := newExaminer(ctx, admin, client, found, opts)
	if err != nil {
		return nil, err
	}
	out := slices.Clone(found)
	for i := range out {
		if u := &out[i]; u.Part != "" {
			continue
		} else if _, err := x.examine(ctx, u); err != nil {
			u.Keep = fmt.Sprintf("it could not be examined: %v", err)
		}
	}
	return out, nil
}

// DeleteTables deletes the tables ("table") and column families ("table/family") with the
// given names, which include the prefix. tables are those of the schemas. It deletes only what
// [Setup] has recorded in the history of layouts and no schema uses anymore:
//
//   - The last layout there ended more than its time to live and a week ago, or
//     DeleteOptions.Removed contains the table or family.
//   - The history knows every column family.
//   - No cell is stored there that is younger than the age in the family's garbage collection
//     rule, whoever wrote it; without an age, no cell at all. A table of codec.Latest that
//     DeleteOptions.Removed contains may have cells, since other tables have its events.
//   - The table is not protected from deletion.
//
// If any name does not meet these conditions, it deletes nothing, and returns a *[KeptError].
// It returns what it deleted, or would delete with DeleteOptions.DryRun. What no longer
// exists is left out, so a call can be repeated: after any failure, or if the process is
// killed, some of the tables are deleted, each as a whole, and the rest is unchanged.
// The history keeps the layouts of deleted tables; a table that is created again with the same
// ID may have any layout.
//
// A cell that another program writes after the check is deleted, too. If a reply is lost, the request is not repeated once a setup has
// recorded a layout of the table; but Bigtable may execute the first attempt later: do not create a table or family of the same name
// again before DeleteOptions.Timeout has passed. Bigtable can restore a
// deleted table for seven days (gcloud bigtable instances tables undelete), but not a family.
func DeleteTables(ctx context.Context, admin Deleter, client store.Client, tables []store.Table, names []string, opts ...DeleteOptions) ([]Unmanaged, error) {
	var found []Unmanaged
	for _, name := range names {
		table, family, _ := strings.Cut(name, "/")
		found = append(found, Unmanaged{Table: table, Family: family})
	}
	x, err := newExaminer(ctx, admin, client, found, opts)
	if err != nil {
		return nil, err
	}
	var ready, kept []Unmanaged
	for _, u := range found {
		exists := true
		if u.Keep = x.inUse(tables, u); u.Keep == "" {
			if exists, err = x.examine(ctx, &u); err != nil {
				return nil, err
			}
		}
		switch {
		case u.Keep != "":
			kept = append(kept, u)
		case exists:
			ready = append(ready, u)
		}
	}
	switch {
	case kept != nil:
		return nil, &KeptError{kept}
	case x.options.DryRun:
		return ready, nil
	}
	for i, u := range ready {
		if err := x.delete(ctx, admin, u); err != nil {
			return ready[:i], fmt.Errorf("deleting %s: %w", where(u.Table, u.Family), err)
		}
	}
	return ready, nil
}

// examiner finds out which tables and families may be deleted.
type examiner struct {
	admin   retryAdmin
	client  store.Client
	history *layoutHistory
	options DeleteOptions
}

func newExaminer(ctx context.Context, admin Admin, client store.Client, found []Unmanaged, opts []DeleteOptions) (*examiner, error) {
	o := call.Last(opts)
	o.Now, o.Timeout = call.Clock(o.Now), cmp.Or(o.Timeout, store.DefaultTimeout)
	retrying, err := newRetryAdmin(admin, o.Timeout)
	if err != nil {
		return nil, err
	}
	x := &examiner{retrying, client, &layoutHistory{table: store.OpenTable(client, HistoryTable), admin: retrying}, o}
	var tables []store.Table
	for _, u := range found {
		if !slices.ContainsFunc(tables, func(t store.Table) bool { return t.ID == u.Table }) {
			tables = append(tables, store.Table{ID: u.Table})
		}
	}
	if tables != nil {
		x.history.rows, err = x.history.read(ctx, tables)
	}
	return x, err
}

// inUse returns why a table or family is not unmanaged; empty if it is.
func (x *examiner) inUse(tables []store.Table, u Unmanaged) string {
	uses := func(t store.Table) bool {
		return x.options.TablePrefix+t.ID == u.Table && (u.Family == "" || slices.ContainsFunc(t.Families, func(f store.Family) bool { return f.Name == u.Family }))
	}
	switch {
	case u.Table == HistoryTable:
		return "it contains the history of layouts"
	case slices.ContainsFunc(tables, uses):
		return "the schemas use it: first remove the layout in before there, once btgen breaking reports that as SAFE, or the table, with the --accept that btgen generate names"
	}
	return ""
}

// examine sets what the history and the stored cells say about a table or family. It reports
// whether that exists.
func (x *examiner) examine(ctx context.Context, u *Unmanaged) (bool, error) {
	live, err := readTable(ctx, x.admin, u.Table)
	if err != nil {
		return false, err
	}
	past, exists := pastOf(x.history.rows[u.Table].layouts, u.Family), live.hasFamily(u.Family)
	u.Ended, u.Until = past.known && (!past.open || x.removed(u)), past.until
	families := []string{u.Family}
	if exists && u.Family == "" {
		families = slices.Sorted(maps.Keys(live.families))
	}
	foreign := slices.IndexFunc(families, func(name string) bool { return past.kinds[name] == "" })
	switch {
	case !past.known && !exists:
		u.Keep = "it does not exist, and the history of layouts does not have it: check the name"
	case !past.known:
		u.Keep = "the history of layouts does not have it: btgen deletes only what it has set up"
	case !exists:
	case !u.Ended:
		u.Keep = "its layout has not ended, and btgen.lock does not record its removal: other schemas may use it"
	case foreign >= 0:
		u.Keep = fmt.Sprintf("the history of layouts does not have family %s, which another program may use", families[foreign])
	case live.protected:
		u.Keep = "it is protected from deletion: gcloud bigtable instances tables update " + u.Table + " --no-deletion-protection removes the protection"
	default:
		u.Keep, err = x.unexpired(ctx, u, live, families, past.kinds, past.newest)
	}
	return exists, err
}

// removed reports whether the removal of a table or family was accepted by name.
func (x *examiner) removed(u *Unmanaged) bool {
	bare, ours := strings.CutPrefix(u.Name(), x.options.TablePrefix)
	table, _, _ := strings.Cut(bare, "/")
	return ours && (slices.Contains(x.options.Removed, bare) || slices.Contains(x.options.Removed, table))
}

// unexpired returns why events may be alive; empty if none is, or if other tables have them: newest
// says that the table only ever had the newest event of each series. It sets u.Expired.
func (x *examiner) unexpired(ctx context.Context, u *Unmanaged, live *liveTable, families []string, kinds map[string]string, newest bool) (string, error) {
	now := x.options.Now()
	if u.Until.After(now) {
		return "its layout ends on " + showDay(u.Until), nil
	}
	if !u.Until.IsZero() {
		u.Expired = live.expiry(u.Until, kinds, families)
	}
	if !u.Expired.IsZero() && !collected(u.Expired, now) {
		return fmt.Sprintf("its layout ended on %s, and its newest event expires on %s: it can be deleted after %s", showDay(u.Until), showDay(u.Expired), showDay(u.Expired.Add(deletionDelay))), nil
	}
	if newest && x.removed(u) {
		return "", nil
	}
	for _, name := range families {
		cell, err := x.youngCell(ctx, u.Table, name, live.families[name].rule, now)
		if err != nil {
			return "", fmt.Errorf("looking for unexpired cells in %s: %w", where(u.Table, name), err)
		}
		if cell != "" {
			return fmt.Sprintf("it contains a cell that has not expired: %s, in family %s (%s)", cell, name, showRule(live.families[name].rule)), nil
		}
	}
	return "", nil
}

// youngCell returns a cell of a family that is younger than the age of its rule; empty if there
// is none.
func (x *examiner) youngCell(ctx context.Context, table, family string, rule codec.GCRule, now time.Time) (string, error) {
	filters := []bigtable.Filter{bigtable.FamilyFilter(regexp.QuoteMeta(family))}
	if age := longest(rule); age > 0 {
		if from := now.Add(-age).Truncate(time.Millisecond); from.After(time.UnixMilli(0)) { // Bigtable's granularity
			filters = append(filters, bigtable.TimestampRangeFilter(from, time.Time{}))
		}
	}
	filters = append(filters, bigtable.CellsPerRowLimitFilter(1), bigtable.StripValueFilter())
	ctx, cancel := call.Within(ctx, x.options.Timeout)
	defer cancel()
	cell := ""
	err := store.OpenTable(x.client, table).ReadRows(ctx, bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		for _, item := range row[family] {
			cell = fmt.Sprintf("row %q, of %s", row.Key(), showDay(item.Timestamp.Time()))
		}
		return false
	}, bigtable.LimitRows(1), bigtable.RowFilter(bigtable.ChainFilters(filters...)))
	return cell, call.Explain(ctx, err)
}

// delete deletes a table or family. If a reply is lost, another attempt may find that it no
// longer exists, or that a setup has created it again.
func (x *examiner) delete(ctx context.Context, admin Deleter, u Unmanaged) error {
	attempts := 0
	_, err := x.admin.retry(ctx, "", func(ctx context.Context) error {
		if attempts++; attempts > 1 {
			now, err := x.history.read(ctx, []store.Table{{ID: u.Table}})
			if err != nil {
				return err
			}
			if len(now[u.Table].steps) > len(x.history.rows[u.Table].steps) {
				u.Keep = "a setup has recorded its layout since"
				return &KeptError{[]Unmanaged{u}}
			}
		}
		if u.Family == "" {
			return admin.DeleteTable(ctx, u.Table)
		}
		return admin.DeleteColumnFamily(ctx, u.Table, u.Family)
	})
	if err == nil || u.Keep != "" {
		return err
	}
	if live, failed := readTable(ctx, x.admin, u.Table); failed == nil && !live.hasFamily(u.Family) {
		return nil
	}
	return err
}

// past is what the history has of a table or family.
type past struct {
	known bool
	kinds map[string]string // meaning of the timestamps, by family of the table
	until time.Time         // end of its last layout
	open  bool              // a layout of it has no end
	// newest is set if each layout has the newest event of each series alone.
	newest bool
}

// pastOf returns what the history of a table has of the table or, unless it is empty, of a
// family: what the newest layouts of each schema say that have it.
func pastOf(history []recordedLayout, family string) past {
	p := past{kinds: map[string]string{}, newest: true}
	latest := map[string]facts.Layouts{} // by schema
	for _, r := range history {
		for _, l := range r.layouts {
			maps.Copy(p.kinds, l.Kinds())
			p.newest = p.newest && l.Pattern().NewestOnly()
		}
		if family == "" || slices.Contains(r.layouts.Live(), family) {
			latest[r.Family], p.known = r.layouts, true
		}
	}
	p.newest = p.newest && p.known
	for _, all := range latest {
		for _, l := range all {
			if family != "" && l.Kinds()[family] == "" {
				continue
			}
			p.open = p.open || l.Until().IsZero()
			if l.Until().After(p.until) {
				p.until = l.Until()
			}
		}
	}
	if p.open {
		p.until = time.Time{}
	}
	return p
}
