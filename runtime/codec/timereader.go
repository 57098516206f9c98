package codec

import "time"

// TimeReader parses successive times of one format, as in the keys of a series. It
// parses the date and the hour only if they differ from the previous ones.
type TimeReader struct {
	format TimeFormat
	fixed  int           // length of the date, and of the hour if it follows, at the start; 0 if the format has none
	within time.Duration // how long these do not change: an hour or a day
	clock  []clockPart   // what follows them
	text   string        // the previous date and hour
	start  int64         // start of that hour or day, in seconds since the Unix epoch
}

// clockPart is a number or a literal in a layout, after the date and the hour.
type clockPart struct {
	begin, end int
	unit       time.Duration // unit of the number; 0 for a literal
	limit      int64         // the number must be less
}

// NewTimeReader returns a reader for a valid format.
func NewTimeReader(f TimeFormat) TimeReader {
	r := TimeReader{format: f}
	for at, last := 0, noElement; f.Kind == LayoutTime && at < len(f.Layout); {
		e, n := nextElement(f.Layout[at:], last)
		switch end := at + n; {
		case e == day || e == yearDay:
			r.fixed, r.within = end, 24*time.Hour
		case e == hour:
			r.fixed, r.within, r.clock = end, time.Hour, nil
		case r.fixed == 0:
		case e == minute:
			r.clock = append(r.clock, clockPart{at, end, time.Minute, 60})
		case e == second:
			r.clock = append(r.clock, clockPart{at, end, time.Second, 60})
		case e == fraction: // after the point
			limit := pow10(n - 1)
			r.clock = append(r.clock, clockPart{begin: at}, clockPart{at + 1, end, time.Second / time.Duration(limit), limit})
		default:
			r.clock = append(r.clock, clockPart{begin: at})
		}
		if e != literal {
			last = e
		}
		at += n
	}
	return r
}

// Parse is like [TimeFormat.Parse] but returns false instead of an error.
func (r *TimeReader) Parse(s []byte) (time.Time, bool) {
	if r.fixed == 0 || len(s) != len(r.format.Layout) || string(s[:r.fixed]) != r.text {
		return r.begin(string(s))
	}
	var since time.Duration
	for i := range r.clock {
		p := &r.clock[i]
		if p.unit == 0 {
			if s[p.begin] != r.format.Layout[p.begin] {
				return time.Time{}, false
			}
			continue
		}
		n, ok := clockNumber(s[p.begin:p.end])
		if !ok || n >= p.limit {
			return time.Time{}, false
		}
		since += time.Duration(n) * p.unit
	}
	return time.Unix(r.start+int64(since/time.Second), int64(since%time.Second)).UTC(), true
}

// clockNumber is digits for a number that mostly has two.
func clockNumber(s []byte) (int64, bool) {
	if len(s) != 2 {
		return digits(s)
	}
	tens, ones := s[0]-'0', s[1]-'0'
	return int64(tens)*10 + int64(ones), tens <= 9 && ones <= 9
}

// begin parses the first time of a date and an hour, and remembers them.
func (r *TimeReader) begin(s string) (time.Time, bool) {
	t, err := r.format.Parse(s)
	if err == nil && r.fixed > 0 {
		r.text, r.start = s[:r.fixed], Truncate(t, r.within).Unix()
	}
	return t, err == nil
}

// LabelReader parses successive labels of buckets, as in the keys of a series.
type LabelReader struct {
	bucket Bucket
	times  TimeReader
}

// NewLabelReader returns a reader for the labels of valid buckets.
func NewLabelReader(b Bucket) LabelReader {
	r := LabelReader{bucket: b}
	if b.Label.Kind == TimeLabel {
		r.times = NewTimeReader(b.Label.Format)
	}
	return r
}

// Parse is like [Bucket.ParseLabel] but returns false instead of an error.
func (r *LabelReader) Parse(s []byte) (time.Time, bool) {
	if r.bucket.Label.Kind != TimeLabel {
		start, err := r.bucket.ParseLabel(string(s))
		return start, err == nil
	}
	start, ok := r.times.Parse(s)
	return start, ok && r.bucket.isStart(start)
}
