package main_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/verify"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// The limits of a sample: places of a round, attempts to cut, and about what a cell takes of memory.
const maxPlaces, maxCuts, cellBytes = 32, 100, 250

// server is a table that samples row keys in its own way, and counts.
type server struct {
	bigtable.TableAPI
	keys           []string // that it samples
	requests, rows int
	fails          int // number of the request that fails; 0 for none
}

var errServer = errors.New("the server fails")

func (s *server) SampleRowKeys(context.Context) ([]string, error) { return s.keys, nil }

func (s *server) ReadRows(ctx context.Context, rows bigtable.RowSet, f func(bigtable.Row) bool, options ...bigtable.ReadOption) error {
	if s.requests++; s.requests == s.fails {
		return errServer
	}
	return s.TableAPI.ReadRows(ctx, rows, func(r bigtable.Row) bool { s.rows++; return f(r) }, options...)
}

// put writes rows of one cell.
func put(t testing.TB, b *storetest.Bigtable, table string, keys []string) {
	t.Helper()
	must(t, b.Admin.CreateTableFromConf(t.Context(), &bigtable.TableConf{TableID: table, ColumnFamilies: map[string]bigtable.Family{"m": {}}}))
	for part := range slices.Chunk(keys, 10_000) {
		muts := make([]*bigtable.Mutation, len(part))
		for i := range part {
			muts[i] = bigtable.NewMutation()
			muts[i].Set("m", "state", bigtable.Time(at), []byte("1"))
		}
		if errs, err := b.Client.Open(table).ApplyBulk(t.Context(), part, muts); err != nil || errs != nil {
			t.Fatal(err, errs)
		}
	}
}

// filled returns a table with rows of one cell.
func filled(t testing.TB, keys []string) bigtable.TableAPI {
	t.Helper()
	b := storetest.New(t, func(context.Context, *storetest.Bigtable) error { return nil })
	put(t, b, "rows", keys)
	return b.Client.OpenTable("rows")
}

// keysOf returns row keys of a form with one number.
func keysOf(form string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf(form, i)
	}
	return out
}

// all wants all rows.
func all(bigtable.Row) bool { return true }

// layouts are tables with two kinds of rows: those that begin with "bad" or end with "!" are the
// fewer, and follow the others, are between them, or precede them.
var layouts = map[string][]string{
	"bad after good":     slices.Concat(keysOf("a#%05d", 1200), keysOf("bad#%05d", 800)),
	"one prefix":         slices.Concat(keysOf("device-%05d#2026-03-05", 1200), keysOf("device-%05d#2027!", 800)),
	"bad last in a long": slices.Concat(keysOf("plant/line/device-%07d", 1500), keysOf("plant/line/device-9%06d!", 200)),
	"one bad at the end": slices.Concat(keysOf("m%06d", 2000), []string{"zz!"}),
	"far apart":          slices.Concat(keysOf("\x00\x00%04d", 900), keysOf("\xff\xff\xff%04d!", 200)),
	"many small first":   slices.Concat(keysOf("%02d", 40), keysOf("x/%05d", 900), keysOf("x/%05d!", 900)),
	"binary":             binaries(),
}

// binaries returns keys of 4 bytes, good ones up to the middle.
func binaries() (out []string) {
	for i := range 1500 {
		suffix := ""
		if i > 1000 {
			suffix = "!"
		}
		out = append(out, string([]byte{0, 0, byte(i >> 8), byte(i)})+suffix)
	}
	return out
}

