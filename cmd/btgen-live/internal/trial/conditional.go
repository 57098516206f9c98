package trial

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/protobuf/proto"

	"github.com/btgen-dev/btgen/runtime/setup"
)

// conditional is the check of a conditional mutation of row a.
type conditional struct {
	cells           string
	predicate       filter // nil for whether the row exists
	then, otherwise []mutation
	matched         bool
	want            string
}

// conditionalWrites are assumptions about conditional mutations and increments.
var conditionalWrites = []Assumption{
	{"check-match", "If the predicate finds a cell, CheckAndMutateRow makes the first mutations, and says so.", data("CheckAndMutateRowRequest"), conditional{
		cells: "a f:x@1=1", predicate: column("x"), then: []mutation{set("f", "y", ms, "then")}, otherwise: []mutation{set("f", "z", ms, "else")},
		matched: true, want: "a f:x@1=1 f:y@1=then"}.tried},
	{"check-no-match", "Otherwise, it makes the second mutations.", data("CheckAndMutateRowRequest"), conditional{
		cells: "a f:x@1=1", predicate: column("q"), then: []mutation{set("f", "y", ms, "then")}, otherwise: []mutation{set("f", "z", ms, "else")},
		want: "a f:x@1=1 f:z@1=else"}.tried},
	{"check-missing-row", "The predicate finds nothing in a missing row.", data("CheckAndMutateRowRequest"), conditional{
		predicate: column("x"), then: []mutation{set("f", "y", ms, "then")}, otherwise: []mutation{set("f", "z", ms, "else")},
		want: "a f:z@1=else"}.tried},
	{"check-no-predicate", "Without a predicate, it makes the first mutations if the row exists.", data("CheckAndMutateRowRequest"), conditional{
		cells: "a f:x@1=1", then: []mutation{set("f", "y", ms, "then")}, matched: true, want: "a f:x@1=1 f:y@1=then"}.tried},
	{"check-value", "The predicate may compare the newest value of a column.", data("CheckAndMutateRowRequest"), conditional{
		cells: "a f:x@2=new f:x@1=old", predicate: chain(column("x"), latest(1), values("old", "old\x00")), then: []mutation{deleteRow()}, otherwise: []mutation{set("f", "x", 3*ms, "kept")},
		want: "a f:x@3=kept f:x@2=new f:x@1=old"}.tried},
	{"check-one-winner", "Of concurrent conditional mutations that exclude each other, exactly one is made.", data("CheckAndMutateRowRequest"), oneWinner},
	{"increment", "ReadModifyWriteRow adds to the newest cell, as a big-endian int64, and returns the new one.", data("ReadModifyWriteRule"), modified(plus(-1), plus(300), integer(-1), integer(299))},
	{"increment-concurrent", "No concurrent increment of a row gets lost.", data("ReadModifyWriteRowRequest"), concurrentIncrements},
	{"append", "ReadModifyWriteRow appends to the newest cell, or to nothing.", data("ReadModifyWriteRule"), modified(appending(), appending(), "ab", "abab")},
	{"increment-later", "ReadModifyWriteRow writes no earlier timestamp than that of the cell before.", data("ReadModifyWriteRowRequest"), incrementLater},
	{"sums-add", "What is added to a cell of sums is summed, also in one request.", tables("Type.Aggregate"), sums(
		[]mutation{add(sumFamily, ms, 5), add(sumFamily, ms, -2)}, []mutation{add(sumFamily, ms, 40)}, map[int64]int64{ms: 43})},
	{"sums-timestamps", "Sums of different timestamps are different cells.", tables("Type.Aggregate"), sums(
		[]mutation{add(sumFamily, ms, 1)}, []mutation{add(sumFamily, 2*ms, 2)}, map[int64]int64{ms: 1, 2 * ms: 2})},
	{"sums-delete", "A sum that is deleted begins anew.", tables("Type.Aggregate"), sums(
		[]mutation{add(sumFamily, ms, 5)}, []mutation{deleteColumn(sumFamily, "n", nil), add(sumFamily, ms, 2)}, map[int64]int64{ms: 2})},
	{"sums-set", "A family of sums refuses SetCell.", tables("Type.Aggregate"), sumsRefuse},
	{"sums-read-back", "The value type of a family of sums can be read back.", tables("ColumnFamily"), sumsReadBack},
}

