package gen

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/internal/model"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
	"github.com/btgen-dev/btgen/runtime/window"
)

// TestDynamicModel runs the random schemas of [TestModel] without generated code: what
// package dynamic writes and reads must be what the model says, for every strategy that
// fits a pattern; a normal run tries every third.
func TestDynamicModel(t *testing.T) {
	seed := numberOf(t, "BTGEN_MODEL_SEED", 1)
	schemas := model.Unsorted(model.Matrix(seed))
	for i := range testlong.Pick(5, 10) {
		schemas = append(schemas, model.Random(100*seed+i))
	}
	histories := model.Histories(seed)
	schemas = append(schemas, histories[:len(histories)/4]...)
	b := storetest.New(t, func(context.Context, *storetest.Bigtable) error { return nil })
	rapidChecks(t, testlong.Pick("1", "4"))
	for i := range schemas {
		schemas[i].Name = fmt.Sprintf("s%02d", i)
	}
	schemas = testlong.Sample(schemas, 9)
	for i := range schemas {
		s := &schemas[i]
		t.Run(s.Name+"_"+s.Pattern, func(t *testing.T) {
			driver := newDynamicModel(t, b, s, pathsOf(len(schemas), seed)[i])
			rapid.Check(t, func(c *rapid.T) { model.Check(c, t.Context(), s, driver) })
		})
	}
}

// TestDeletesAmong deletes and replaces events of random schemas, with and without earlier
// layouts, among writes, reads, garbage collection and the passing of time. The cells of all
// tables must then be those that would be stored if the deleted events had never been
// written, also if a request fails and the call is repeated. BTGEN_DELETES is the number of
// deletions; BTGEN_MODEL_SEED selects other schemas.
func TestDeletesAmong(t *testing.T) {
	total, seed := numberOf(t, "BTGEN_DELETES", testlong.Pick(100, 300)), numberOf(t, "BTGEN_MODEL_SEED", 1)
	rapidChecks(t, testlong.Pick("1", "10"))
	var done atomic.Int64
	for ; done.Load() < int64(total) && !t.Failed(); seed++ {
		schemas := append(model.Histories(seed), model.Matrix(seed)...)
		rand.New(rand.NewPCG(uint64(seed), 0)).Shuffle(len(schemas), func(i, j int) { schemas[i], schemas[j] = schemas[j], schemas[i] })
		b := storetest.New(t, func(context.Context, *storetest.Bigtable) error { return nil })
		for i := range schemas {
			if done.Load() >= int64(total) {
				break
			}
			s := &schemas[i]
			s.Name = "events"
			t.Run(fmt.Sprintf("seed %d, schema %d, %s", seed, i, s.Pattern), func(t *testing.T) {
				driver := newTieredModel(t, b, s, [...]string{"Connect", "ConnectPlain"}[i%2], time.Duration(i%3)*time.Hour)
				rapid.Check(t, func(c *rapid.T) { done.Add(int64(model.CheckDeletes(c, t.Context(), s, driver))) })
			})
		}
		_ = b.Close() // frees its memory
		t.Logf("%d deletions", done.Load())
	}
}

// TestPagesAmong reads pages of random schemas, with and without earlier layouts and with labels of
// buckets that do not sort, by all kinds of queries and in all orders, while events are written,
// rewritten and deleted between the pages. BTGEN_PAGES is the number of pages; BTGEN_MODEL_SEED
// selects other schemas.
func TestPagesAmong(t *testing.T) {
	total, seed := numberOf(t, "BTGEN_PAGES", testlong.Pick(300, 3_000)), numberOf(t, "BTGEN_MODEL_SEED", 1)
	rapidChecks(t, testlong.Pick("2", "10"))
	var done atomic.Int64
	for ; done.Load() < int64(total) && !t.Failed(); seed++ {
		schemas := model.Unsorted(slices.Concat(model.Matrix(seed), model.Histories(seed)))
		rand.New(rand.NewPCG(uint64(seed), 0)).Shuffle(len(schemas), func(i, j int) { schemas[i], schemas[j] = schemas[j], schemas[i] })
		b := storetest.New(t, func(context.Context, *storetest.Bigtable) error { return nil })
		for i := range schemas {
			if done.Load() >= int64(total) {
				break
			}
			s := &schemas[i]
			s.Name = "events"
			t.Run(fmt.Sprintf("seed %d, schema %d, %s", seed, i, s.Pattern), func(t *testing.T) {
				driver := newTieredModel(t, b, s, [...]string{"Connect", "ConnectPlain"}[i%2], time.Duration(i%3)*time.Hour)
				rapid.Check(t, func(c *rapid.T) { done.Add(int64(model.CheckPages(c, t.Context(), s, driver))) })
			})
		}
		_ = b.Close() // frees its memory
		t.Logf("%d pages", done.Load())
	}
}

