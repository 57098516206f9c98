package store

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/runtime/scan"
)

// scanned scans a table and returns its events as text, in the order of the scan.
func scanned(ctx context.Context, t testing.TB, client Client, l *mappingOf[sample], o ReaderOptions, within KeyRange) (events []string, rows []string, err error) {
	t.Helper()
	s, err := newScannerOf(client, []*mappingOf[sample]{l}, l.Table.ID, o)
	must(t, err)
	for row, err := range s.Rows(ctx, within, time.Time{}, scan.MaxTime) {
		if err != nil {
			return events, rows, err
		}
		rows = append(rows, row.Key)
		for _, e := range row.Events {
			events = append(events, fmt.Sprintf("%s %s %d", e.Series, e.Time.Format(time.RFC3339Nano), e.Value))
		}
	}
	return events, rows, nil
}

// TestScanReportsUndecodable checks that a row key and a column that cannot be decoded are
// reported with their row, and that all other events are yielded.
func TestScanReportsUndecodable(t *testing.T) {
	l := offsetBlobs()
	s := holding(t, l, 0, []sample{{Series: "a", Time: day0}, {Series: "a", Time: at(5)}, {Series: "b", Time: day0}})
	m := bigtable.NewMutation()
	m.Set(l.Table.Families[0].Name, "not a time", 0, nil)
	for _, row := range []string{"a#2021-03-05", "a#2021-03-20x"} {
		must(t, s.Client.Open(l.Table.ID).Apply(t.Context(), row, m))
	}
	scanner, err := newScannerOf(s.Client, []*mappingOf[sample]{l}, l.Table.ID)
	must(t, err)
	var got []string
	for row, err := range scanner.Rows(t.Context(), KeyRange{}, time.Time{}, scan.MaxTime) {
		var failed *DecodeError
		switch {
		case errors.As(err, &failed):
			got = append(got, fmt.Sprintf("%s: %s %q", row.Key, failed.Row, failed.Column))
		case err != nil:
			t.Fatal(err)
		default:
			got = append(got, fmt.Sprintf("%s: %d", row.Key, len(row.Events)))
		}
	}
	want := []string{`a#2021-03-05: a#2021-03-05 "not a time"`, "a#2021-03-05: 2", `a#2021-03-20x: a#2021-03-20x ""`, "a#2021-03-20x: 0", "b#2021-03-05: 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestScanFails lets a scan fail at each row, also of other fields: the error is the last value, after the rows before it.
func TestScanFails(t *testing.T) {
	rejected := status.Error(codes.PermissionDenied, "no")
	for _, l := range []*mappingOf[sample]{days(), metrics()} {
		s := holding(t, l, 0, []sample{{Series: "a", Time: day0, Note: []byte("n")}, {Series: "b", Time: day0}})
		_, whole, err := scanned(t.Context(), t, s.Client, l, ReaderOptions{}, KeyRange{})
		must(t, err)
		for after := range 4 {
			client, received := breaksAfter(s.Client, after, rejected)
			_, rows, err := scanned(t.Context(), t, client, l, ReaderOptions{}, KeyRange{})
			if errors.Is(err, rejected) != (received.Load() > int64(after)) || !slices.Equal(rows, whole[:len(rows)]) || len(whole) < 2 || err == nil && len(rows) != len(whole) || err != nil && len(rows) > after {
				t.Errorf("%s, after %d rows: %v, %v", l.Table.ID, after, rows, err)
			}
		}
	}
}

// TestScanStops ends the context during a scan; the error is its cause.
func TestScanStops(t *testing.T) {
	l := singles()
	s := holding(t, l, 0, hourly(100, 0, 100))
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	scanner, err := newScannerOf(s.Client, []*mappingOf[sample]{l}, l.Table.ID)
	must(t, err)
	rows := 0
	for row, failed := range scanner.Rows(ctx, KeyRange{}, time.Time{}, scan.MaxTime) {
		rows, err = rows+len(row.Events), failed
		cancel(stop)
	}
	if !errors.Is(err, stop) || rows != 1 {
		t.Errorf("%v after %d rows", err, rows)
	}
}

// TestScanRefuses checks the errors of scans that read nothing.
func TestScanRefuses(t *testing.T) {
	l := days()
	s := newBigtable(t, l)
	var unknown *UnknownTableError
	if _, err := newScannerOf(s.Client, []*mappingOf[sample]{l}, "other"); !errors.As(err, &unknown) || unknown.Table != "other" || !slices.Equal(unknown.Tables, []string{"days"}) {
		t.Error(err)
	}
	scanner, err := newScannerOf(s.Client, []*mappingOf[sample]{l}, l.Table.ID)
	must(t, err)
	for _, times := range [][2]time.Time{{at(1), at(0)}, {at(0), {}}} {
		for _, err := range scanner.Rows(t.Context(), KeyRange{}, times[0], times[1]) {
			wantRange(t, err, times[0], times[1])
		}
	}
	for row, err := range scanner.Rows(t.Context(), KeyRange{Start: "b", End: "a"}, at(0), at(1)) {
		t.Error(row, err)
	}
	scanner, err = newScannerOf(s.Client, []*mappingOf[sample]{l}, l.Table.ID, ReaderOptions{TablePrefix: "other_"})
	must(t, err)
	for _, err := range scanner.Rows(t.Context(), KeyRange{}, at(0), at(1)) {
		wantMissing(t, err, "other_days")
	}
	_, err = scanner.Splits(t.Context())
	wantMissing(t, err, "other_days")
}

// TestWriterOfSomeTables writes to and deletes from one of two tables.
func TestWriterOfSomeTables(t *testing.T) {
	mappings := []*mappingOf[sample]{days(), singles()}
	s := newBigtable(t, mappings...)
	must(t, newWriterOf(s.Client, mappings).Write(t.Context(), nth(1)))
	w := newWriterOf(s.Client, mappings, WriterOptions{Tables: []string{"singles"}})
	must(t, w.Write(t.Context(), nth(2)))
	if a, b := storedCells(t, s, "days"), storedCells(t, s, "singles"); a != 1 || b != 2 {
		t.Errorf("%d and %d cells", a, b)
	}
	got, err := w.Delete(t.Context(), []sample{nth(1)})
	if must(t, err); len(got.Tables) != 1 || storedCells(t, s, "days") != 1 || storedCells(t, s, "singles") != 1 {
		t.Error(got)
	}
	for _, tables := range [][]string{{"singles", "other"}, {}} {
		w = newWriterOf(s.Client, mappings, WriterOptions{Tables: tables})
		var unknown *UnknownTableError
		if err := w.Write(t.Context(), nth(3)); !errors.As(err, &unknown) {
			t.Error(err)
		}
		if _, err := w.DeleteAll(t.Context(), seriesOf(nth(3))); !errors.As(err, &unknown) {
			t.Error(err)
		}
		b := newBatcherOf(w, nil)
		if err := b.Add(t.Context(), nth(3)); !errors.As(err, &unknown) {
			t.Error(err)
		}
		must(t, b.Close(t.Context()))
	}
}

// TestKeyRanges checks ranges, their shares, and that JSON keeps all bytes.
func TestKeyRanges(t *testing.T) {
	ranges := rangesOf([]string{"b", "b", "\xff\x00", ""})
	if diff := cmp.Diff([]KeyRange{{"", "b"}, {"b", "\xff\x00"}, {"\xff\x00", ""}}, ranges); diff != "" {
		t.Error(diff)
	}
	text, err := json.Marshal(ranges)
	must(t, err)
	var again []KeyRange
	if must(t, json.Unmarshal(text, &again)); !slices.Equal(ranges, again) {
		t.Error(string(text))
	}
	if rest, some := ranges[0].After("a"); !some || rest != (KeyRange{"a\x00", "b"}) {
		t.Error(rest, some)
	}
	if rest, some := (KeyRange{"a", "a\x00"}).After("a"); some {
		t.Error(rest)
	}
	for key, want := range map[string]float64{"": 0, "xa": 0, "xb": 0, "xc": 0.5, "xd": 1, "y": 1} {
		if got := (KeyRange{"xb", "xd"}).Done(key); got != want {
			t.Errorf("%q: %v, want %v", key, got, want)
		}
	}
	if got := (KeyRange{}).Done("\x80"); got != 0.5 {
		t.Error(got)
	}
}

// TestDigests checks that digests depend on every part of events, but not on their order or on
// the table that they were read from.
func TestDigests(t *testing.T) {
	l := expires(singles())
	d := newDigester(l.untyped(), at(10))
	base := sample{Series: "s", Time: at(0), Value: 1, ExpiresAt: at(1000)}
	seen := map[Digest]string{}
	var forward, backward Digest
	all := map[string]func(e *sample){
		"base": func(*sample) {}, "series": func(e *sample) { e.Series = "t" }, "time": func(e *sample) { e.Time = at(1) },
		"value": func(e *sample) { e.Value = 2 }, "note": func(e *sample) { e.Note = []byte("x") }, "expiry": func(e *sample) { e.ExpiresAt = at(1001) },
	}
	var sums []Digest
	for name, change := range all {
		e := base
		change(&e)
		sum, err := d.of(event{&e})
		must(t, err)
		if other := seen[sum]; other != "" || sum.Events != 1 {
			t.Errorf("%s and %s: %v", name, other, sum)
		}
		seen[sum] = name
		sums = append(sums, sum)
	}
	for i := range sums {
		forward.Add(sums[i])
		backward.Add(sums[len(sums)-1-i])
	}
	if forward != backward || forward.Events != int64(len(all)) || strings.Count(forward.String(), "of 6 events") != 1 {
		t.Error(forward, backward)
	}
	written := base
	written.WrittenAt = at(5)
	if sum, err := d.of(event{&written}); err != nil || seen[sum] != "base" {
		t.Errorf("the write time matters: %v, %v", sum, err)
	}
	if _, err := d.of(event{&sample{Series: "s", Time: at(0), ExpiresAt: at(9)}}); err == nil {
		t.Error("an expired event has a digest")
	}
}

// TestDigestedRows checks what a digest is made of, which builds that compare digests must agree
// on: the key and the mutations of each row of an event, each after its length.
func TestDigestedRows(t *testing.T) {
	l := metrics()
	d := newDigester(l.untyped(), at(10))
	for range 2 { // the second event begins where the first one has begun
		text, err := d.contents(event{&sample{Series: "s", Time: at(0), Value: 1, Note: []byte("note")}})
		must(t, err)
		var keys []string
		for i := 0; len(text) > 0; i++ {
			n, size := binary.Uvarint(text)
			if size <= 0 || n > uint64(len(text)-size) {
				t.Fatalf("part %d has %d bytes of %d", i, n, len(text)-size)
			}
			if part := text[size : size+int(n)]; i%2 == 0 {
				keys = append(keys, string(part))
			}
			text = text[size+int(n):]
		}
		same(t, []string{"s#v.1#2021-03-05", "s#note#2021-03-05"}, keys)
	}
}
