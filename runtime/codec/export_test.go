package codec

import "time"

// KeyWriter writes keys segment by segment, of which any number may have times.
type KeyWriter struct {
	w      keyWriter
	joined bool
}

func NewKeyWriter(dst []byte, delimiter string) KeyWriter {
	k := Key{Delimiter: delimiter}
	return KeyWriter{w: k.writer(dst)}
}

func (w *KeyWriter) Structured() {
	w.w.key = &Key{Delimiter: w.w.key.Delimiter, Structured: true}
}

func (w *KeyWriter) Join() { w.joined = true }

// put writes a segment of a key with these times.
func (w *KeyWriter) put(s Segment, times Key, v KeyValues, salt int) {
	times.Delimiter, times.Structured = w.w.key.Delimiter, w.w.key.Structured
	w.w.key = &times
	w.w.segment(&s, w.joined, &v, salt)
	w.joined = false
}

func (w *KeyWriter) series(s Segment, v any) { w.put(s, Key{}, KeyValues{Series: []any{v}}, 0) }

func (w *KeyWriter) String(name string, f KeyForm, v string) {
	w.series(Segment{Name: name, Type: StringSegment, Form: f}, &v)
}

func (w *KeyWriter) Bytes(name string, f KeyForm, v []byte) {
	w.series(Segment{Name: name, Type: BytesSegment, Form: f}, &v)
}

func (w *KeyWriter) Bool(name string, f KeyForm, v bool) {
	w.series(Segment{Name: name, Type: BoolSegment, Form: f}, &v)
}

func (w *KeyWriter) Int(name string, f KeyForm, v int64, bits int) {
	if bits == 64 {
		w.series(Segment{Name: name, Type: Int64Segment, Form: f}, &v)
		return
	}
	short := int32(v)
	w.series(Segment{Name: name, Type: Int32Segment, Form: f}, &short)
}

func (w *KeyWriter) Uint(name string, f KeyForm, v uint64, bits int) {
	if bits == 64 {
		w.series(Segment{Name: name, Type: Uint64Segment, Form: f}, &v)
		return
	}
	short := uint32(v)
	w.series(Segment{Name: name, Type: Uint32Segment, Form: f}, &short)
}

func (w *KeyWriter) Timestamp(name string, f KeyForm, v time.Time) {
	w.series(Segment{Name: name, Type: TimestampSegment, Form: f}, &v)
}

func (w *KeyWriter) Enum(name string, f KeyForm, e Enum, v int64) {
	w.series(Segment{Name: name, Type: EnumSegment, Form: f, Enum: e}, &v)
}

func (w *KeyWriter) UUID(name string, f KeyForm, v UUID) {
	w.series(Segment{Name: name, Type: UUIDSegment, Form: f}, &v)
}

func (w *KeyWriter) Sequence(v uint32) {
	w.put(Segment{Kind: SequenceSegment}, Key{}, KeyValues{Sequence: &v}, 0)
}

func (w *KeyWriter) Const(text string) {
	w.put(Segment{Kind: ConstSegment, Const: text}, Key{}, KeyValues{}, 0)
}

func (w *KeyWriter) Bucket(b *Bucket, t time.Time) {
	w.put(Segment{Kind: BucketSegment}, Key{Bucket: *b}, KeyValues{At: &t}, 0)
}

func (w *KeyWriter) Time(f TimeFormat, t time.Time) {
	w.put(Segment{Kind: TimeSegment}, Key{Time: f}, KeyValues{At: &t}, 0)
}

func (w *KeyWriter) Salt(buckets, salt int) {
	w.put(Segment{Kind: SaltSegment, Buckets: buckets}, Key{}, KeyValues{}, salt)
}

func (w *KeyWriter) Key() ([]byte, error)    { return w.w.finish(true) }
func (w *KeyWriter) Prefix() ([]byte, error) { return w.w.finish(false) }

// KeyReader reads what a KeyWriter wrote.
type KeyReader struct {
	r      keyReader
	joined bool
}

func NewKeyReader(key, delimiter string) KeyReader {
	k := Key{Delimiter: delimiter}
	return KeyReader{r: k.reader(key)}
}

// Join joins the next segment, which nothing follows.
func (r *KeyReader) Join() { r.joined = true }

// get reads a segment of a key with these times.
func (r *KeyReader) get(s Segment, times Key, v KeyValues) int {
	times.Delimiter = r.r.key.Delimiter
	s.Joined, r.joined = r.joined, false
	times.Segments = []Segment{s}
	r.r.key = &times
	if s.Kind == ConstSegment {
		r.r.constant(&s)
	} else if text, ok := r.r.next(&s, 0); ok && r.r.err == nil {
		r.r.value(&s, text, &v)
	}
	return v.Salt
}

func (r *KeyReader) series(s Segment, v any) { r.get(s, Key{}, KeyValues{Series: []any{v}}) }

func (r *KeyReader) String(name string, f KeyForm) (v string) {
	r.series(Segment{Name: name, Type: StringSegment, Form: f}, &v)
	return v
}

func (r *KeyReader) Bytes(name string, f KeyForm) (v []byte) {
	r.series(Segment{Name: name, Type: BytesSegment, Form: f}, &v)
	return v
}

func (r *KeyReader) Bool(name string, f KeyForm) (v bool) {
	r.series(Segment{Name: name, Type: BoolSegment, Form: f}, &v)
	return v
}

func (r *KeyReader) Int(name string, f KeyForm, bits int) (v int64) {
	if bits == 64 {
		r.series(Segment{Name: name, Type: Int64Segment, Form: f}, &v)
		return v
	}
	var short int32
	r.series(Segment{Name: name, Type: Int32Segment, Form: f}, &short)
	return int64(short)
}

func (r *KeyReader) Uint(name string, f KeyForm, bits int) (v uint64) {
	if bits == 64 {
		r.series(Segment{Name: name, Type: Uint64Segment, Form: f}, &v)
		return v
	}
	var short uint32
	r.series(Segment{Name: name, Type: Uint32Segment, Form: f}, &short)
	return uint64(short)
}

func (r *KeyReader) Timestamp(name string, f KeyForm) (v time.Time) {
	r.series(Segment{Name: name, Type: TimestampSegment, Form: f}, &v)
	return v
}

func (r *KeyReader) Enum(name string, f KeyForm, e Enum) (v int64) {
	r.series(Segment{Name: name, Type: EnumSegment, Form: f, Enum: e}, &v)
	return v
}

func (r *KeyReader) UUID(name string, f KeyForm) (v UUID) {
	r.series(Segment{Name: name, Type: UUIDSegment, Form: f}, &v)
	return v
}

func (r *KeyReader) Sequence() (v uint32) {
	r.get(Segment{Kind: SequenceSegment}, Key{}, KeyValues{Sequence: &v})
	return v
}

func (r *KeyReader) Const(text string) {
	r.get(Segment{Kind: ConstSegment, Const: text}, Key{}, KeyValues{})
}

func (r *KeyReader) Bucket(b *Bucket) (t time.Time) {
	r.get(Segment{Kind: BucketSegment}, Key{Bucket: *b}, KeyValues{At: &t})
	return t
}

func (r *KeyReader) Time(f TimeFormat) (t time.Time) {
	r.get(Segment{Kind: TimeSegment}, Key{Time: f}, KeyValues{At: &t})
	return t
}

func (r *KeyReader) Salt(buckets int) int {
	return r.get(Segment{Kind: SaltSegment, Buckets: buckets}, Key{}, KeyValues{})
}

func (r *KeyReader) Close() error { return r.r.close() }
