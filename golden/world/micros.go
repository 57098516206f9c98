package world

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// finer moves all events by parts of a millisecond, into few milliseconds, as in tables of another program with
// the granularity MICROS. Readers find them at exactly these times.
func (p *play) finer() error {
	if slices.ContainsFunc(p.layout.AllPeriods(), func(t *layout.Table) bool {
		return !t.Pattern.EventTimed() || t.Pattern.NewestOnly() || t.Rollup != nil || len(t.Older) > 0
	}) {
		return nil
	}
	p.now = p.now.Add(time.Millisecond - 1).Truncate(time.Millisecond) // ages count in milliseconds
	stamps := map[int64]bool{}
	for _, id := range p.tableIDs() {
		if err := p.eachCell(id, func(_, family string, c bigtable.ReadItem, _ int) {
			stamps[int64(c.Timestamp)] = stamps[int64(c.Timestamp)] || family != foreignFamily
		}); err != nil {
			return err
		}
	}
	moved, last := map[int64]int64{}, int64(0)
	for _, micros := range slices.Sorted(maps.Keys(stamps)) {
		if !stamps[micros] {
			continue
		}
		at := last + anyOf(p, []int64{1, 123, 333, 1000})
		if at > micros || at < micros-64_000 || slices.ContainsFunc(p.layout.Tables, func(t *layout.Table) bool {
			return !t.Bucket.Start(time.UnixMicro(at)).Equal(t.Bucket.Start(time.UnixMicro(micros)))
		}) {
			at = micros + p.Int64N(1000)
		}
		moved[micros], last = at, at
	}
	for _, id := range p.tableIDs() {
		if err := p.remake(id, moved); err != nil {
			return err
		}
	}
	for t, all := range p.truth.tables {
		now := map[string][]*version{}
		for _, versions := range all {
			for _, v := range versions {
				if at, ok := moved[v.event.Time.UnixMicro()]; ok {
					v.event.Time = time.UnixMicro(at).UTC()
				}
				for i := range v.cells {
					v.cells[i].micros = cmp.Or(moved[v.cells[i].micros], v.cells[i].micros)
				}
			}
			now[place(&versions[0].event)] = versions
		}
		p.truth.tables[t] = now
	}
	for i := range p.known {
		if at, ok := moved[p.known[i].Time.UnixMicro()]; ok {
			p.known[i].Time = time.UnixMicro(at).UTC()
		}
	}
	p.log = append(p.log, "(timestamps are in microseconds)")
	p.Counts["in microseconds"]++
	for range 8 {
		if err := p.step(slices.Concat(reads, observations[2:3])); err != nil {
			return err
		}
	}
	return p.deleteFiner()
}

// deleteFiner deletes events of a series: exactly those that are wanted or, where these and others are in a
// millisecond, some of them with an error that says so.
func (p *play) deleteFiner() error {
	s := p.seriesOf(p.someSeries())
	from, to := p.span()
	all := p.expected(*s, time.Time{}, p.end())
	call := func() (store.Deletion, error) {
		return p.program().removeRange(p.ctx, s, from, to, store.DeleteOptions{})
	}
	single := len(all) > 0 && p.chance(2)
	if single {
		e := anyOf(p, all).Event
		from, to = e.Time, e.Time.Add(1)
		call = func() (store.Deletion, error) {
			return p.program().remove(p.ctx, []dynamic.Event{e}, store.DeleteOptions{})
		}
	}
	_, err := call()
	p.truth.remove(func(e *dynamic.Event) bool { return s.matches(e) && !e.Time.Before(from) && e.Time.Before(to) })
	left := p.expected(*s, time.Time{}, p.end())
	got, failed := collected(p.program().read(p.ctx, s, time.Time{}, p.end(), store.ReadOptions{}))
	p.log = append(p.log, fmt.Sprintf("delete series %s from %v to %v: %v", s.name, from, to, err))
	_, torn := errors.AsType[*store.MicrosError](err)
	whole := func(at time.Time) bool { return at.Truncate(time.Millisecond).Equal(at) }
	switch {
	case failed != nil || err != nil && !torn:
		return errors.Join(err, failed)
	case err == nil:
		return p.same(left, got, store.ReadOptions{}, nil)
	case !single && whole(from) && whole(to):
		return err
	}
	return p.among([][]living{all, left}, got, store.ReadOptions{})
}

// remake replaces a table by one with the granularity MICROS, in which cells of events have other timestamps.
func (p *play) remake(id string, moved map[int64]int64) error {
	conn, err := grpc.NewClient(p.bt.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	admin, data := adminpb.NewBigtableTableAdminClient(conn), bigtablepb.NewBigtableClient(conn)
	parent := "projects/" + storetest.Project + "/instances/" + storetest.Instance
	name := parent + "/tables/" + id
	live, err := admin.GetTable(p.ctx, &adminpb.GetTableRequest{Name: name})
	if err != nil {
		return err
	}
	rows := map[string]*bigtablepb.MutateRowRequest{}
	if err := p.eachCell(id, func(row, family string, c bigtable.ReadItem, _ int) {
		if rows[row] == nil {
			rows[row] = &bigtablepb.MutateRowRequest{TableName: name, RowKey: []byte(row)}
		}
		micros := int64(c.Timestamp)
		if family != foreignFamily {
			micros = moved[micros]
		}
		rows[row].Mutations = append(rows[row].Mutations, &bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_SetCell_{SetCell: &bigtablepb.Mutation_SetCell{
			FamilyName: family, ColumnQualifier: []byte(strings.TrimPrefix(c.Column, family+":")), TimestampMicros: micros, Value: c.Value,
		}}})
	}); err != nil {
		return err
	}
	if live.GetDeletionProtection() {
		if err := p.bt.Admin.UpdateTableWithDeletionProtection(p.ctx, id, bigtable.Unprotected); err != nil {
			return err
		}
	}
	if err := p.bt.Admin.DeleteTable(p.ctx, id); err != nil {
		return err
	}
	made := &adminpb.Table{ColumnFamilies: live.GetColumnFamilies(), Granularity: adminpb.Table_MICROS}
	if _, err := admin.CreateTable(p.ctx, &adminpb.CreateTableRequest{Parent: parent, TableId: id, Table: made}); err != nil {
		return err
	}
	for _, r := range rows {
		if _, err := data.MutateRow(p.ctx, r); err != nil {
			return err
		}
	}
	return nil
}
