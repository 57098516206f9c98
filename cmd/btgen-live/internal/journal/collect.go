package journal

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
)

// hideRules turns the rules of families into intersections of one rule, which the server stores and does not apply.
func hideRules(request any) {
	switch r := request.(type) {
	case *adminpb.CreateTableRequest:
		for _, f := range r.GetTable().GetColumnFamilies() {
			hideRule(f)
		}
	case *adminpb.ModifyColumnFamiliesRequest:
		for _, m := range r.GetModifications() {
			hideRule(m.GetCreate())
			hideRule(m.GetUpdate())
		}
	}
}

func hideRule(f *adminpb.ColumnFamily) {
	if f.GetGcRule().GetRule() != nil {
		f.GcRule = &adminpb.GcRule{Rule: &adminpb.GcRule_Intersection_{Intersection: &adminpb.GcRule_Intersection{Rules: []*adminpb.GcRule{f.GetGcRule()}}}}
	}
}

// showRules reverses hideRules in a response.
func showRules(table *adminpb.Table) {
	for _, f := range table.GetColumnFamilies() {
		if rules := f.GetGcRule().GetIntersection().GetRules(); len(rules) == 1 {
			f.GcRule = rules[0]
		}
	}
}

// collectAll collects the garbage of all tables.
func (j *Journal) collectAll(ctx context.Context) error {
	j.changes.Lock()
	tables := slices.Sorted(maps.Keys(j.tables))
	j.changes.Unlock()
	for _, name := range tables {
		table, err := j.admin().GetTable(j.own(ctx), &adminpb.GetTableRequest{Name: name})
		if err != nil {
			return err
		}
		c := collector{j: j, table: name, unit: 1000, rules: map[string]*adminpb.GcRule{}}
		if table.GetGranularity() == adminpb.Table_MICROS {
			c.unit = 1
		}
		for id, f := range table.GetColumnFamilies() {
			if f.GetGcRule().GetRule() != nil {
				c.rules[id] = f.GetGcRule()
			}
		}
		if len(c.rules) > 0 {
			if err := c.collect(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// collector collects the garbage of a table.
type collector struct {
	j     *Journal
	table string
	unit  int64 // of timestamps, in microseconds
	rules map[string]*adminpb.GcRule
}

// collect finds rows with garbage without stopping changes, and collects that of one row at a time.
func (c *collector) collect(ctx context.Context) error {
	c.j.rows.RLock()
	defer c.j.rows.RUnlock()
	return c.j.read(&bigtablepb.ReadRowsRequest{TableName: c.table}, func(key []byte, cells []storedCell) error {
		c.j.rows.RUnlock()
		defer c.j.rows.RLock()
		if err := ctx.Err(); err != nil || len(c.garbage(cells)) == 0 {
			return err
		}
		return c.collectRow(ctx, key)
	})
}

// collectRow deletes the garbage that a row has now.
func (c *collector) collectRow(ctx context.Context, key []byte) error {
	end, err := c.j.begin()
	defer end()
	if err != nil {
		return nil // those who change rows are told
	}
	var mutations []*bigtablepb.Mutation
	err = c.j.readRow(c.table, key, func(cells []storedCell) error { mutations = c.garbage(cells); return nil })
	if err != nil || len(mutations) == 0 {
		return err
	}
	if _, err := c.j.server.MutateRow(ctx, &bigtablepb.MutateRowRequest{TableName: c.table, RowKey: key, Mutations: mutations}); err != nil {
		state := effects{table: c.table}
		return errors.Join(err, state.addState(c.j, key), c.j.saveEffects(&state))
	}
	e := effects{table: c.table}
	e.add(key, mutations)
	return c.j.saveEffects(&e)
}

// garbage returns mutations that delete the garbage of a row. The cells of a column are together, the newest first.
func (c *collector) garbage(cells []storedCell) []*bigtablepb.Mutation {
	var out []*bigtablepb.Mutation
	now := time.Now().UnixMicro()
	newer := 0
	for i, cell := range cells {
		newer++
		if i == 0 || cells[i-1].family != cell.family || !bytes.Equal(cells[i-1].qualifier, cell.qualifier) {
			newer = 0
		}
		if collectible(c.rules[cell.family], newer, cell.micros, now) {
			out = append(out, &bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_DeleteFromColumn_{DeleteFromColumn: &bigtablepb.Mutation_DeleteFromColumn{
				FamilyName: cell.family, ColumnQualifier: cell.qualifier,
				TimeRange: &bigtablepb.TimestampRange{StartTimestampMicros: cell.micros, EndTimestampMicros: cell.micros + c.unit},
			}}})
		}
	}
	return out
}

// collectible reports whether a rule lets a cell be collected, of which the column has so many newer ones.
func collectible(rule *adminpb.GcRule, newer int, micros, now int64) bool {
	meets := func(r *adminpb.GcRule) bool { return collectible(r, newer, micros, now) }
	switch r := rule.GetRule().(type) {
	case *adminpb.GcRule_MaxAge:
		return micros < now-r.MaxAge.AsDuration().Microseconds()
	case *adminpb.GcRule_MaxNumVersions:
		return newer >= int(r.MaxNumVersions)
	case *adminpb.GcRule_Union_:
		return slices.ContainsFunc(r.Union.GetRules(), meets)
	case *adminpb.GcRule_Intersection_:
		rules := r.Intersection.GetRules()
		return len(rules) > 0 && !slices.ContainsFunc(rules, func(r *adminpb.GcRule) bool { return !meets(r) })
	}
	return false
}