// tried writes, changes and reads.
func (c conditional) tried(ctx context.Context, p place) (string, error) {
	cells, err := parseCells(c.cells, p.base)
	if err != nil {
		return "", err
	}
	for _, row := range rowsOf(cells) {
		if err := p.mutate(ctx, row[0].row, setCells(row)); err != nil {
			return "", err
		}
	}
	matched, err := p.check(ctx, "a", c.predicate, c.then, c.otherwise)
	if err != nil {
		return "", err
	}
	if matched != c.matched {
		return "", differs("the predicate matched: %v", matched)
	}
	seen, err := fixture{want: c.want}.tried(ctx, p)
	return fmt.Sprintf("the predicate matched: %v; %s", matched, seen), err
}

// check sends a conditional mutation. It is not repeated: a repeated one may not match anymore.
func (p place) check(ctx context.Context, row string, predicate filter, then, otherwise []mutation) (bool, error) {
	response, err := p.data.CheckAndMutateRow(ctx, &bigtablepb.CheckAndMutateRowRequest{
		TableName: p.name(), AppProfileId: p.AppProfile, RowKey: []byte(p.keys + row), PredicateFilter: rebase(predicate, p.base),
		TrueMutations: rebased(then, p.base), FalseMutations: rebased(otherwise, p.base),
	})
	return response.GetPredicateMatched(), err
}

// racers is how many requests are sent at once.
const racers = 16