// newDynamicModel returns a driver of a schema whose client connects with the named function.
func newDynamicModel(t *testing.T, b *storetest.Bigtable, s *model.Schema, path string) *model.Driver[dynamic.Event] {
	return newTieredModel(t, b, s, path, 0)
}

// newTieredModel is newDynamicModel with an infrequent access tier from an age on, which may be 0
// for none, in all tables whose timestamps are event times. Nothing that readers return may depend on
// it; Latest may take another request.
func newTieredModel(t *testing.T, b *storetest.Bigtable, s *model.Schema, path string, tier time.Duration) *model.Driver[dynamic.Event] {
	result := Resolve([]Input{{Name: s.Name + ".yaml", Text: []byte(s.YAML())}})
	if err := result.Diagnostics.Err(); err != nil {
		t.Fatalf("%v\n%s", err, s.YAML())
	}
	for _, of := range result.Layouts[0].AllPeriods() {
		if of.EventTimed() {
			of.Tier = codec.Tier(tier)
		}
	}
	connect := map[string]func(context.Context, string, ...grpc.DialOption) (*bigtable.Client, error){"Connect": storetest.Connect, "ConnectPlain": storetest.ConnectPlain}[path]
	traffic, faults := &model.Traffic{}, &model.Faults{}
	client, err := connect(t.Context(), b.Addr, grpc.WithChainStreamInterceptor(traffic.Intercept))
	if err != nil {
		t.Fatal(err)
	}
	faulty, err := connect(t.Context(), b.Addr, grpc.WithChainStreamInterceptor(faults.Intercept), grpc.WithChainUnaryInterceptor(faults.InterceptUnary))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = client.Close(), faulty.Close() })
	d := dynamicModel{schema: s, dynamic: dynamic.New(result.Layouts[0]), client: client, faulty: faulty, server: b}
	driver := d.driver(t.Context())
	driver.Traffic, driver.Faults, driver.Paths = traffic, faults, accessOf(result.Layouts[0])
	return driver
}

// dynamicModel lets the model run package dynamic.
type dynamicModel struct {
	schema  *model.Schema
	dynamic *dynamic.Schema
	client  *bigtable.Client
	faulty  *bigtable.Client // whose requests may fail
	server  *storetest.Bigtable
}

// foreignFamily is the family of another program in the tables.
const foreignFamily = "foreign"

// driver is how the model runs it.
func (d *dynamicModel) driver(ctx context.Context) *model.Driver[dynamic.Event] {
	return &model.Driver[dynamic.Event]{
		Client:  d.server.Client,
		Foreign: foreignFamily,
		Setup: func(prefix string) error {
			tables := d.dynamic.Tables()
			for i := range tables {
				tables[i].Tier = 0 // the ages of these tests are shorter than the service accepts
				tables[i].Families = append(slices.Clone(tables[i].Families), store.Family{Name: foreignFamily})
			}
			_, err := setup.Setup(ctx, d.server.Admin, d.server.Client, tables, setup.Options{TablePrefix: prefix, NoHistory: true})
			return err
		},
		Drop: func(prefix string) {
			for _, t := range d.dynamic.Tables() {
				_ = d.server.Admin.DeleteTable(ctx, prefix+t.ID)
			}
		},
		Open: d.open,
		Refusals: map[model.Refusal]error{
			model.Expired: codec.ErrExpired, model.NoExpiry: codec.ErrNoExpiry, model.NoClass: codec.ErrClass, model.NoValue: codec.ErrNoValue,
			model.NoSequence: store.ErrNoSequence,
		},
		ToGo: d.toGo, FromGo: d.fromGo,
	}
}

