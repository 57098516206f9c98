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

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/golden/assert"
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

// TestScanReportsUndecodable checks that undecodable keys and columns are reported, and all other events yielded.
func TestScanReportsUndecodable(t *testing.T) {
	l := offsetBlobs()
	s := holding(t, l, 0, []sample{{Series: "a", Time: day0}, {Series: "a", Time: at(5)}, {Series: "b", Time: day0}})
	for _, row := range []string{"a#2021-03-05", "a#2021-03-20x"} {
		setCell(t, s.Client, l.Table.ID, row, l.Table.Families[0].Name, "not a time", time.Unix(0, 0), nil)
	}
	scanner, err := newScannerOf(s.Client, []*mappingOf[sample]{l}, l.Table.ID)
	must(t, err)
	var got []string
	for row, err := range scanner.Rows(t.Context(), KeyRange{}, time.Time{}, scan.MaxTime) {
		if err != nil {
			failed := asError[*DecodeError](t, err)
			got = append(got, fmt.Sprintf("%s: %s %q", row.Key, failed.Row, failed.Column))
			continue
		}
		got = append(got, fmt.Sprintf("%s: %d", row.Key, len(row.Events)))
	}
	want := []string{`a#2021-03-05: a#2021-03-05 "not a time"`, "a#2021-03-05: 2", `a#2021-03-20x: a#2021-03-20x ""`, "a#2021-03-20x: 0", "b#2021-03-05: 1"}
	same(t, want, got)
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
	_, err := newScannerOf(s.Client, []*mappingOf[sample]{l}, "other")
	same(t, &UnknownTableError{Table: "other", Tables: []string{"days"}}, asError[*UnknownTableError](t, err))
	scanner, err := newScannerOf(s.Client, []*mappingOf[sample]{l}, l.Table.ID)
	must(t, err)
	for _, times := range [][2]time.Time{{at(1), at(0)}, {at(0), {}}} {
		wantRange(t, firstError(scanner.Rows(t.Context(), KeyRange{}, times[0], times[1])), times[0], times[1])
	}
	for row, err := range scanner.Rows(t.Context(), KeyRange{Start: "b", End: "a"}, at(0), at(1)) {
		t.Error(row, err)
	}
	scanner, err = newScannerOf(s.Client, []*mappingOf[sample]{l}, l.Table.ID, ReaderOptions{TablePrefix: "other_"})
	must(t, err)
	wantMissing(t, firstError(scanner.Rows(t.Context(), KeyRange{}, at(0), at(1))), "other_days")
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
	same(t, []int{1, 2}, []int{storedCells(t, s, "days"), storedCells(t, s, "singles")})
	got, err := w.Delete(t.Context(), []sample{nth(1)})
	must(t, err)
	same(t, []int{1, 1, 1}, []int{len(got.Tables), storedCells(t, s, "days"), storedCells(t, s, "singles")})
	for _, tables := range [][]string{{"singles", "other"}, {}} {
		w = newWriterOf(s.Client, mappings, WriterOptions{Tables: tables})
		b := newBatcherOf(w, nil)
		_, deleted := w.DeleteAll(t.Context(), seriesOf(nth(3)))
		for _, err := range []error{w.Write(t.Context(), nth(3)), deleted, b.Add(t.Context(), nth(3))} {
			asError[*UnknownTableError](t, err)
		}
		must(t, b.Close(t.Context()))
	}
}

// TestKeyRanges checks ranges, their shares, and that JSON keeps all bytes.
func TestKeyRanges(t *testing.T) {
	ranges := rangesOf([]string{"b", "b", "\xff\x00", ""})
	same(t, []KeyRange{{"", "b"}, {"b", "\xff\x00"}, {"\xff\x00", ""}}, ranges)
	text, err := json.Marshal(ranges)
	must(t, err)
	var again []KeyRange
	must(t, json.Unmarshal(text, &again))
	same(t, ranges, again)
	rest, some := ranges[0].After("a")
	_, more := KeyRange{"a", "a\x00"}.After("a")
	same(t, []any{KeyRange{"a\x00", "b"}, true, false}, []any{rest, some, more})
	for key, want := range map[string]float64{"": 0, "xa": 0, "xb": 0, "xc": 0.5, "xd": 1, "y": 1} {
		assert.Same(t, want, KeyRange{"xb", "xd"}.Done(key), key)
	}
	same(t, 0.5, KeyRange{}.Done("\x80"))
}

// TestDigests checks that digests depend on every part of events, but not on their order or table.
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

// TestDigestedRows checks what all builds must agree on: digests of the key and the mutations of each row.
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
