package journal

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"runtime"
	"slices"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
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

// collectAll collects the garbage of all tables. Others change tables between any two rows.
func (j *Journal) collectAll(ctx context.Context) error {
	const method = bigtablepb.Bigtable_MutateRow_FullMethodName
	j.changes.Lock()
	defer j.changes.Unlock()
	for _, name := range slices.Sorted(maps.Keys(j.tables)) {
		table, err := j.server.GetTable(ctx, &adminpb.GetTableRequest{Name: name})
		if err != nil {
			continue // deleted meanwhile
		}
		same := j.admins
		err = j.read(&bigtablepb.ReadRowsRequest{TableName: name}, func(row *row) (err error) {
			deletes := &bigtablepb.MutateRowRequest{TableName: name, RowKey: row.GetRowKey(), Mutations: garbage(table, row)}
			if len(deletes.GetMutations()) > 0 && j.admins == same { // else the row may not be that of the table
				_, err = j.change(ctx, method, deletes, j.apply(method))
			}
			j.changes.Unlock()
			runtime.Gosched() // whoever waits is next
			j.changes.Lock()
			return cmp.Or(err, ctx.Err())
		})
		switch status.Code(err) {
		case codes.OK, codes.ResourceExhausted, codes.FailedPrecondition: // those who change rows are told
		default:
			return err
		}
	}
	return nil
}

// garbage returns mutations that delete the garbage of a row.
func garbage(table *adminpb.Table, row *row) []*bigtablepb.Mutation {
	unit := int64(1000) // of timestamps, in microseconds
	if table.GetGranularity() == adminpb.Table_MICROS {
		unit = 1
	}
	var out []*bigtablepb.Mutation
	var last *bigtablepb.Mutation_SetCell
	now, newer := time.Now().UnixMicro(), 0
	for _, m := range row.GetMutations() {
		c := m.GetSetCell()
		newer++
		if c.FamilyName != last.GetFamilyName() || !bytes.Equal(c.ColumnQualifier, last.GetColumnQualifier()) {
			newer = 0
		}
		last = c
		if collectible(table.GetColumnFamilies()[c.FamilyName].GetGcRule(), newer, c.TimestampMicros, now) {
			times := &bigtablepb.TimestampRange{
				StartTimestampMicros: c.TimestampMicros, EndTimestampMicros: c.TimestampMicros + unit,
			}
			column := &bigtablepb.Mutation_DeleteFromColumn{
				FamilyName: c.FamilyName, ColumnQualifier: c.ColumnQualifier, TimeRange: times,
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
