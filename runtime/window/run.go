package window

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"reflect"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// Run contains the windows of a bucket of a series, as a rollup stores them.
//
// It is stored as a protobuf message, by columns: the n-th element of a repeated field belongs to the n-th
// window of the run or, for the statistics of a field, to the n-th one in which events have the field.
//
//	message Run {
//	  uint32 version = 1;          // 1
//	  sint64 start = 2;            // start of the bucket, in seconds since 1970
//	  uint64 every = 3;            // width of windows, in seconds
//	  repeated uint64 number = 4;  // of each window in the bucket, from 0
//	  repeated uint64 events = 5;
//	  repeated uint64 inexact = 6; // 1 for windows that lack events; absent if all are exact
//	  repeated Field field = 7;
//	  fixed32 checksum = 15;       // CRC-32C of the bytes before it; it comes last
//	}
//
//	message Field {
//	  string column = 1;
//	  repeated uint64 count = 2;      // for each window of the run
//	  repeated uint64 first_time = 3; // nanoseconds since the start of the window
//	  repeated uint64 last_time = 4;
//	  repeated sint64 sum = 5, sum_high = 6;           // sum + 2^64 * sum_high
//	  repeated sint64 increase = 7, increase_high = 8;
//	  repeated sint64 int_first = 10, int_last = 11, int_min = 12, int_max = 13;
//	  repeated uint64 uint_first = 14, uint_last = 15, uint_min = 16, uint_max = 17;
//	  repeated double double_first = 18, double_last = 19, double_min = 20, double_max = 21;
//	  repeated double double_sum = 22, double_increase = 23;
//	  repeated bytes bytes_first = 28, bytes_last = 29;
//	  repeated uint64 bool_first = 30, bool_last = 31;
//	  repeated sint64 time_first = 32, time_last = 33;             // seconds since 1970
//	  repeated uint64 time_first_nanos = 34, time_last_nanos = 35; // and nanoseconds
//	  repeated bytes quantiles = 36;  // see [Quantiles]
//	}
type Run struct {
	Start   time.Time     // of the bucket
	Every   time.Duration // width of windows, whole seconds
	Windows []*Summary    // in order of time; those without events are inexact
	// Lacks is set by [Spec.ParseRun] if the run does not have all fields with their types.
	Lacks bool
	// LacksSketches is set by [Spec.ParseRun] if the run is from before a field had a sketch.
	LacksSketches bool

	spare   []*Summary // windows for the next run
	zero    *Summary
	head    runHead
	columns runColumns
}

// ErrRun is the error for a stored run that is damaged, or of a version that is unknown.
var ErrRun = errors.New("not a run of a rollup")

// errTypes is the error for a field that runs cannot store.
var errTypes = errors.New("a rollup cannot store the type of the field")

// runVersion is the version of runs that are written.
const runVersion = 1

// The numbers of the fields of a Run.
const (
	runVersionField  = 1
	runStartField    = 2
	runEveryField    = 3
	runNumberField   = 4
	runEventsField   = 5
	runInexactField  = 6
	runFieldField    = 7
	runChecksumField = 15
)

// The numbers of the fields of a Field. Those of a kind of values follow each other: first, last, min, max.
const (
	columnName   = 1
	columnCount  = 2
	firstTime    = 3
	lastTime     = 4
	sumLow       = 5
	sumHigh      = 6
	increaseLow  = 7
	increaseHigh = 8
	intFirst     = 10
	uintFirst    = 14
	doubleFirst  = 18
	doubleSum    = 22
	doubleRise   = 23
	bytesFirst   = 28
	boolFirst    = 30
	timeFirst    = 32
	nanosFirst   = 34
	quantiles    = 36
	columnsEnd   = 37
)

// textColumns are the columns of bytes.
var textColumns = [...]protowire.Number{bytesFirst, bytesFirst + 1, quantiles}

// wordForm is how the numbers of a column are encoded.
type wordForm uint8

const (
	noWords wordForm = iota
	varints
	zigzags
	fixed64s
)

// wordForms has the form of each column.
var wordForms = func() (forms [columnsEnd]wordForm) {
	set := func(form wordForm, from, to int) {
		for i := from; i < to; i++ {
			forms[i] = form
		}
	}
	set(varints, columnCount, sumLow)
	set(zigzags, sumLow, intFirst-1)
	set(zigzags, intFirst, uintFirst)
	set(varints, uintFirst, doubleFirst)
	set(fixed64s, doubleFirst, doubleRise+1)
	set(varints, boolFirst, timeFirst)
	set(zigzags, timeFirst, nanosFirst)
	set(varints, nanosFirst, quantiles)
	return forms
}()