// open opens the table with a prefix.
func (d *dynamicModel) open(prefix string, now func() time.Time) model.Access[dynamic.Event] {
	o := store.WriterOptions{TablePrefix: prefix, Now: now}
	r := d.dynamic.NewReader(d.client, store.ReaderOptions{TablePrefix: prefix, Now: now})
	deleter := d.dynamic.NewWriter(d.faulty, o)
	var columns dynamic.Columns
	queries := map[string]model.Ask[dynamic.Event]{}
	deletes := map[string]func(context.Context, model.Values, time.Time, time.Time, store.DeleteOptions) (store.Deletion, error){}
	deletesAll := map[string]func(context.Context, model.Values, store.DeleteOptions) (store.Deletion, error){}
	listed := map[string]func(context.Context, model.Values, time.Time, time.Time) iter.Seq2[model.Series, error]{}
	for _, q := range d.schema.Queries() {
		deletesAll[q.Name] = func(ctx context.Context, v model.Values, o store.DeleteOptions) (store.Deletion, error) {
			return d.dynamic.DeleteAll(ctx, deleter, dynamic.Query(q.Name, q.Given(v)), o)
		}
		deletes[q.Name] = func(ctx context.Context, v model.Values, from, to time.Time, o store.DeleteOptions) (store.Deletion, error) {
			return d.dynamic.Delete(ctx, deleter, dynamic.Query(q.Name, q.Given(v)), from, to, o)
		}
		queries[q.Name] = func(ctx context.Context, v model.Values, from, to time.Time, how model.Order) iter.Seq2[dynamic.Event, error] {
			return r.Read(ctx, dynamic.Query(q.Name, q.Given(v)), from, to, how.Options())
		}
		listed[q.Name] = func(ctx context.Context, v model.Values, from, to time.Time) iter.Seq2[model.Series, error] {
			return func(yield func(model.Series, error) bool) {
				for s, err := range r.ReadSeries(ctx, dynamic.Query(q.Name, q.Given(v)), from, to) {
					if err != nil {
						yield(model.Series{}, err)
						return
					}
					if !yield(model.Series{Host: s[0].(string), Shard: s[1].(int64)}, err) {
						return
					}
				}
			}
		}
	}
	series := func(bases []dynamic.Event) (out [][]any) {
		for _, base := range bases {
			out = append(out, base.Series)
		}
		return out
	}
	return model.Access[dynamic.Event]{
		WriteAll: func(ctx context.Context, events []dynamic.Event) error {
			return d.dynamic.NewWriter(d.server.Client, o).WriteAll(ctx, events, store.WriteOptions{LastWins: true})
		},
		Failures: failuresOf,
		Read: func(ctx context.Context, base dynamic.Event, from, to time.Time) iter.Seq2[dynamic.Event, error] {
			return r.Read(ctx, dynamic.Series(base.Series), from, to)
		},
		Columns: func(ctx context.Context, base dynamic.Event, from, to time.Time) ([]dynamic.Event, error) {
			columns.Reset() // the same for all reads
			err := r.ReadColumns(ctx, dynamic.Series(base.Series), from, to, &columns)
			return columns.Events(), err
		},
		Windows: func(ctx context.Context, base dynamic.Event, from, to time.Time) (out []model.Window, err error) {
			for w, err := range r.Windows(ctx, dynamic.Series(base.Series), from, to, window.Every(time.Hour)) {
				if err != nil {
					return out, err
				}
				out = append(out, d.window(&w))
			}
			return out, nil
		},
		Rollup: func(ctx context.Context) error {
			_, err := d.dynamic.Rollup(ctx, d.faulty, store.RollupOptions{TablePrefix: prefix, Now: now, Sleep: func(context.Context, time.Duration) error { return nil }})
			return err
		},
		Fields: func(ctx context.Context, base dynamic.Event, from, to time.Time, names []string) iter.Seq2[dynamic.Event, error] {
			fields := []store.Field{}
			for _, name := range names {
				fields = append(fields, store.Field(name))
			}
			return r.Read(ctx, dynamic.Series(base.Series), from, to, store.ReadOptions{Fields: fields})
		},
		Ordered: func(ctx context.Context, base dynamic.Event, from, to time.Time, how model.Order) iter.Seq2[dynamic.Event, error] {
			return r.Read(ctx, dynamic.Series(base.Series), from, to, how.Options())
		},
		Latest: func(ctx context.Context, base dynamic.Event) (dynamic.Event, error) {
			return r.Latest(ctx, base.Series)
		}, Series: listed,
		ReadMany: func(ctx context.Context, bases []dynamic.Event, from, to time.Time, how model.Order) iter.Seq2[dynamic.Event, error] {
			return r.Read(ctx, dynamic.ManySeries(series(bases)), from, to, how.Options())
		},
		LatestMany: func(ctx context.Context, bases []dynamic.Event) iter.Seq2[dynamic.Event, error] {
			return r.LatestMany(ctx, series(bases))
		},
		NotFound: store.ErrNotFound, Queries: queries, DeleteQueries: deletes, DeleteAllQueries: deletesAll,
		Delete: func(ctx context.Context, events []dynamic.Event, o store.DeleteOptions) (store.Deletion, error) {
			return deleter.Delete(ctx, events, o)
		},
		DeleteRange: func(ctx context.Context, base dynamic.Event, from, to time.Time, o store.DeleteOptions) (store.Deletion, error) {
			return deleter.DeleteRange(ctx, store.SeriesOf(base), from, to, o)
		},
		DeleteSeries: func(ctx context.Context, base dynamic.Event, o store.DeleteOptions) (store.Deletion, error) {
			return deleter.DeleteAll(ctx, store.SeriesOf(base), o)
		},
		Replace: func(ctx context.Context, old, updated dynamic.Event) error { return deleter.Replace(ctx, old, updated) },
	}
}

