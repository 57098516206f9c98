package dynamictest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
	"github.com/btgen-dev/btgen/runtime/window"
)

// errFailing is the error in place of a request.
var errFailing = status.Error(codes.PermissionDenied, "this request fails")

// failingClient is a client of which one request fails. It is safe for concurrent use.
type failingClient struct {
	store.Client
	mu   sync.Mutex
	left int    // requests before the one that fails
	fail func() // with the error; cancels a context, too
	done bool   // the request has failed
}

// failingTable is a table of such a client.
type failingTable struct {
	bigtable.TableAPI
	of *failingClient
}

func (c *failingClient) OpenTable(id string) bigtable.TableAPI {
	return &failingTable{c.Client.OpenTable(id), c}
}

// fails reports whether the next request fails.
func (c *failingClient) fails() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left--
	if c.left == -1 {
		c.done = true
		c.fail()
	}
	return c.left == -1
}

func (t *failingTable) ReadRows(ctx context.Context, rows bigtable.RowSet, f func(bigtable.Row) bool, opts ...bigtable.ReadOption) error {
	if t.of.fails() {
		return errFailing
	}
	return t.TableAPI.ReadRows(ctx, rows, f, opts...)
}

// Failing calls every method of a generated reader, found by reflection, with all kinds of options, and lets each of its requests
// fail in turn, with and without a canceled context. The error comes back as an error, and nothing panics. Class of faults: a result
// that is used without what an error has left unset.
func Failing[R any](t *testing.T, b *storetest.Bigtable, l *layout.Layout, newReader func(client store.Client, opts ...store.ReaderOptions) R) {
	t.Helper()
	traffic, _ := NewTraffic(l)
	s, prefix := dynamic.New(l), fmt.Sprintf("f%d_", prefixes.Add(1))
	if _, err := setup.Setup(t.Context(), b.Admin, b.Client, s.Tables(), setup.Options{TablePrefix: prefix}); err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return traffic.Now }
	events := rapid.Custom(func(t *rapid.T) []dynamic.Event { return traffic.Events(t, 12) }).Example(12)
	if err := s.NewWriter(b.Client, store.WriterOptions{TablePrefix: prefix, Now: now}).WriteAll(t.Context(), events, store.WriteOptions{LastWins: true}); err != nil {
		t.Fatal(err)
	}
	client := &failingClient{Client: b.Client}
	reader := reflect.ValueOf(newReader(client, store.ReaderOptions{TablePrefix: prefix, Now: now}))
	for i := range reader.NumMethod() {
		f := failing{structs: structs{l}, client: client, name: reader.Type().Method(i).Name, method: reader.Method(i), events: events, edges: traffic.Edges(), all: traffic.Series()}
		if in := f.method.Type(); in.NumIn() > 0 && in.In(0) == reflect.TypeFor[context.Context]() {
			f.everywhere(t)
		}
	}
}

// failing is a method of a reader that is called with failing requests.
type failing struct {
	structs
	client *failingClient
	name   string
	method reflect.Value
	events []dynamic.Event
	edges  []time.Time
	all    [][]any
}

// mostFailing is the largest number of requests of a call that fail.
const mostFailing = 12

// everywhere lets each request of the method fail in turn.
func (f *failing) everywhere(t *testing.T) {
	t.Helper()
	requests := 0
	for _, option := range f.options() {
		for at := range mostFailing {
			for _, canceled := range []bool{false, true} {
				ctx, cancel := context.WithCancel(t.Context())
				f.client.left, f.client.done, f.client.fail = at, false, func() {}
				if canceled {
					f.client.fail = cancel
				}
				err := f.call(t, ctx, option)
				cancel()
				if f.client.done {
					requests++
				}
				if f.client.done && (err == nil || !canceled && !errors.Is(err, errFailing) && !strings.Contains(err.Error(), "this request fails")) {
					t.Errorf("%s, %+v, request %d, canceled %v: error %v", f.name, option, at, canceled, err)
				}
			}
			if !f.client.done {
				break
			}
		}
	}
	if none := !f.numeric() && strings.HasSuffix(f.name, "Points"); (requests == 0) != none {
		t.Errorf("%s: no request: the test gives it wrong arguments", f.name)
	}
}

// options returns values of the last parameter, each in a call of its own: none, and those of its type.
func (f *failing) options() []reflect.Value {
	out := []reflect.Value{{}}
	if !f.method.Type().IsVariadic() {
		return out
	}
	for _, o := range []any{
		store.ReadOptions{NewestFirst: true, Limit: 1}, store.ReadOptions{LatestOnly: true}, store.ReadOptions{Page: &store.Page{Size: 2}}, store.ReadOptions{Fields: []store.Field{}},
		store.WindowOptions{By: []store.SeriesValue{}}, store.WindowOptions{NewestFirst: true, Limit: 2}, store.WindowOptions{NewestFirst: true, Fill: window.FillPrevious, Limit: 2},
		store.SeriesOptions{Page: &store.Page{Size: 1}},
	} {
		if reflect.TypeOf(o) == f.method.Type().In(f.method.Type().NumIn()-1).Elem() {
			out = append(out, reflect.ValueOf(o))
		}
	}
	return out
}