// Stores reports whether runs can store the windows.
func (s *Spec) Stores() bool {
	return !slices.ContainsFunc(s.parts, func(p Part) bool { return p.run == nil })
}

// AppendRun appends the encoded run. Equal runs have equal encodings. The error is that of a field whose
// type cannot be stored.
func (s *Spec) AppendRun(dst []byte, r *Run) ([]byte, error) {
	begin := len(dst)
	dst = appendUint(dst, runVersionField, runVersion)
	dst = appendUint(dst, runStartField, protowire.EncodeZigZag(r.Start.Unix()))
	dst = appendUint(dst, runEveryField, uint64(r.Every/time.Second))
	var numbers, events, inexact []uint64
	doubts := false
	for _, w := range r.Windows {
		c := w.common
		numbers, events, inexact = append(numbers, uint64(c.Start.Sub(r.Start)/r.Every)), append(events, uint64(c.Events)), append(inexact, 0)
		if c.Inexact {
			doubts, inexact[len(inexact)-1] = true, 1
		}
	}
	dst = appendWords(appendWords(dst, runNumberField, varints, numbers), runEventsField, varints, events)
	if doubts {
		dst = appendWords(dst, runInexactField, varints, inexact)
	}
	var c runColumns
	for _, of := range s.fields {
		c.reset()
		c.code(r.Windows, of)
		if c.failed != nil {
			return dst[:begin], fmt.Errorf("field %s: %w", of[0].field, c.failed)
		}
		dst = protowire.AppendTag(dst, runFieldField, protowire.BytesType)
		dst = protowire.AppendBytes(dst, c.appendTo(nil, of[0].field))
	}
	return append(dst[:begin], withChecksum(dst[begin:])...), nil
}

// withChecksum appends the checksum of a run.
func withChecksum(run []byte) []byte {
	sum := crc32.Checksum(run, castagnoli)
	return protowire.AppendFixed32(protowire.AppendTag(run, runChecksumField, protowire.Fixed32Type), sum)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksumSize is the size of the checksum with its tag, in bytes.
const checksumSize = 5

func appendUint(dst []byte, number protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, number, protowire.VarintType), v)
}

// appendWords appends a packed field; nothing if it is empty.
func appendWords(dst []byte, number protowire.Number, form wordForm, words []uint64) []byte {
	if len(words) == 0 {
		return dst
	}
	size := 0
	for _, w := range words {
		size += form.size(w)
	}
	dst = protowire.AppendVarint(protowire.AppendTag(dst, number, protowire.BytesType), uint64(size))
	for _, w := range words {
		switch form {
		case fixed64s:
			dst = binary.LittleEndian.AppendUint64(dst, w)
		case zigzags:
			dst = protowire.AppendVarint(dst, protowire.EncodeZigZag(int64(w)))
		default:
			dst = protowire.AppendVarint(dst, w)
		}
	}
	return dst
}

// size returns the size of a word in bytes.
func (f wordForm) size(w uint64) int {
	switch f {
	case fixed64s:
		return 8
	case zigzags:
		return protowire.SizeVarint(protowire.EncodeZigZag(int64(w)))
	}
	return protowire.SizeVarint(w)
}

// ParseRun sets r to an encoded run, and reuses its windows. It ignores fields that the windows do
// not have, and reports in r.Lacks that the run does not have all fields, or has one with values of another type, as in
// another version of a schema. The series of windows stay, and times are in UTC. The error wraps [ErrRun].
func (s *Spec) ParseRun(r *Run, encoded []byte) error {
	if err := r.head.open(encoded); err != nil {
		r.clear()
		return err
	}
	var others []int // parts of other types
	for {
		r.clear()
		if err := s.begin(r, &r.head); err != nil {
			return err
		}
		r.Lacks = others != nil
		other, err := s.parseParts(r, others)
		if err != nil || other < 0 {
			return err
		}
		others = append(others, other)
	}
}

// clear removes the windows of a run.
func (r *Run) clear() {
	r.spare = append(r.spare, r.Windows...)
	r.Windows, r.Lacks, r.LacksSketches = r.Windows[:0], false, false
}

