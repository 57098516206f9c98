package trial

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Prefix is that of the IDs of all tables that a trial makes: the rest is the time of the trial, a random number, and what the
// table is for.
const Prefix = "btgen-trial-"

// tableName matches the IDs of the tables that a trial makes, and no others.
var tableName = regexp.MustCompile(`^` + Prefix + `([0-9]{10})-[0-9a-f]{6}-([a-z0-9]+)$`)

// mark is a column family that all tables of trials have: a name alone does not prove who made a table.
const mark = "btgen-trial"

// leftTable is the name of the table that stays behind for [Resume].
const leftTable = "left"

// Ages from which tables of earlier trials are removed.
const (
	abandoned = time.Hour           // a trial takes minutes
	forgotten = 15 * 24 * time.Hour // a table for [Resume]
)

// runPrefix returns the prefix of the tables of a trial.
func runPrefix(at time.Time, random uint32) string {
	return fmt.Sprintf("%s%010d-%06x-", Prefix, at.Unix(), random&0xffffff)
}

// scratch is a table of a trial.
type scratch struct {
	id, name string
	made     time.Time
}

// parseName returns the table of a trial with an ID; false if no trial made it.
func parseName(id string) (s scratch, ok bool) {
	m := tableName.FindStringSubmatch(id)
	if m == nil {
		return s, false
	}
	seconds, err := strconv.ParseInt(m[1], 10, 64)
	return scratch{id, m[2], time.Unix(seconds, 0)}, err == nil
}

// abandoned reports whether the trial of a table has ended long ago.
func (s scratch) abandoned(now time.Time) bool {
	if s.name == leftTable {
		return now.Sub(s.made) > forgotten
	}
	return now.Sub(s.made) > abandoned
}

// scratchTables returns the tables of trials, sorted, and the IDs of the others.
func (c *Clients) scratchTables(ctx context.Context) (ours []scratch, others []string, err error) {
	ids, err := c.Admin.Tables(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("listing the tables: %w", err)
	}
	slices.Sort(ids)
	for _, id := range ids {
		s, named := parseName(id)
		if !named {
			others = append(others, id)
			continue
		}
		info, err := c.Admin.TableInfo(ctx, id)
		switch {
		case status.Code(err) == codes.NotFound: // it has just been deleted
		case err != nil:
			return nil, nil, fmt.Errorf("reading the families of table %s: %w", id, err)
		case slices.ContainsFunc(info.FamilyInfos, func(f bigtable.FamilyInfo) bool { return f.Name == mark }):
			ours = append(ours, s)
		default:
			others = append(others, id)
		}
	}
	return ours, others, nil
}

// Clean removes what trials have left that were killed more than an hour ago, and returns the IDs of the removed tables, and of
// those that only have such a name. Tables that stay for [Resume] are removed after 15 days.
func Clean(ctx context.Context, c *Clients, now time.Time) (removed, alike []string, err error) {
	ours, others, err := c.scratchTables(ctx)
	if err != nil {
		return nil, nil, err
	}
	removed, err = c.remove(ctx, ours, func(s scratch) bool { return s.abandoned(now) })
	return removed, slices.DeleteFunc(others, func(id string) bool { _, named := parseName(id); return !named }), err
}

// remove removes some tables.
func (c *Clients) remove(ctx context.Context, all []scratch, some func(scratch) bool) (removed []string, err error) {
	for _, s := range all {
		if !some(s) {
			continue
		}
		if failed := c.removeTable(ctx, s.id); failed != nil {
			err = errors.Join(err, fmt.Errorf("removing table %s: %w", s.id, failed))
		} else {
			removed = append(removed, s.id)
		}
	}
	return removed, err
}

// removeTable removes a table that a trial has made, also if it is protected or has views.
func (c *Clients) removeTable(ctx context.Context, id string) error {
	if _, ours := parseName(id); !ours {
		return fmt.Errorf("no trial made it")
	}
	err := c.Admin.DeleteTable(ctx, id)
	if status.Code(err) == codes.FailedPrecondition { // it is protected, or has views
		views, _ := c.Admin.AuthorizedViews(ctx, id)
		for _, view := range views {
			_ = c.Admin.DeleteAuthorizedView(ctx, id, view) // if it fails, the deletion of the table says so
		}
		if err = c.Admin.UpdateTableWithDeletionProtection(ctx, id, bigtable.Unprotected); err == nil {
			err = c.Admin.DeleteTable(ctx, id)
		}
	}
	if status.Code(err) == codes.NotFound {
		return nil
	}
	return err
}

// hidden are parts of error messages that name people or projects.
var hidden = regexp.MustCompile(`[-_.%+\w]+@[-\w]+(\.[-\w]+)+|\bprojects?[ /:=#"']+[-\w:.]+`)

// scrub removes names of the project from a text.
func (r *run) scrub(text string) string {
	text = strings.NewReplacer(r.prefix, "", r.parent(), "the instance").Replace(text)
	for _, name := range []string{r.Project, r.Instance, r.AppProfile} {
		if len(name) > 2 {
			text = regexp.MustCompile(`\b`+regexp.QuoteMeta(name)+`\b`).ReplaceAllString(text, "-")
		}
	}
	return hidden.ReplaceAllString(text, "-")
}
