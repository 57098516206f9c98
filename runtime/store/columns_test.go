package store

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// sampleColumns are samples in columnar form, as in generated code.
type sampleColumns struct {
	Series               []string
	Time                 []time.Time
	Sequence             []uint32
	Class                []int
	TTL                  []time.Duration
	ExpiresAt, WrittenAt []time.Time
	Value                []uint64
	Note                 [][]byte
}

func rowText(e sample) string {
	s := fmt.Sprintf("%s@%d=%d%q", e.Series, e.Time.UnixMicro(), e.Value, e.Note)
	if e.Class != 0 || e.Sequence != 0 {
		s += fmt.Sprintf(" %d/%d", e.Class, e.Sequence)
	}
	if e.TTL != 0 || !e.ExpiresAt.IsZero() || !e.WrittenAt.IsZero() {
		s += fmt.Sprint(" ", e.TTL, e.ExpiresAt, e.WrittenAt)
	}
	return s
}

// intoColumns returns the columns of a mapping's samples.
func intoColumns(l *mapping) *columnsOf[sample, sampleColumns] {
	parts := []Part{SeriesPart(0, stringSeries), TimePart(1), SequencePart(2), ClassPart[int](3), TTLPart(4), ExpiresAtPart(5)}
	var fields []Part
	stamped := false
	for i, column := range l.Columns {
		set := func(datum []byte) (e sample, err error) {
			err = l.Set(event{&e}, i, datum)
			return e, err
		}
		switch {
		case column.Whole:
			parse := func(e *sample, datum []byte) error { return l.Set(event{e}, i, datum) }
			fields = append(fields, EventColumn(column.Name, nil, parse, FieldPart[uint64](7), BytesPart[[]byte](8)))
		case column.WrittenAt:
			stamped = true
			fields = append(fields, WrittenAtColumn(6, column.Name, codec.Coding[time.Time]{Decode: func(datum []byte) (time.Time, error) { e, err := set(datum); return e.WrittenAt, err }}))
		case len(fields) == 0:
			fields = append(fields, RequiredColumn(7, column.Name, codec.Binary.Uint64))
		default:
			fields = append(fields, BytesColumn(8, column.Name, codec.Coding[[]byte]{Decode: func(datum []byte) ([]byte, error) { e, err := set(datum); return e.Note, err }}))
		}
	}
	if !stamped {
		parts = append(parts, WrittenAtPart(6))
	}
	return columnsByName[sample, sampleColumns](append(parts, fields...)...)
}

// columnsByName returns the parts of events whose slices in C have the names of their fields in E.
func columnsByName[E, C any](parts ...Part) *columnsOf[E, C] {
	names := reflect.VisibleFields(reflect.TypeFor[C]())
	var places []int
	for _, name := range names {
		f, _ := reflect.TypeFor[E]().FieldByName(name.Name)
		places = append(places, append(f.Index, -1)[0])
	}
	at := func(e any, index int) any { return reflect.ValueOf(e).Elem().Field(places[index]).Addr().Interface() }
	return &columnsOf[E, C]{NewColumns[E, C](at, parts...)}
}

// sparse returns samples with a note in some, none or all of a day. Only those of the first day expire soon.
func sparse(random *rand.Rand, l *mappingOf[sample], days, each int) (samples []sample) {
	for day := range days {
		notes := random.IntN(3)
		for i := range each {
			e := sample{Series: fmt.Sprint("s", random.IntN(2)), Time: at(86400*day + 60*i), Value: random.Uint64()}
			if notes == 1 || notes == 2 && random.IntN(2) == 0 {
				e.Note = fmt.Append(nil, i)
			}
			if l.Sequence != nil {
				e.Sequence = random.Uint32N(3)
			}
			if l.Table.hasClasses() {
				e.Class = 1 + random.IntN(2)*(day%2)
			}
			e.ExpiresAt = at(86400 * 50)
			if day == 0 {
				e.ExpiresAt = at(86400*7 + i)
			}
			samples = append(samples, e)
		}
	}
	return samples
}

// spoil makes a value in a row of a table undecodable.
func spoil(t *testing.T, l *mappingOf[sample], client *bigtable.Client) {
	t.Helper()
	var rows []bigtable.Row
	must(t, client.Open(l.Table.ID).ReadRows(t.Context(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		rows = append(rows, row)
		return true
	}))
	for family, items := range rows[len(rows)/3] {
		item := items[len(items)/2]
		_, qualifier, _ := strings.Cut(item.Column, ":")
		if l.Pattern == codec.BucketNewColumns {
			qualifier = "none"
		}
		setCell(t, client, l.Table.ID, item.Row, family, qualifier, item.Timestamp.Time(), []byte("none"))
	}
}

// TestColumnsEndWithLimit reads columns of several series up to a limit: the next series is read only if there is
// room.
func TestColumnsEndWithLimit(t *testing.T) {
	const first = 4
	l := unsorted(metrics())
	var samples []sample
	for i := range 2 * first {
		samples = append(samples, sample{Series: fmt.Sprint("s", i%2), Time: at(i / 2), Value: uint64(i), Note: []byte("note")})
	}
	bt := holding(t, l, 10, samples)
	for _, newestFirst := range []bool{false, true} {
		for limit := 1; limit <= first+2; limit++ {
			var series sync.Map // of the rows
			r := newReaderOf(onRows(bt.Client, func(row bigtable.Row) error {
				series.Store(row.Key()[:2], true)
				return nil
			}), l, clockAt(10))
			var columns sampleColumns
			must(t, readColumns(t.Context(), r, intoColumns(r.reader.mapping), &columns, manySeriesOf(named("s0", "s1")), at(0), at(10), ReadOptions{NewestFirst: newestFirst, Limit: limit}))
			second := map[bool]string{false: "s1", true: "s0"}[newestFirst]
			if _, continued := series.Load(second); len(columns.Time) != limit || continued != (limit > first) {
				t.Errorf("newest first %v, limit %d: %d events, and %s is read: %v", newestFirst, limit, len(columns.Time), second, continued)
			}
		}
	}
}

// Two families may store the write time of an event, which has one.
func TestWrittenAtInTwoColumns(t *testing.T) {
	columns := columnsByName[sample, sampleColumns](
		SeriesPart(0, stringSeries),
		WrittenAtColumn(6, "first", codec.Binary.Timestamp),
		WrittenAtColumn(6, "second", codec.Binary.Timestamp),
	)
	var c sampleColumns
	for i := range 3 {
		columns.Append(&c, &sample{Series: "a", WrittenAt: at(i)})
	}
	columns.columns.appendAll(columns.columns.slices(&c), &listOf[sample]{[]sample{{Series: "a", WrittenAt: at(3)}}})
	same(t, []time.Time{at(0), at(1), at(2), at(3)}, c.WrittenAt)
	same(t, 4, len(c.Series))
}
