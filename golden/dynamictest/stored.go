package dynamictest

import (
	"fmt"
	"iter"
	"reflect"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/runtime/store"
)

// Reads checks that generated code reads the stored events of some series as package dynamic does,
// and returns their number. newReader is the generated constructor.
func Reads[S, E, C any, R Reader[S, E, C]](
	t *testing.T, client *bigtable.Client, l *layout.Layout, series [][]any, opts store.ReaderOptions, newReader func(client store.Client, opts ...store.ReaderOptions) R,
) int {
	t.Helper()
	all := Range{To: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}
	s, ours, theirs := structs{l}, dynamic.New(l).NewReader(client, opts), newReader(client, opts)
	events := 0
	compare := func(name string, want iter.Seq2[E, error], got iter.Seq2[dynamic.Event, error]) {
		t.Helper()
		next, stop := iter.Pull2(got)
		defer stop()
		for e, err := range want {
			is, failed, ok := next()
			if !ok || shown(err) != shown(failed) {
				t.Fatalf("%s: generated code reads %+v, %v, and package dynamic %+v, %v", name, e, err, is, failed)
			}
			if was := s.dynamic(reflect.ValueOf(e)); err == nil && !Equal(&was, &is) {
				t.Fatalf("%s: generated code reads %+v, and package dynamic %+v", name, was, is)
			}
			events++
		}
		if is, err, ok := next(); ok {
			t.Fatalf("%s: package dynamic reads one more: %+v, %v", name, is, err)
		}
	}
	for _, values := range series {
		var of S
		s.series(reflect.ValueOf(&of).Elem(), values)
		for _, o := range []store.ReadOptions{{}, {NewestFirst: true}} {
			compare(fmt.Sprintf("Read %v %+v", values, o), theirs.Read(t.Context(), of, all.From, all.To, o), ours.Read(t.Context(), dynamic.Series(values), all.From, all.To, o))
		}
		want, err := theirs.Latest(t.Context(), of)
		got, failed := ours.Latest(t.Context(), values)
		if was := s.dynamic(reflect.ValueOf(want)); shown(err) != shown(failed) || err == nil && !Equal(&was, &got) {
			t.Fatalf("Latest %v: generated code reads %+v, %v, and package dynamic %+v, %v", values, want, err, got, failed)
		}
		for i := range l.Queries {
			q := &l.Queries[i]
			args := []reflect.Value{reflect.ValueOf(t.Context())}
			for _, n := range q.By {
				args = append(args, reflect.ValueOf(of).Field(n))
			}
			args = append(args, reflect.ValueOf(all.From), reflect.ValueOf(all.To))
			found := reflect.ValueOf(theirs).MethodByName(q.Name).Call(args)[0].Interface().(iter.Seq2[E, error])
			compare(fmt.Sprintf("%s %v", q.Name, values), found, ours.Read(t.Context(), dynamic.Query(q.Name, ValuesOf(q, values)), all.From, all.To))
		}
	}
	return events
}
