package codec

import (
	"testing"
	"time"
)

// benchKey is the key of the benchmarks.
var benchKey = Key{
	Delimiter: "#",
	Segments: []Segment{
		{Name: "location", Type: StringSegment},
		{Name: "balloon_id", Type: Int64Segment, Series: 1},
		{Kind: BucketSegment},
	},
	Bucket: Bucket{Every: week, Origin: time.Date(2021, 3, 1, 0, 0, 0, 0, time.UTC), Label: Label{Kind: NumberLabel, Prefix: "week"}},
}

// balloonKey is a row key with benchKey.
type balloonKey struct {
	location string
	id       int64
	bucket   time.Time
}

func (k *balloonKey) values() KeyValues {
	return KeyValues{Series: []any{&k.location, &k.id}, At: &k.bucket}
}

func (k balloonKey) append(dst []byte) ([]byte, error) {
	v := k.values()
	return benchKey.Append(dst, &v)
}

func parseBalloonKey(row string) (k balloonKey, err error) {
	v := k.values()
	err = benchKey.Parse(row, &v)
	return k, err
}

// written is append as a program.
func (k balloonKey) written(dst []byte) ([]byte, error) {
	w := NewKeyWriter(dst, "#")
	k.write(&w)
	w.Bucket(benchKey.Bucket, k.bucket)
	return w.Key()
}

func (k balloonKey) write(w *KeyWriter) {
	w.String("location", KeyForm{}, k.location)
	w.Int("balloon_id", KeyForm{}, k.id, 64)
}

// read is parseBalloonKey as a program.
func readBalloonKey(row string) (balloonKey, error) {
	var k balloonKey
	r := NewKeyReader(row, "#")
	k.location = r.String("location", KeyForm{})
	k.id = r.Int("balloon_id", KeyForm{}, 64)
	k.bucket = r.Bucket(benchKey.Bucket)
	return k, r.Close()
}

// BenchmarkRowKey compares keys as data with programs that write and read the same ones.
func BenchmarkRowKey(b *testing.B) {
	key := balloonKey{"us-west2", 3698, time.Date(2021, 3, 5, 12, 0, 0, 0, time.UTC)}
	buf := make([]byte, 0, 64)
	for _, bb := range []struct {
		name   string
		append func(k balloonKey, dst []byte) ([]byte, error)
		parse  func(row string) (balloonKey, error)
	}{
		{"program", balloonKey.written, readBalloonKey},
		{"data", balloonKey.append, parseBalloonKey},
	} {
		b.Run("append/"+bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := bb.append(key, buf); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("parse/"+bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := bb.parse("us-west2#3698#week5"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