// race calls f several times at once, and returns the first error.
func race(f func(n int) error) error {
	var group sync.WaitGroup
	errs := make([]error, racers)
	for n := range racers {
		group.Go(func() { errs[n] = f(n) })
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// oneWinner lets requests create the same column.
func oneWinner(ctx context.Context, p place) (string, error) {
	var won atomic.Int32
	err := race(func(n int) error {
		matched, err := p.check(ctx, "a", column("x"), nil, []mutation{set("f", "x", ms, fmt.Sprint(n))})
		if err == nil && !matched {
			won.Add(1)
		}
		return err
	})
	if err == nil && won.Load() != 1 {
		err = differs("%d of %d requests wrote", won.Load(), racers)
	}
	return fmt.Sprintf("1 of %d requests wrote", racers), err
}

// modify sends rules for column f:x of row a, and returns the new cell.
func (p place) modify(ctx context.Context, rule *bigtablepb.ReadModifyWriteRule) (value string, micros int64, err error) {
	rule = proto.CloneOf(rule)
	rule.FamilyName, rule.ColumnQualifier = "f", []byte("x")
	response, err := p.data.ReadModifyWriteRow(ctx, &bigtablepb.ReadModifyWriteRowRequest{
		TableName: p.name(), AppProfileId: p.AppProfile, RowKey: []byte(p.keys + "a"), Rules: []*bigtablepb.ReadModifyWriteRule{rule},
	})
	if err != nil {
		return "", 0, err
	}
	for _, f := range response.GetRow().GetFamilies() {
		for _, c := range f.GetColumns() {
			for _, cell := range c.GetCells() {
				return string(cell.GetValue()), cell.GetTimestampMicros(), nil
			}
		}
	}
	return "", 0, differs("the answer has no cell")
}

// plus returns the rule of an increment.
func plus(n int64) *bigtablepb.ReadModifyWriteRule {
	return &bigtablepb.ReadModifyWriteRule{Rule: &bigtablepb.ReadModifyWriteRule_IncrementAmount{IncrementAmount: n}}
}

// integer returns an int64 as Bigtable stores it.
func integer(n int64) string { return string(binary.BigEndian.AppendUint64(nil, uint64(n))) }

// modified is the check of two changes with the same kind of rule, and of the values that they return.
func modified(first, second *bigtablepb.ReadModifyWriteRule, want ...string) check {
	return func(ctx context.Context, p place) (string, error) {
		for i, rule := range []*bigtablepb.ReadModifyWriteRule{first, second} {
			value, _, err := p.modify(ctx, rule)
			if err != nil {
				return "", err
			}
			if value != want[i] {
				return "", differs("answer %d has %s instead of %s", i+1, escape(value), escape(want[i]))
			}
		}
		return "the answers have " + escape(want[0]) + " and " + escape(want[1]), nil
	}
}

// appending returns the rule that appends ab.
func appending() *bigtablepb.ReadModifyWriteRule {
	return &bigtablepb.ReadModifyWriteRule{Rule: &bigtablepb.ReadModifyWriteRule_AppendValue{AppendValue: []byte("ab")}}
}

// concurrentIncrements increments at once: each answer has another number.
func concurrentIncrements(ctx context.Context, p place) (string, error) {
	answers := make([]string, racers)
	err := race(func(n int) (err error) { answers[n], _, err = p.modify(ctx, plus(1)); return err })
	slices.Sort(answers)
	for i, value := range answers {
		if want := integer(int64(i + 1)); err == nil && value != want {
			err = differs("of %d answers, number %d is %s instead of %s", racers, i+1, escape(value), escape(want))
		}
	}
	return fmt.Sprintf("%d answers from 1 to %d", racers, racers), err
}

// incrementLater increments a cell of the future.
func incrementLater(ctx context.Context, p place) (string, error) {
	const future = 48 * 3600 * 1000 * ms
	if err := p.mutate(ctx, "a", rebased([]mutation{set("f", "x", future, integer(7))}, p.base)); err != nil {
		return "", err
	}
	value, micros, err := p.modify(ctx, plus(1))
	if err == nil && (value != integer(8) || micros < p.base+future) {
		err = differs("the cell became %s, %d ms after that which it replaces", escape(value), (micros-p.base-future)/ms)
	}
	return "the cell is not before the one of the future", err
}

// sumFamily is the family of sums.
const sumFamily = "sums"

// sums returns the same place in the table of sums.
func (p place) sums(ctx context.Context) (place, error) {
	id, err := p.once("sums", func(id string) error {
		return p.create(ctx, &bigtable.TableConf{TableID: id, ColumnFamilies: map[string]bigtable.Family{
			sumFamily: {GCPolicy: bigtable.NoGcPolicy(), ValueType: setup.Sums},
		}})
	})
	return place{p.run, id, p.keys}, err
}

// add returns a mutation that adds to column n of a family.
func add(family string, micros, n int64) mutation {
	return &bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_AddToCell_{AddToCell: &bigtablepb.Mutation_AddToCell{
		FamilyName: family, ColumnQualifier: &bigtablepb.Value{Kind: &bigtablepb.Value_RawValue{RawValue: []byte("n")}},
		Timestamp: &bigtablepb.Value{Kind: &bigtablepb.Value_RawTimestampMicros{RawTimestampMicros: micros}},
		Input:     &bigtablepb.Value{Kind: &bigtablepb.Value_IntValue{IntValue: n}},
	}}}
}

// sums returns the check of two requests to a family of sums, and of the sums by timestamp.
func sums(first, second []mutation, want map[int64]int64) check {
	return func(ctx context.Context, p place) (string, error) {
		p, err := p.sums(ctx)
		if err != nil {
			return "", err
		}
		for _, mutations := range [][]mutation{first, second} {
			// not repeated: an addition counts twice
			_, err := p.data.MutateRow(ctx, &bigtablepb.MutateRowRequest{
				TableName: p.name(), AppProfileId: p.AppProfile, RowKey: []byte(p.keys + "a"), Mutations: rebased(mutations, p.base),
			})
			if err != nil {
				return "", err
			}
		}
		cells, err := p.readRows(ctx, fixture{})
		if err != nil {
			return "", err
		}
		var shown []string
		for _, c := range cells {
			if n, ok := want[c.micros-p.base]; !ok || c.value != integer(n) || len(cells) != len(want) {
				return "", differs("read %s", showCells(cells, p.base))
			}
			shown = append(shown, fmt.Sprint(want[c.micros-p.base]))
		}
		if len(shown) != len(want) {
			return "", differs("read %s", showCells(cells, p.base))
		}
		return "read " + strings.Join(shown, " and "), nil
	}
}

// sumsRefuse sets a cell in a family of sums.
func sumsRefuse(ctx context.Context, p place) (string, error) {
	p, err := p.sums(ctx)
	if err != nil {
		return "", err
	}
	err = p.mutate(ctx, "a", rebased([]mutation{set(sumFamily, "n", ms, integer(1))}, p.base))
	return "the mutation was refused", expected(err, anyCode, "the mutation")
}

// sumsReadBack reads the value type.
func sumsReadBack(ctx context.Context, p place) (string, error) {
	p, err := p.sums(ctx)
	if err != nil {
		return "", err
	}
	info, err := p.Admin.TableInfo(ctx, p.id)
	if err != nil {
		return "", err
	}
	for _, f := range info.FamilyInfos {
		t, _ := f.ValueType.(bigtable.AggregateType)
		if _, ok := t.Aggregator.(bigtable.SumAggregator); !ok && f.Name == sumFamily {
			return "", differs("family %s has the value type %T, with the aggregator %T", f.Name, f.ValueType, t.Aggregator)
		}
	}
	return "sums of int64", nil
}
