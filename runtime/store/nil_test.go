package store

import (
	"context"
	"go/ast"
	"go/types"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/golden/assert"
)

// takers are the types of parameters that are nil if a caller forgets something.
var takers = []string{"Client", "Reader", "Writer", "Admin", "Deleter", "Lister", "Statistics", "Connection"}

// nilElsewhere are the functions of other packages that take one of them, and are tested there.
var nilElsewhere = []string{
	"setup.Setup", "setup.DeleteTables", "setup.ExamineUnmanaged", "setup.UnknownTables", "otelstore.Observe",
	"beamstore.Backfill", "beamstore.Delete", "beamstore.Export", "beamstore.Read", "beamstore.Rollup", "beamstore.Write",
}

// Class: a nil client, reader or writer that panics. All exported functions that take one return a typed error for
// nil, a nil pointer and a zero value, or something whose calls do.
func TestNil(t *testing.T) {
	tested := map[string]bool{"store.AuthorizedViews": true}
	for _, client := range []Client{nil, (*bigtable.Client)(nil), new(bigtable.Client), AuthorizedViews(nil, func(string) string { return "v" })} {
		for name, call := range nilClients(t, client) {
			tested["store."+name] = true
			expectNoClient(t, name, call())
		}
	}
	for _, w := range []*Writer{nil, {}} {
		b := NewBatcher(w, nil)
		expectNoClient(t, "NewBatcher", b.Add(t.Context(), &sample{Series: "a", Time: time.Now(), Value: 1}))
		must(t, b.Close(t.Context()))
		tested["store.NewBatcher"] = true
	}
	for _, name := range takingFunctions(t) {
		if !tested[name] && !slices.Contains(nilElsewhere, name) {
			t.Errorf("%s is not called with nil", name)
		}
	}
}

// A read into columns that are nil says so.
func TestNilColumns(t *testing.T) {
	l := days()
	r, into := newReaderOf(newBigtable(t, l).Client, l), intoColumns(l.untyped())
	for _, columns := range []any{nil, (*sampleColumns)(nil)} {
		err := r.reader.ReadColumns(t.Context(), into.columns, columns, seriesOf(named("s")[0]), at(0), at(1))
		assert.Is(t, ErrNoColumns, err)
	}
}

// expectNoClient checks the error of a call.
func expectNoClient(t *testing.T, name string, err error) {
	t.Helper()
	asError[*NoClientError](t, err, name)
}

// nilClients are the functions that take a client, and a call of what they return.
func nilClients(t *testing.T, client Client) map[string]func() error {
	l := days()
	all, e := []*mappingOf[sample]{l, inTable("other", days)}, sample{Series: "a", Time: time.Now(), Value: 1}
	return map[string]func() error{
		"OpenTable": func() error { return OpenTable(client, "t").Apply(t.Context(), "r", bigtable.NewMutation()) },
		"NewReader": func() error { return firstError(newReaderOf(client, l).Read(t.Context(), seriesOf(e), day0, at(1))) },
		"NewWriter": func() error { return newWriterOf(client, all).Write(t.Context(), e) },
		"NewScanner": func() error {
			s, err := newScannerOf(client, all, l.Table.ID)
			if err != nil {
				return err
			}
			return firstError(s.Rows(t.Context(), KeyRange{}, day0, at(1)))
		},
		"Hidden": func() error {
			of := l.given()
			of.Since, of.Older = at(1), []*Mapping{days().given()}
			_, err := Tables([]*Mapping{of})[0].Hidden(t.Context(), client, []time.Time{of.Since})
			return err
		},
		"Backfill": func() error {
			_, err := backfillOf(t.Context(), client, all, BackfillOptions{Target: "other"})
			return err
		},
		"NewBackfillParts": func() error {
			p, err := newBackfillPartsOf(client, all, time.Now(), BackfillOptions{Target: "other", To: time.Now()})
			if err != nil {
				return err
			}
			_, err = p.Find(t.Context(), p.First()[0], KeyRange{}, nil, func(JobNote) {})
			return err
		},
		"Rollup": func() error {
			l := rolled(days(), 0)
			_, err := runRollup(t.Context(), client, []*mappingOf[sample]{l}, intoColumns(l.untyped()), sampleWindows)
			return err
		},
		"NewRollupParts": func() error {
			l := rolled(days(), 0)
			p, err := newRollupPartsOf(client, []*mappingOf[sample]{l}, intoColumns(l.untyped()), sampleWindows, RollupOptions{})
			if err != nil {
				return err
			}
			_, err = p.Splits(t.Context(), JobTable{})
			return err
		},
	}
}

// firstError returns the first error that a read yields.
func firstError[T any](read iter.Seq2[T, error]) error {
	for _, err := range read {
		if err != nil {
			return err
		}
	}
	return nil
}

// takingFunctions returns the exported functions of packages that take one of takers.
func takingFunctions(t *testing.T) (out []string) {
	for _, pkg := range []string{"store", "setup", "otelstore", "beamstore"} {
		for _, fn := range functions(t, "../"+pkg) {
			if fn.Name.IsExported() && takes(fn.Type.Params) {
				out = append(out, pkg+"."+fn.Name.Name)
			}
		}
	}
	if len(out) < 20 {
		t.Errorf("only %q take a client", out)
	}
	return slices.Compact(slices.Sorted(slices.Values(out)))
}

