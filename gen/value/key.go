package value

import (
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// OwnSalt is the [Key].Salt of a key whose salt is computed from its values.
const OwnSalt = -1

// Key is the content of a row key.
type Key struct {
	Series   []any     // one value for each of Layout.Series
	Salt     int       // OwnSalt, or another salt to write
	Metric   string    // column name of a field; empty for patterns without metrics
	At       time.Time // of the event, or any time in the bucket; the start of the bucket when read
	Sequence uint32
}

// WriteSegments writes segments of a key.
func WriteSegments(l *layout.Layout, t *layout.Table, w *codec.KeyWriter, segments []codec.Segment, k *Key) {
	for _, g := range segments {
		if g.Joined {
			w.Join()
		}
		switch g.Kind {
		case codec.SeriesSegment:
			WriteSeries(w, &l.Series[g.Series], g.Form, k.Series[g.Series])
		case codec.SaltSegment:
			if k.Salt != OwnSalt {
				w.SaltNumber(g.Buckets, k.Salt)
				continue
			}
			writeSalt(l, t, w, g, k.Series)
		case codec.SequenceSegment:
			w.Sequence(k.Sequence)
		case codec.MetricSegment:
			w.String("metric", k.Metric)
		case codec.ConstSegment:
			w.Const(g.Const)
		case codec.BucketSegment:
			if t.Bucket.Widest() > 0 { // a missing width is reported elsewhere
				w.Bucket(t.Bucket, k.At)
			}
		case codec.TimeSegment:
			w.Time(t.Time, k.At)
		}
	}
}

// writeSalt writes the salt of series values and returns it.
func writeSalt(l *layout.Layout, t *layout.Table, w *codec.KeyWriter, g codec.Segment, series []any) int {
	w.BeginSalt(g.Buckets)
	for _, i := range g.Salted {
		WriteSeries(w, &l.Series[i], t.FormOf(i), series[i])
	}
	return w.EndSalt()
}

// WriteSeries writes a series value. It writes nothing if the value does not have the Go
// type of the field; see [Check].
func WriteSeries(w *codec.KeyWriter, f *layout.Field, form codec.KeyForm, v any) {
	if k := of(f); k.key != nil {
		k.key(w, f, form, v)
	}
}

// Read parses a row key of a table, as generated code does: it does not check the salt.
// Errors are of type [*codec.FieldError] and wrap [codec.ErrKey].
func Read(l *layout.Layout, t *layout.Table, row string) (Key, error) {
	return read(l, t, row, false)
}

// ReadVerified is like [Read], but rejects a key whose salt does not match its values,
// because readers of the series would not find the row.
func ReadVerified(l *layout.Layout, t *layout.Table, row string) (Key, error) {
	return read(l, t, row, true)
}

func read(l *layout.Layout, t *layout.Table, row string, verify bool) (Key, error) {
	k := Key{Series: make([]any, len(l.Series)), Salt: OwnSalt}
	if t.Endless() {
		k.At = t.Bucket.Min()
	}
	r := codec.NewKeyReader(row, t.Delimiter)
	for i, g := range t.Segments {
		if g.Joined {
			r.Join(t.Tail(i))
		}
		readSegment(l, t, &r, g, &k)
	}
	for _, g := range t.Segments {
		if verify && g.Kind == codec.SaltSegment {
			w := t.KeyWriter()
			r.VerifySalt(k.Salt, writeSalt(l, t, &w, g, k.Series))
		}
	}
	return k, r.Close()
}

// readSegment reads one segment of a key.
func readSegment(l *layout.Layout, t *layout.Table, r *codec.KeyReader, g codec.Segment, k *Key) {
	switch g.Kind {
	case codec.SeriesSegment:
		f := &l.Series[g.Series]
		k.Series[g.Series] = of(f).fromKey(r, f, g.Form)
	case codec.SaltSegment:
		k.Salt = r.Salt(g.Buckets)
	case codec.SequenceSegment:
		k.Sequence = r.Sequence()
	case codec.MetricSegment:
		k.Metric = r.String("metric")
	case codec.ConstSegment:
		if g.Tells {
			r.Kind(g.Const)
			return
		}
		r.Const(g.Const)
	case codec.BucketSegment:
		k.At = r.Bucket(t.Bucket)
	case codec.TimeSegment:
		k.At = r.Time(t.Time)
	}
}