// parseParts sets the statistics of windows, apart from those of some parts. It returns the first part whose
// values in the run have another type, which may be set in part then; -1 if there is none.
func (s *Spec) parseParts(r *Run, except []int) (other int, err error) {
	h, c := &r.head, &r.columns
	for i, of := range s.fields {
		if slices.Contains(except, i) {
			continue
		}
		at := slices.IndexFunc(h.fields, func(f []byte) bool { return string(nameOf(f)) == of[0].field })
		if at < 0 {
			r.Lacks = true
			continue
		}
		c.reset()
		if err := c.parse(h.fields[at]); err != nil {
			return -1, err
		}
		if c.parses = true; len(c.words[columnCount]) != len(r.Windows) {
			return -1, fmt.Errorf("%w: field %s does not have a count for each window", ErrRun, of[0].field)
		}
		if c.code(r.Windows, of); c.failed != nil || !c.complete() {
			return i, nil
		}
		r.LacksSketches = r.LacksSketches || c.lacks
	}
	return -1, nil
}

// runHead is what a run has in common for all fields.
type runHead struct {
	version, every           uint64
	start                    int64
	numbers, events, inexact []uint64
	fields                   [][]byte
}

// DescribeRun returns the width of the windows of an encoded run, and the names of its fields. The error wraps [ErrRun].
func DescribeRun(encoded []byte) (every time.Duration, fields []string, err error) {
	var h runHead
	if err := h.open(encoded); err != nil {
		return 0, nil, err
	}
	for _, f := range h.fields {
		fields = append(fields, string(nameOf(f)))
	}
	return time.Duration(h.every) * time.Second, fields, nil
}

// open parses an encoded run, after its checksum.
func (h *runHead) open(encoded []byte) error {
	n := len(encoded) - checksumSize
	if n < 0 || encoded[n] != runChecksumField<<3|byte(protowire.Fixed32Type) || binary.LittleEndian.Uint32(encoded[n+1:]) != crc32.Checksum(encoded[:n], castagnoli) {
		return fmt.Errorf("%w: its checksum does not match", ErrRun)
	}
	return h.parse(encoded[:n])
}

