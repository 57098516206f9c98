package trial

import (
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/protobuf/proto"
)

// The functions below return filters and mutations as the protocol has them. Their timestamps are in microseconds after the start of the trial; 0 is that of the protocol, which
// means no bound in ranges, and so are negative ones. Bounds that are empty do not exist.

const ms = 1000 // microseconds

func chain(all ...filter) filter {
	return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_Chain_{Chain: &bigtablepb.RowFilter_Chain{Filters: all}}}
}

func interleave(all ...filter) filter {
	return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_Interleave_{Interleave: &bigtablepb.RowFilter_Interleave{Filters: all}}}
}

func condition(predicate, then, otherwise filter) filter {
	return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_Condition_{Condition: &bigtablepb.RowFilter_Condition{
		PredicateFilter: predicate, TrueFilter: then, FalseFilter: otherwise,
	}}}
}

func family(pattern string) filter {
	return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_FamilyNameRegexFilter{FamilyNameRegexFilter: pattern}}
}

func column(pattern string) filter {
	return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_ColumnQualifierRegexFilter{ColumnQualifierRegexFilter: []byte(pattern)}}
}

func key(pattern string) filter {
	return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_RowKeyRegexFilter{RowKeyRegexFilter: []byte(pattern)}}
}

func latest(n int32) filter {
	return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_CellsPerColumnLimitFilter{CellsPerColumnLimitFilter: n}}
}

func cellsPerRow(n int32) filter {
	return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_CellsPerRowLimitFilter{CellsPerRowLimitFilter: n}}
}

func stripped() filter {
	return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_StripValueTransformer{StripValueTransformer: true}}
}

func timestamps(from, to int64) *bigtablepb.TimestampRange {
	return &bigtablepb.TimestampRange{StartTimestampMicros: from, EndTimestampMicros: to}
}

func times(from, to int64) filter {
	return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_TimestampRangeFilter{TimestampRangeFilter: timestamps(from, to)}}
}

func values(start, end string) filter {
	r := &bigtablepb.ValueRange{StartValue: &bigtablepb.ValueRange_StartValueClosed{StartValueClosed: []byte(start)}}
	if end != "" {
		r.EndValue = &bigtablepb.ValueRange_EndValueOpen{EndValueOpen: []byte(end)}
	}
	return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_ValueRangeFilter{ValueRangeFilter: r}}
}

func columns(family, begin, end string) filter {
	r := &bigtablepb.ColumnRange{FamilyName: family}
	if begin != "" {
		r.StartQualifier = &bigtablepb.ColumnRange_StartQualifierClosed{StartQualifierClosed: []byte(begin)}
	}
	if end != "" {
		r.EndQualifier = &bigtablepb.ColumnRange_EndQualifierOpen{EndQualifierOpen: []byte(end)}
	}
	return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_ColumnRangeFilter{ColumnRangeFilter: r}}
}

func set(family, qualifier string, micros int64, value string) mutation {
	return &bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_SetCell_{SetCell: &bigtablepb.Mutation_SetCell{
		FamilyName: family, ColumnQualifier: []byte(qualifier), TimestampMicros: micros, Value: []byte(value),
	}}}
}

func deleteRow() mutation {
	return &bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_DeleteFromRow_{DeleteFromRow: &bigtablepb.Mutation_DeleteFromRow{}}}
}

func deleteFamily(family string) mutation {
	return &bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_DeleteFromFamily_{DeleteFromFamily: &bigtablepb.Mutation_DeleteFromFamily{FamilyName: family}}}
}

func deleteColumn(family, qualifier string, in *bigtablepb.TimestampRange) mutation {
	return &bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_DeleteFromColumn_{DeleteFromColumn: &bigtablepb.Mutation_DeleteFromColumn{
		FamilyName: family, ColumnQualifier: []byte(qualifier), TimeRange: in,
	}}}
}

// rebase returns a filter with its timestamps counted from 1970.
func rebase(f filter, base int64) filter {
	if f == nil {
		return nil
	}
	f = proto.CloneOf(f)
	rebaseIn(f, base)
	return f
}

// rebaseIn is rebase in place.
func rebaseIn(f filter, base int64) {
	for _, inner := range f.GetChain().GetFilters() {
		rebaseIn(inner, base)
	}
	for _, inner := range f.GetInterleave().GetFilters() {
		rebaseIn(inner, base)
	}
	if c := f.GetCondition(); c != nil {
		for _, inner := range []filter{c.GetPredicateFilter(), c.GetTrueFilter(), c.GetFalseFilter()} {
			rebaseIn(inner, base)
		}
	}
	rebaseRange(f.GetTimestampRangeFilter(), base)
}

// rebaseRange is rebase in place of a range, which may be nil.
func rebaseRange(in *bigtablepb.TimestampRange, base int64) {
	if in.GetStartTimestampMicros() > 0 {
		in.StartTimestampMicros += base
	}
	if in.GetEndTimestampMicros() > 0 {
		in.EndTimestampMicros += base
	}
}

// rebased returns mutations with their timestamps counted from 1970.
func rebased(all []mutation, base int64) []mutation {
	out := make([]mutation, len(all))
	for i, m := range all {
		m = proto.CloneOf(m)
		if s := m.GetSetCell(); s.GetTimestampMicros() > 0 {
			s.TimestampMicros += base
		}
		if at, ok := m.GetAddToCell().GetTimestamp().GetKind().(*bigtablepb.Value_RawTimestampMicros); ok {
			at.RawTimestampMicros += base
		}
		rebaseRange(m.GetDeleteFromColumn().GetTimeRange(), base)
		out[i] = m
	}
	return out
}