// A sample contains rows of all parts of a table, whichever row keys the server samples. It reads a bounded number of rows and requests,
// and says how many. Of the whole table, it reads each row once.
func TestSpread(t *testing.T) {
	b := storetest.New(t, func(context.Context, *storetest.Bigtable) error { return nil })
	table := 0
	for name, keys := range testlong.SampleMap(layouts, 4) {
		table++
		id := fmt.Sprintf("t%d", table)
		put(t, b, id, keys)
		slices.Sort(keys)
		samples := map[string][]string{
			"none": nil, "the end": {""}, "one": {keys[1]}, "three": {keys[100], keys[200], keys[300]},
			"wrong": {"zzz", "", "a", "a", "\xff", "0", "nothing", keys[5] + "x"},
		}
		for i := 99; i < len(keys); i += 100 {
			samples["every hundredth"] = append(samples["every hundredth"], keys[i])
		}
		for of, sampled := range samples {
			for _, n := range testlong.Sample([]int{10, 1, 2, 100, 1000, 100_000}, 3) {
				if n == 100_000 && of != "three" {
					continue // takes long, and says nothing new
				}
				s := &server{TableAPI: b.Client.OpenTable(id), keys: sampled}
				checkSpread(t, fmt.Sprintf("%s, samples %s, %d rows", name, of, n), s, keys, n)
			}
		}
	}
}

// checkSpread samples n rows of a table with the given keys.
func checkSpread(t *testing.T, name string, s *server, keys []string, n int) {
	t.Helper()
	var read []string
	got, err := verify.Sample(t.Context(), s, verify.Sampling{Rows: n, Timeout: time.Minute}, func(r bigtable.Row) bool {
		read = append(read, r.Key())
		return true
	})
	must(t, err, name)
	bad := slices.ContainsFunc(read, func(key string) bool { return strings.HasPrefix(key, "bad") || strings.HasSuffix(key, "!") })
	slices.Sort(read)
	places, probes := runs(keys, read), s.rows-len(read)
	switch {
	case len(slices.Compact(slices.Clone(read))) != len(read):
		t.Errorf("%s: rows are read twice", name)
	case len(read) != min(n, len(keys)) || got.Rows != len(read):
		t.Errorf("%s: %d rows are read, %d reported", name, len(read), got.Rows)
	case got.Complete != (len(read) == len(keys)) && n != len(keys):
		t.Errorf("%s: %+v", name, got)
	case got.Places < places || got.Places > places+maxPlaces:
		t.Errorf("%s: %d places, reported %d", name, places, got.Places)
	case !bad && (n >= 100 || n >= 10 && !strings.HasPrefix(name, "one prefix")):
		t.Errorf("%s: none of the bad rows", name)
	case n >= 10 && n <= 100 && places < n/8:
		t.Errorf("%s: %d rows at %d places", name, n, places)
	case probes > 3*maxCuts, n <= 10 && probes > 50, s.requests > 800:
		t.Errorf("%s: %d rows are read for their keys, %d requests", name, probes, s.requests)
	case s.keys == nil && (got.First != sample.ShowKey(keys[0]) || got.Last != sample.ShowKey(keys[len(keys)-1])):
		t.Errorf("%s: first %s, last %s", name, got.First, got.Last)
	}
}

// runs counts the runs of adjacent rows.
func runs(all, read []string) (n int) {
	last := -2
	for _, key := range read {
		i, _ := slices.BinarySearch(all, key)
		if i != last+1 {
			n++
		}
		last = i
	}
	return n
}

// A sample of large rows is spread, too: the first ones do not take all of the bytes.
func TestSpreadBytes(t *testing.T) {
	table := filled(t, keysOf("k%04d", 2000))
	s := verify.Sampling{Rows: 1000, Bytes: 100 * (cellBytes + len("m:state") + 1), Filter: bigtable.PassAllFilter(), Timeout: time.Minute}
	var read []string
	got, err := verify.Sample(t.Context(), &server{TableAPI: table}, s, func(r bigtable.Row) bool {
		read = append(read, r.Key())
		return true
	})
	slices.Sort(read)
	few := got.Rows > 110 || got.Rows < 80 || got.Places < 20 || read[len(read)-1] < "k1999"
	if err != nil || !got.Full || got.Complete || few || !strings.Contains(got.String(), "limit of memory") {
		t.Errorf("%+v, %v", got, err)
	}
}