func (h *runHead) parse(b []byte) error {
	*h = runHead{numbers: h.numbers[:0], events: h.events[:0], inexact: h.inexact[:0], fields: h.fields[:0]}
	for len(b) > 0 {
		number, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return fmt.Errorf("%w: %w", ErrRun, protowire.ParseError(n))
		}
		b = b[n:]
		if n = protowire.ConsumeFieldValue(number, typ, b); n < 0 {
			return fmt.Errorf("%w: %w", ErrRun, protowire.ParseError(n))
		}
		if err := h.take(number, typ, b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	switch {
	case h.version != runVersion:
		return fmt.Errorf("%w: it has version %d, and this program knows %d", ErrRun, h.version, runVersion)
	case h.every == 0 || h.every > uint64(maxEvery/time.Second) || h.start < minStart || h.start > maxStart:
		return fmt.Errorf("%w: windows of %d seconds from %d", ErrRun, h.every, h.start)
	case len(h.events) != len(h.numbers) || len(h.inexact) > 0 && len(h.inexact) != len(h.numbers):
		return fmt.Errorf("%w: it does not have a number of events for each window", ErrRun)
	}
	return nil
}

// The first and the last start of a bucket, in seconds since 1970: far beyond those of tables.
const minStart, maxStart = -1 << 38, 1 << 38

// take takes a field of a run. Those of later versions are ignored.
func (h *runHead) take(number protowire.Number, typ protowire.Type, value []byte) (err error) {
	wanted := protowire.BytesType
	if number <= runEveryField {
		wanted = protowire.VarintType
	}
	if number > runFieldField {
		return nil
	}
	if typ != wanted {
		return fmt.Errorf("%w: field %d has another type", ErrRun, number)
	}
	var v uint64
	var content []byte
	if wanted == protowire.VarintType {
		v, _ = protowire.ConsumeVarint(value)
	} else {
		content, _ = protowire.ConsumeBytes(value)
	}
	switch number {
	case runVersionField:
		h.version = v
	case runStartField:
		h.start = protowire.DecodeZigZag(v)
	case runEveryField:
		h.every = v
	case runNumberField:
		h.numbers, err = parseWords(h.numbers, varints, content)
	case runEventsField:
		h.events, err = parseWords(h.events, varints, content)
	case runInexactField:
		h.inexact, err = parseWords(h.inexact, varints, content)
	case runFieldField:
		h.fields = append(h.fields, content)
	}
	return err
}

// parseWords appends the elements of a packed field.
func parseWords(dst []uint64, form wordForm, b []byte) ([]uint64, error) {
	size := 0
	if form == fixed64s {
		size = 8
	}
	if size > 0 && len(b)%size != 0 {
		return dst, fmt.Errorf("%w: a list of numbers is incomplete", ErrRun)
	}
	for len(b) > 0 {
		var w uint64
		n := size
		switch form {
		case fixed64s:
			w = binary.LittleEndian.Uint64(b)
		default:
			if w, n = protowire.ConsumeVarint(b); n < 0 {
				return dst, fmt.Errorf("%w: a list of numbers is incomplete", ErrRun)
			}
			if form == zigzags {
				w = uint64(protowire.DecodeZigZag(w))
			}
		}
		dst, b = append(dst, w), b[n:]
	}
	return dst, nil
}

// begin makes the windows of a run, without their statistics.
func (s *Spec) begin(r *Run, h *runHead) error {
	r.Start, r.Every = time.Unix(h.start, 0).UTC(), time.Duration(h.every)*time.Second
	if r.zero == nil {
		r.zero = s.new()
	}
	for i, number := range h.numbers {
		if number > uint64(maxEvery/r.Every) || i > 0 && number <= h.numbers[i-1] {
			return fmt.Errorf("%w: its windows are not in order", ErrRun)
		}
		inexact := len(h.inexact) > 0 && h.inexact[i] == 1
		if events := h.events[i]; events > math.MaxInt64 || events == 0 && !inexact {
			return fmt.Errorf("%w: a window has %d events", ErrRun, events)
		}
		var w *Summary
		if n := len(r.spare); n > 0 {
			w, r.spare = r.spare[n-1], r.spare[:n-1]
			s.assign(w, r.zero)
		} else {
			w = s.new()
		}
		c := w.common
		c.Start = r.Start.Add(time.Duration(number) * r.Every)
		c.End, c.Events, c.Inexact = c.Start.Add(r.Every), int64(h.events[i]), inexact
		r.Windows = append(r.Windows, w)
	}
	return nil
}

// nameOf returns the name of the column of an encoded field; nil if it does not come first.
func nameOf(field []byte) []byte {
	number, typ, n := protowire.ConsumeTag(field)
	if n < 0 || number != columnName || typ != protowire.BytesType {
		return nil
	}
	name, n := protowire.ConsumeBytes(field[n:])
	if n < 0 {
		return nil
	}
	return name
}

// runColumns encodes the statistics of a field, or parses them: window by window.
type runColumns struct {
	parses     bool
	start, end time.Time // of the window
	words      [columnsEnd][]uint64
	texts      [len(textColumns)][][]byte
	counted    int     // windows so far
	at         int     // windows with values so far
	numbers    numbers // of the window
	failed     error
	lacks      bool     // a sketch is not there
	form       *AnyForm // of values of any types
}

// numbers are what sketches know of the numbers of a window that a run has.
type numbers struct {
	count     int64 // of values, NaN among them
	low, high float64
	whole     bool // all are integers
}

// code codes the statistics of windows, given the parts of a field.
func (c *runColumns) code(windows []*Summary, of []Part) {
	for _, w := range windows {
		c.start, c.end, c.numbers = w.common.Start, w.common.End, numbers{}
		for i := range of {
			of[i].run(w.fields[of[i].at], c)
		}
		if c.numbers.count > 0 {
			c.at++
		}
	}
}

func (c *runColumns) reset() {
	for i := range c.words {
		c.words[i] = c.words[i][:0]
	}
	for i := range c.texts {
		c.texts[i] = c.texts[i][:0]
	}
	c.parses, c.counted, c.at, c.failed, c.lacks, c.form = false, 0, 0, nil, false, nil
}

// appendTo appends the encoded field.
func (c *runColumns) appendTo(dst []byte, name string) []byte {
	dst = protowire.AppendString(protowire.AppendTag(dst, columnName, protowire.BytesType), name)
	for i, words := range &c.words {
		if i == sumHigh || i == increaseHigh {
			if !slices.ContainsFunc(words, func(w uint64) bool { return w != 0 }) {
				continue
			}
		}
		dst = appendWords(dst, protowire.Number(i), wordForms[i], words)
	}
	for i, texts := range &c.texts {
		for _, text := range texts {
			dst = protowire.AppendBytes(protowire.AppendTag(dst, textColumns[i], protowire.BytesType), text)
		}
	}
	return dst
}

// parse parses a field.
func (c *runColumns) parse(b []byte) (err error) {
	for len(b) > 0 {
		number, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return fmt.Errorf("%w: %w", ErrRun, protowire.ParseError(n))
		}
		b = b[n:]
		if n = protowire.ConsumeFieldValue(number, typ, b); n < 0 {
			return fmt.Errorf("%w: %w", ErrRun, protowire.ParseError(n))
		}
		value := b[:n]
		b = b[n:]
		switch {
		case typ != protowire.BytesType || number <= columnName || number >= columnsEnd:
		case slices.Contains(textColumns[:], number):
			content, _ := protowire.ConsumeBytes(value)
			i := slices.Index(textColumns[:], number)
			c.texts[i] = append(c.texts[i], content)
		case wordForms[number] != noWords:
			content, _ := protowire.ConsumeBytes(value)
			if c.words[number], err = parseWords(c.words[number], wordForms[number], content); err != nil {
				return err
			}
		}
	}
	for _, high := range []int{sumHigh, increaseHigh} {
		if len(c.words[high]) == 0 { // all are 0
			c.words[high] = append(c.words[high], make([]uint64, len(c.words[high-1]))...)
		}
	}
	return nil
}

