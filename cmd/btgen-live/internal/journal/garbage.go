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
	var families []*adminpb.ColumnFamily
	switch r := request.(type) {
	case *adminpb.CreateTableRequest:
		for _, f := range r.GetTable().GetColumnFamilies() {
			families = append(families, f)
		}
	case *adminpb.ModifyColumnFamiliesRequest:
		for _, m := range r.GetModifications() {
			families = append(families, m.GetCreate(), m.GetUpdate())
		}
	}
	for _, f := range families {
		if f.GetGcRule().GetRule() != nil {
			only := &adminpb.GcRule_Intersection{Rules: []*adminpb.GcRule{f.GetGcRule()}}
			f.GcRule = &adminpb.GcRule{Rule: &adminpb.GcRule_Intersection_{Intersection: only}}
		}
	}
}

// showRules reverses hideRules in a response.
func showRules(response any) {
	table, _ := response.(*adminpb.Table)
	for _, f := range table.GetColumnFamilies() {
		if rules := f.GetGcRule().GetIntersection().GetRules(); len(rules) == 1 {
			f.GcRule = rules[0]
		}
	}
}

// collectAll collects the garbage of all tables, of one row at a time. It finds it without stopping changes.
func (j *Journal) collectAll(ctx context.Context) error {
	j.changes.Lock()
	names := slices.Sorted(maps.Keys(j.tables))
	j.changes.Unlock()
	for _, name := range names {
		table, err := j.server.GetTable(ctx, &adminpb.GetTableRequest{Name: name})
		if err != nil {
			return err
		}
		j.rows.RLock()
		err = j.read(&bigtablepb.ReadRowsRequest{TableName: name}, func(key []byte, cells []storedCell) error {
			j.rows.RUnlock()
			defer j.rows.RLock()
			if err := ctx.Err(); err != nil || len(garbage(table, cells)) == 0 {
				return err
			}
			return j.collectRow(ctx, table, key)
		})
		j.rows.RUnlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// collectRow deletes the garbage that a row has now.
func (j *Journal) collectRow(ctx context.Context, table *adminpb.Table, key []byte) error {
	end, err := j.begin()
	defer end()
	if err != nil {
		return nil // those who change rows are told
	}
	request := &bigtablepb.MutateRowRequest{TableName: table.GetName(), RowKey: key}
	err = j.readRow(table.GetName(), key, func(cells []storedCell) { request.Mutations = garbage(table, cells) })
	if err != nil || len(request.GetMutations()) == 0 {
		return err
	}
	_, err = j.server.MutateRow(ctx, request)
	entries := []*bigtablepb.MutateRowsRequest_Entry{{RowKey: key, Mutations: request.GetMutations()}}
	return errors.Join(err, j.saveRows(table.GetName(), entries, err == nil))
}

// garbage returns mutations that delete the garbage of a row. The cells of a column are together, the newest first.
func garbage(table *adminpb.Table, cells []storedCell) []*bigtablepb.Mutation {
	unit := int64(1000) // of timestamps, in microseconds
	if table.GetGranularity() == adminpb.Table_MICROS {
		unit = 1
	}
	var out []*bigtablepb.Mutation
	now := time.Now().UnixMicro()
	newer := 0
	for i, cell := range cells {
		newer++
		if i == 0 || cells[i-1].family != cell.family || !bytes.Equal(cells[i-1].qualifier, cell.qualifier) {
			newer = 0
		}
		if collectible(table.GetColumnFamilies()[cell.family].GetGcRule(), newer, cell.micros, now) {
			times := &bigtablepb.TimestampRange{StartTimestampMicros: cell.micros, EndTimestampMicros: cell.micros + unit}
			column := &bigtablepb.Mutation_DeleteFromColumn{
				FamilyName: cell.family, ColumnQualifier: cell.qualifier, TimeRange: times,
			}
			out = append(out, &bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_DeleteFromColumn_{DeleteFromColumn: column}})
		}
	}
	return out
}

// collectible reports whether a rule lets a cell be collected, of which the column has so many newer ones.
func collectible(rule *adminpb.GcRule, newer int, micros, now int64) bool {
	meets := func(r *adminpb.GcRule) bool { return collectible(r, newer, micros, now) }
	fails := func(r *adminpb.GcRule) bool { return !meets(r) }
	switch r := rule.GetRule().(type) {
	case *adminpb.GcRule_MaxAge:
		return micros < now-r.MaxAge.AsDuration().Microseconds()
	case *adminpb.GcRule_MaxNumVersions:
		return newer >= int(r.MaxNumVersions)
	case *adminpb.GcRule_Union_:
		return slices.ContainsFunc(r.Union.GetRules(), meets)
	case *adminpb.GcRule_Intersection_:
		rules := r.Intersection.GetRules()
		return len(rules) > 0 && !slices.ContainsFunc(rules, fails)
	}
	return false
}