// takes reports whether a parameter has one of takers as its type.
func takes(params *ast.FieldList) bool {
	return slices.ContainsFunc(params.List, func(p *ast.Field) bool {
		name, _, _ := strings.Cut(types.ExprString(p.Type), "[")
		return slices.Contains(takers, name[strings.LastIndexByte(name, '.')+1:])
	})
}

// zeroValues are zero values of the exported types with methods. Calls of the first ones fail with a *NoClientError.
var zeroValues = []any{
	NewReader(nil, days().given()), NewWriter(nil, []*Mapping{days().given()}), NewBatcher(NewWriter(nil, []*Mapping{days().given()}), nil),
	new(Reader), new(Writer), new(Batcher), new(Scanner[sample]), new(BackfillParts), new(RollupParts),
	(*Reader)(nil), (*Writer)(nil), (*Batcher)(nil), (*Scanner[sample])(nil), (*BackfillParts)(nil),

	new(Columns), new(Deletion), new(Difference), new(Digest), new(Failure), new(KeyRange), new(KeySchema),
	new(Mapping), new(Older[uint64]), new(Outcome), new(Part), new(Query), new(Selection), new(Table),
	new(BackfillError), new(BatchError), new(CheckpointError), new(DecodeError), new(DeleteError), new(DuplicateError), new(LeftError),
	new(MergeError), new(MicrosError), new(MissingTableError), new(NoClientError), new(OptionsError), new(RangeError), new(ReplicationError), new(ReversedError),
	new(RollupError), new(RunError), new(SelectionError), new(TokenError), new(TooLargeError), new(UnknownTableError), new(WriteError),
}

// Class: a zero value whose methods panic. Methods that send requests say first that there is no client.
func TestZeroValues(t *testing.T) {
	tested, made := map[string]bool{}, true
	for _, zero := range zeroValues {
		v := reflect.ValueOf(zero)
		name, _, _ := strings.Cut(v.Type().Elem().Name(), "[")
		tested[name], made = true, made && name != "Columns"
		for i := range v.NumMethod() {
			method := name + "." + v.Type().Method(i).Name
			for _, err := range zeroCall(t, method, v.Method(i)) {
				if made && method != "Batcher.Flush" && method != "Batcher.Close" {
					expectNoClient(t, method, err)
				}
			}
		}
	}
	for _, name := range methodful(t) {
		if !tested[name] {
			t.Errorf("the methods of %s are not called", name)
		}
	}
}

// zeroCall calls a method with zero values and functions that do nothing. It returns all errors.
func zeroCall(t *testing.T, name string, method reflect.Value) (errs []error) {
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("%s panics: %v", name, r)
		}
	}()
	isError := reflect.TypeFor[error]()
	given := map[reflect.Type]any{
		reflect.TypeFor[context.Context](): t.Context(), reflect.TypeFor[RowClaims](): allClaims{},
		reflect.TypeFor[Selection](): SeriesOf(&sample{}), reflect.TypeFor[List](): ListOf([]sample{{}}),
		reflect.TypeFor[any](): &sample{},
	}
	var in []reflect.Value
	for i := range method.Type().NumIn() {
		of := method.Type().In(i)
		v := reflect.New(of).Elem()
		switch {
		case given[of] != nil:
			v.Set(reflect.ValueOf(given[of]))
		case of.Kind() == reflect.Pointer:
			v.Set(reflect.New(of.Elem()))
		case of.Kind() == reflect.Func:
			v.Set(reflect.MakeFunc(of, func([]reflect.Value) (out []reflect.Value) {
				for o := range of.NumOut() {
					out = append(out, reflect.Zero(of.Out(o)))
				}
				return out
			}))
		}
		if !method.Type().IsVariadic() || i < method.Type().NumIn()-1 {
			in = append(in, v)
		}
	}
	for _, out := range method.Call(in) {
		switch {
		case out.Type() == isError:
			err, _ := out.Interface().(error)
			errs = append(errs, err)
		case out.Type() == reflect.TypeFor[Results]():
			for _, err := range ResultsOf[sample](out.Interface().(Results)) {
				errs = append(errs, err)
			}
		case out.Type().CanSeq2() && out.Kind() == reflect.Func:
			yield := out.Type().In(0)
			out.Call([]reflect.Value{reflect.MakeFunc(yield, func(values []reflect.Value) []reflect.Value {
				for i, v := range values {
					if yield.In(i) == isError {
						err, _ := v.Interface().(error)
						errs = append(errs, err)
					}
				}
				return []reflect.Value{reflect.ValueOf(true)}
			})})
		}
	}
	return errs
}

// methodful returns the names of the exported types of the package with exported methods, other than interfaces.
func methodful(t *testing.T) (out []string) {
	for _, fn := range functions(t, ".") {
		if fn.Name.IsExported() && fn.Recv != nil {
			name, _, _ := strings.Cut(strings.TrimPrefix(types.ExprString(fn.Recv.List[0].Type), "*"), "[")
			if ast.IsExported(name) {
				out = append(out, name)
			}
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(out)))
}