// call calls the method, and returns its last error.
func (f *failing) call(t *testing.T, ctx context.Context, option reflect.Value) (last error) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Fatalf("%s, %+v: panic: %v", f.name, option, p)
		}
	}()
	args := f.arguments(ctx)
	if option.IsValid() {
		args = append(args, option)
	}
	results := f.method.Call(args)
	result := results[len(results)-1]
	if result.Kind() != reflect.Func {
		last, _ = result.Interface().(error)
		return last
	}
	next, stop := iter.Pull2(result.Seq2())
	defer stop()
	for _, err, ok := next(); ok; _, err, ok = next() {
		last, _ = err.Interface().(error)
	}
	return last
}

// arguments returns arguments of the method, without options.
func (f *failing) arguments(ctx context.Context) []reflect.Value {
	given, of := f.given(), f.method.Type()
	out := []reflect.Value{reflect.ValueOf(ctx)}
	last := f.edges[len(f.edges)-1]
	times := []time.Time{f.edges[0], last}
	n := of.NumIn()
	if of.IsVariadic() {
		n--
	}
	for i := 1; i < n; i++ {
		switch in := of.In(i); {
		case len(given) > 0:
			out, given = append(out, given[0].Convert(in)), given[1:]
		case in == reflect.TypeFor[time.Time]():
			out, times = append(out, reflect.ValueOf(times[0])), times[1:]
		case in == reflect.TypeFor[window.Width]():
			out = append(out, reflect.ValueOf(window.Whole()))
		case in == reflect.TypeFor[store.Field]():
			out = append(out, reflect.ValueOf(f.number()))
		case in == reflect.TypeFor[int]():
			out = append(out, reflect.ValueOf(10))
		case in.Kind() == reflect.Pointer:
			out = append(out, reflect.New(in.Elem()))
		case in.Kind() == reflect.Slice:
			out = append(out, f.many(in))
		default:
			out = append(out, f.seriesOf(in, f.all[0]))
		}
	}
	return out
}

// many returns all series, in a slice of a generated type.
func (f *failing) many(of reflect.Type) reflect.Value {
	out := reflect.MakeSlice(of, 0, len(f.all))
	for _, values := range f.all {
		out = reflect.Append(out, f.seriesOf(of.Elem(), values))
	}
	return out
}

// seriesOf returns a series of a generated type.
func (f *failing) seriesOf(of reflect.Type, values []any) reflect.Value {
	out := reflect.New(of).Elem()
	f.series(out, values)
	return out
}

// numeric reports whether the reader has points.
func (f *failing) numeric() bool { return f.number() != "" }

// number returns the name of the first field that is a number; empty if there is none.
func (f *failing) number() store.Field {
	for i := range f.layout.Fields {
		if of := &f.layout.Fields[i]; of.Type.Traits().Number != schema.NoNumber {
			return store.Field(f.layout.FieldName(of))
		}
	}
	return ""
}

// given returns the values that the query of the method takes: those of an event, and of ranges that have it.
func (f *failing) given() (out []reflect.Value) {
	var q *layout.Query
	for i := range f.layout.Queries { // the longest name
		if of := &f.layout.Queries[i]; slices.Contains([]string{"", "Windows", "Columns", "Points", "Series"}, strings.TrimPrefix(f.name, of.Name)) && strings.HasPrefix(f.name, of.Name) {
			q = of
		}
	}
	if q == nil {
		return nil
	}
	for i := range q.Inputs {
		in := &q.Inputs[i]
		v := f.events[0].Series
		if in.Where {
			v = f.events[0].Values
		}
		low := reflect.ValueOf(toGo(in.Of(f.layout), v[in.Index]))
		switch {
		case in.Many:
			low = reflect.Append(reflect.MakeSlice(reflect.SliceOf(low.Type()), 0, 1), low)
			fallthrough
		case in.Form != codec.GivenRange:
			out = append(out, low)
		default:
			out = append(out, low, above(low))
		}
	}
	return out
}

// above returns a value above another one.
func above(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	switch {
	case v.CanInt():
		out.SetInt(v.Int() + 1)
	case v.CanUint():
		out.SetUint(v.Uint() + 1)
	case v.CanFloat():
		out.SetFloat(v.Float() + 1)
	case v.Kind() == reflect.String:
		out.SetString(v.String() + "~")
	}
	return out
}