// complete reports whether all that was parsed has been taken.
func (c *runColumns) complete() bool {
	for i, words := range &c.words {
		if i != columnCount && len(words) != 0 && len(words) != c.at {
			return false
		}
	}
	other := func(texts [][]byte) bool { return len(texts) != 0 && len(texts) != c.at }
	return c.counted == len(c.words[columnCount]) && !slices.ContainsFunc(c.texts[:], other)
}

// word encodes a word of the current window, or parses it.
func (c *runColumns) word(column int, v *uint64) {
	if !c.parses {
		c.words[column] = append(c.words[column], *v)
		return
	}
	if c.at >= len(c.words[column]) {
		c.fail(ErrRun)
		return
	}
	*v = c.words[column][c.at]
}

func (c *runColumns) fail(err error) {
	if c.failed == nil {
		c.failed = err
	}
}

// count codes the number of values. It reports whether there are any.
func (c *runColumns) count(n *int64) bool {
	if !c.parses {
		c.words[columnCount] = append(c.words[columnCount], uint64(*n))
	} else {
		count := c.words[columnCount][c.counted]
		if c.counted++; count > math.MaxInt64 {
			c.fail(ErrRun)
			return false
		}
		*n = int64(count)
	}
	c.numbers.count = *n
	return *n > 0
}

// time codes a time in the window.
func (c *runColumns) time(column int, v *time.Time) {
	n := uint64(v.Sub(c.start))
	c.word(column, &n)
	if !c.parses {
		return
	}
	if n >= uint64(c.end.Sub(c.start)) {
		c.fail(ErrRun)
		return
	}
	*v = c.start.Add(time.Duration(n))
}

// wide codes an integer of 128 bits.
func (c *runColumns) wide(column int, v *int128) {
	low, high := v.lo, uint64(v.hi-int64(v.lo)>>63)
	c.word(column, &low)
	c.word(column+1, &high)
	if c.parses {
		*v = int128{hi: int64(high) + int64(low)>>63, lo: low}
	}
}

// float codes 64 bits of a number.
func (c *runColumns) float(column int, v *float64) {
	bits := math.Float64bits(*v)
	c.word(column, &bits)
	*v = math.Float64frombits(bits)
}

// integerOf codes a number: the first, the last, the lowest or the highest.
func integerOf[T Integer](c *runColumns, which int, v *T) {
	first := intFirst
	if T(0)-1 > 0 {
		first = uintFirst
	}
	word := uint64(*v)
	c.word(first+which, &word)
	if *v = T(word); uint64(*v) != word {
		c.fail(ErrRun)
	}
}

// floatOf is integerOf for floating-point numbers, which are stored with 64 bits.
func floatOf[T Float](c *runColumns, which int, v *T) {
	wide := float64(*v)
	c.float(doubleFirst+which, &wide)
	if *v = T(wide); float64(*v) != wide && wide == wide {
		c.fail(ErrRun)
	}
}

// begins codes what the statistics of all types have. It reports whether there are values.
func (s *Values[T]) begins(c *runColumns) bool {
	if !c.count(&s.Count) {
		return false
	}
	c.time(firstTime, &s.FirstTime)
	c.time(lastTime, &s.LastTime)
	return true
}