// window converts a window.
func (d *dynamicModel) window(w *dynamic.Window) model.Window {
	out := model.Window{Start: w.Start, Events: w.Events, Inexact: w.Inexact}
	for i := range d.dynamic.Layout().Fields {
		of := func(s dynamic.Statistic) int64 {
			v, _ := s.Of(w, &d.dynamic.Layout().Fields[i], i).(int64)
			return v
		}
		out.Fields = append(out.Fields, model.Statistics{
			Count: of(dynamic.Count), Sum: of(dynamic.Sum), First: of(dynamic.First), Last: of(dynamic.Last), Min: of(dynamic.Min), Max: of(dynamic.Max),
		})
	}
	return out
}

// failuresOf returns the errors of single events, and whether there are others for the
// second table.
func failuresOf(err error) (out map[int]error, short bool) {
	out = map[int]error{}
	if failed, ok := errors.AsType[*store.WriteError](err); ok {
		for _, f := range failed.Failures {
			if strings.HasSuffix(f.Table, model.ShortTable) {
				short = true
				continue
			}
			out[f.Index] = f.Err
		}
	}
	return out, short
}

// toGo converts an event of the model.
func (d *dynamicModel) toGo(e model.Event) dynamic.Event {
	out := dynamic.Event{
		Series: []any{e.Host, e.Shard}, Time: e.Time, Sequence: e.Sequence, Class: e.Class, TTL: e.TTL, ExpiresAt: e.ExpiresAt,
		Values: make([]any, len(d.schema.Fields)),
	}
	for i, f := range d.schema.Fields {
		if i < len(e.Has) && (e.Has[i] || f.Presence != model.Optional) {
			out.Values[i] = e.Values[i]
		}
	}
	return out
}

// fromGo is the inverse of toGo. A field that was not read has the zero value in generated
// code, unless it is optional.
func (d *dynamicModel) fromGo(e dynamic.Event) model.Event {
	out := model.Event{
		Host: e.Series[0].(string), Shard: e.Series[1].(int64), Time: e.Time, Sequence: e.Sequence, Class: e.Class, TTL: e.TTL, ExpiresAt: e.ExpiresAt, WrittenAt: e.WrittenAt,
		Values: make([]int64, len(d.schema.Fields)), Has: make([]bool, len(d.schema.Fields)),
	}
	for i, f := range d.schema.Fields {
		v, has := e.Values[i].(int64)
		out.Values[i], out.Has[i] = v, has || f.Presence != model.Optional
	}
	return out
}

// rapidChecks sets how many cases properties try in a test.
func rapidChecks(t *testing.T, checks string) {
	t.Helper()
	f := flag.Lookup("rapid.checks")
	before := f.Value.String()
	if err := f.Value.Set(checks); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Value.Set(before) })
}