// Ranges of a sample contain as many rows as requested, whatever they contain.
func TestSampleRanges(t *testing.T) {
	keys := keysOf("k%05d", 3000)
	table := filled(t, keys)
	for _, n := range []int{1, 10, 500, 10_000} {
		s, rows := &server{TableAPI: table}, 0
		got, err := verify.Sample(t.Context(), s, verify.Sampling{Rows: n, Filter: verify.KeysOnly, Timeout: time.Minute, Read: func(start, end string) error {
			for _, key := range keys {
				if key >= start && (end == "" || key < end) {
					rows++
				}
			}
			return nil
		}}, all)
		if err != nil || rows != min(n, len(keys)) || got.Rows != rows || got.Complete != (n > len(keys)) {
			t.Errorf("%d rows: %d, %+v, %v", n, rows, got, err)
		}
	}
}

// An empty table and rows with a prefix.
func TestSpreadPrefix(t *testing.T) {
	table := filled(t, slices.Concat(keysOf("a%03d", 100), keysOf("b%03d", 100), keysOf("c%03d", 100)))
	for prefix, want := range map[string]string{"b": "all 100 rows", "b00": "all 10 rows", "b007": "all 1 row", "d": "all 0 rows"} {
		got, err := verify.Sample(t.Context(), table, verify.Sampling{Rows: 1000, Prefix: prefix, Timeout: time.Minute}, func(r bigtable.Row) bool {
			if !strings.HasPrefix(r.Key(), prefix) {
				t.Errorf("row %s", r.Key())
			}
			return true
		})
		if err != nil || got.String() != want {
			t.Errorf("%s: %s, %v", prefix, got, err)
		}
	}
}

// A sample ends with the row at which its caller wants no more, and with the first request that
// fails, however many places are left.
func TestSampleEnds(t *testing.T) {
	table := filled(t, keysOf("k%04d", 500))
	sampling := verify.Sampling{Rows: 20, Timeout: time.Minute}
	for _, wanted := range []int{1, 2, 5, 19} {
		s, rows := &server{TableAPI: table}, 0
		got, err := verify.Sample(t.Context(), s, sampling, func(bigtable.Row) bool {
			rows++
			return rows < wanted
		})
		if err != nil || rows != wanted || got.Rows != wanted || got.Complete {
			t.Errorf("%d rows after the caller wanted %d: %+v, %v", rows, wanted, got, err)
		}
	}
	whole := &server{TableAPI: table}
	_, err := verify.Sample(t.Context(), whole, sampling, all)
	must(t, err)
	for i := range whole.requests {
		s := &server{TableAPI: whole.TableAPI, fails: i + 1}
		if _, err := verify.Sample(t.Context(), s, sampling, all); !errors.Is(err, errServer) || s.requests != i+1 {
			t.Errorf("request %d of %d fails: %d requests, %v", i+1, whole.requests, s.requests, err)
		}
	}
}

// Sampled keys that are not among the rows of a sample cost no requests, nor does the end of a
// table with one row.
func TestSampleRequests(t *testing.T) {
	table := filled(t, slices.Concat(keysOf("a%03d", 100), keysOf("b%03d", 100), keysOf("c%03d", 100)))
	requests := func(prefix string, keys ...string) int {
		s := &server{TableAPI: table, keys: keys}
		_, err := verify.Sample(t.Context(), s, verify.Sampling{Rows: 50, Prefix: prefix, Timeout: time.Minute}, all)
		must(t, err)
		return s.requests
	}
	for _, prefix := range []string{"b", "b00", "b007"} {
		others := slices.Concat(keysOf("a%03d", 100), keysOf("c%03d", 100))
		assert.Same(t, requests(prefix), requests(prefix, others...), prefix)
	}
	if got := requests("b007"); got > 3 { // the first key, the last one, and the row
		t.Errorf("one row: %d requests", got)
	}
}