func (s *Values[T]) run(c *runColumns) {
	if !s.begins(c) {
		return
	}
	c.value(0, reflect.ValueOf(&s.First).Elem())
	c.value(1, reflect.ValueOf(&s.Last).Elem())
}

func (s *Int[T]) run(c *runColumns) {
	if !s.begins(c) {
		return
	}
	integerOf(c, 0, &s.First)
	integerOf(c, 1, &s.Last)
	integerOf(c, 2, &s.Min)
	integerOf(c, 3, &s.Max)
	c.wide(sumLow, &s.sum)
	c.wide(increaseLow, &s.increase)
	c.numbers = numbers{s.Count, float64(s.Min), float64(s.Max), true}
}

func (s *Float64[T]) run(c *runColumns) {
	if !s.begins(c) {
		return
	}
	floatOf(c, 0, &s.First)
	floatOf(c, 1, &s.Last)
	floatOf(c, 2, &s.Min)
	floatOf(c, 3, &s.Max)
	c.float(doubleSum, &s.sum)
	c.float(doubleRise, &s.increase)
	c.numbers = numbers{s.Count, float64(s.Min), float64(s.Max), false}
}

// value codes the first value of a field, or the last one.
func (c *runColumns) value(which int, v reflect.Value) {
	if at, ok := v.Addr().Interface().(*time.Time); ok {
		seconds, nanos := uint64(at.Unix()), uint64(at.Nanosecond())
		c.word(timeFirst+which, &seconds)
		c.word(nanosFirst+which, &nanos)
		if c.parses {
			*at = time.Unix(int64(seconds), int64(min(nanos, 999_999_999))).UTC()
		}
		return
	}
	switch v.Kind() {
	case reflect.Interface:
		c.any(which, v)
	case reflect.Bool:
		is := uint64(0)
		if v.Bool() {
			is = 1
		}
		c.word(boolFirst+which, &is)
		v.SetBool(is == 1)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		word := uint64(v.Int())
		c.word(intFirst+which, &word)
		if v.SetInt(int64(word)); v.Int() != int64(word) {
			c.fail(ErrRun)
		}
	case reflect.String:
		text := []byte(v.String())
		c.text(which, &text)
		v.SetString(string(text))
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			c.fail(errTypes)
			return
		}
		text := v.Bytes()
		c.text(which, &text)
		v.SetBytes(text)
	case reflect.Array:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			c.fail(errTypes)
			return
		}
		text := slices.Clone(v.Bytes())
		if c.text(which, &text); len(text) != v.Len() {
			c.fail(ErrRun)
			return
		}
		reflect.Copy(v, reflect.ValueOf(text))
	default:
		c.fail(errTypes)
	}
}

// any codes a value of any type as its form says.
func (c *runColumns) any(which int, v reflect.Value) {
	if c.form == nil {
		c.fail(errTypes)
		return
	}
	stored := reflect.New(reflect.TypeOf(c.form.Zero)).Elem()
	if !c.parses {
		to := reflect.ValueOf(c.form.To(v.Interface()))
		if !to.IsValid() || to.Type() != stored.Type() {
			c.fail(errTypes)
			return
		}
		stored.Set(to)
	}
	c.value(which, stored)
	if !c.parses || c.failed != nil {
		return
	}
	from, err := c.form.From(stored.Interface())
	if err != nil || from == nil {
		c.fail(ErrRun)
		return
	}
	v.Set(reflect.ValueOf(from))
}

// sketch codes a sketch of the numbers of the window, if it has some. Without its text, it is unknown.
func (c *runColumns) sketch(column protowire.Number, s interface {
	appendTo(dst []byte) []byte
	parse(encoded []byte, of numbers) bool
}) {
	texts := &c.texts[slices.Index(textColumns[:], column)]
	switch {
	case c.numbers.count == 0:
	case !c.parses:
		*texts = append(*texts, s.appendTo(nil))
	case c.at < len(*texts):
		if !s.parse((*texts)[c.at], c.numbers) {
			c.fail(ErrRun)
		}
	default:
		c.lacks = true
		s.parse(nil, c.numbers)
	}
}

// text codes bytes.
func (c *runColumns) text(which int, v *[]byte) {
	if !c.parses {
		c.texts[which] = append(c.texts[which], *v)
		return
	}
	if c.at >= len(c.texts[which]) {
		c.fail(ErrRun)
		return
	}
	*v = append([]byte{}, c.texts[which][c.at]...)
}
