package infer

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/verify"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

type draft struct {
	key       *key
	pattern   codec.Pattern
	bucket    string // in the schema language; empty if rows are events
	bucketAsk string
	label     string // of the bucket segment, if it is not that of the bucket
	metric    *part  // that is the metric; nil if there is none
	fields    []field
	blob      string // in the schema language; empty if events are not serialized
	blobAsk   string
	sequence  bool // whether a sequence number follows offsets
	load
	lag      lag      // of the times of events; empty if these are the timestamps of cells
	timed    bool     // whether cells have the times of their events
	family   string   // of the events, if there is one
	classes  []string // families with the same columns, whose times to live are classes
	standing standing
	fit      fit

	noRollup   string // why the schema lacks the rollup of the table; empty if it does not
	noVersions string // why the schema lacks max_versions; empty if it does not
	names      namer
	questions
	layout *layout.Layout // of the page, which the language accepts
	page   *page
	reads  verify.Share // of a part of the sample
}

type field struct {
	name, typ string
	column    string // of a table
	was       string // the member of JSON
	values    string // how a cell stores it
	family    string
	number    int
	optional  bool
	doubt     string
	example   string
	bytes     int // the average size
}

type column struct {
	columnOf
	rows   int
	values data // of all cells
}

const maxColumns = 300 // fixed columns of a table

// columns returns the columns of the rows, sorted by family and qualifier; nil if there are so many that rows do not share them.
func (k *key) columns() []*column {
	found := map[columnOf]*column{}
	for i := range k.rows {
		var last *column
		for _, c := range k.rows[i].cells {
			of := found[c.columnOf]
			switch {
			case of == nil && len(found) > 20*maxColumns:
				return nil
			case of == nil:
				of = &column{columnOf: c.columnOf}
				found[c.columnOf] = of
			}
			if of.values = append(of.values, c.value); of != last {
				of.rows++
			}
			last = of
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b *column) int {
		return cmp.Or(cmp.Compare(a.family, b.family), cmp.Compare(a.qualifier, b.qualifier))
	})
}

// drafts returns the schemas that a key allows, and why there are no more; empty if there is no reason.
func (k *key) drafts() (out []*draft, refused string) {
	none := func(d *draft) bool { return d == nil }
	out, cols := slices.DeleteFunc([]*draft{k.newColumns(), k.offsets()}, none), k.columns()
	switch {
	case len(cols) == 0 || len(cols) > maxColumns:
		return out, fmt.Sprintf("there are over %d columns, such as %s: columns must be named by fields [C08]", maxColumns, show(k.rows[0].cells[0].qualifier))
	case len(cols) == 1 && cols[0].qualifier == "":
		return out, "the only column of the rows has no name: columns must be named by fields [C08]"
	}
	problem, certain := k.named(cols)
	if certain {
		return out, problem
	}
	byField := []*draft{k.untimed(cols), k.plain(cols), k.cells(cols), k.single(cols)}
	for _, d := range slices.DeleteFunc(byField, none) {
		if out = append(out, d); problem != "" && d.pattern.Naming() == codec.NamedByField {
			d.ask(true, "%s. Are these times, counts or other values?", problem)
		}
	}
	return out, ""
}

// several reports whether a row has different timestamps.
func (k *key) several() bool {
	return slices.ContainsFunc(k.rows, func(r row) bool { return r.oldest != r.newest })
}

// bucketed returns a draft with a row per bucket whose contents inside accepts; nil if there is no such bucket.
func (k *key) bucketed(pattern codec.Pattern, inside func(codec.Bucket, time.Time, *row) bool) (*draft, codec.Bucket) {
	if k.time == nil {
		return nil, codec.Bucket{}
	}
	b, doubt, ok := k.bucketOf(inside)
	if !ok {
		return nil, b
	}
	d := &draft{key: k, pattern: pattern, bucketAsk: doubt, bucket: schema.Span{Fixed: b.Every, Months: b.Months}.String()}
	options := ""
	if b.Origin.Equal(b.Origin.Truncate(day)) && !b.Origin.IsZero() {
		options = ", origin: " + b.Origin.Format(time.DateOnly)
	} else if !b.Origin.IsZero() {
		options = ", origin: " + schema.Quoted(b.Origin.Format(time.RFC3339))
	}
	if k.time.named() {
		options += ", label: " + schema.Quoted(k.time.String())
	} else {
		d.label = k.time.segment("bucket")
	}
	if options != "" {
		d.bucket = "{every: " + d.bucket + options + "}"
	}
	return d, b
}

// observe collects the times of events, in nanoseconds, which a function gives for each cell, and how timestamps follow them. Events
// differ in their times, which stand for a period, and in the parts of their keys apart from the metric.
func (d *draft) observe(period time.Duration, at func(r int, c *cell) int64) {
	d.lag = lag{width: period}
	times := map[eventTime]bool{}
	for r := range d.key.rows {
		of := &d.key.rows[r]
		id := d.key.id(r, d.metric)
		for i := range of.cells {
			e := eventTime{id, at(r, &of.cells[i])}
			times[e] = true
			d.lag.add(of.cells[i].at, time.Unix(0, e.at))
		}
	}
	slices.Sort(d.lag.all)
	d.timed = d.lag.unlikely == 0 && d.lag.same(0)
	finest := time.Nanosecond
	if d.pattern.EventTimed() {
		finest = time.Millisecond
	}
	d.load = loadOf(slices.Collect(maps.Keys(times)), finest)
}

// observeCells is observe for cells that have the times of their events.
func (d *draft) observeCells() {
	d.observe(time.Millisecond, func(_ int, c *cell) int64 { return c.at * 1000 })
	d.timed, d.lag = true, lag{}
}

// cells returns the draft with a row per bucket, and events as timestamped cells; nil if rows are no buckets.
func (k *key) cells(cols []*column) *draft {
	several := k.several()
	if k.time == nil || k.time.bucket == nil && !several && !replaces(cols) {
		return nil
	}
	d, _ := k.bucketed(codec.BucketNewCells, cellsInside)
	if d == nil {
		return nil
	}
	d.observeCells()
	d.serialize(cols)
	if len(cols) > 1 && d.blob == "" && !slices.ContainsFunc(cols, func(c *column) bool { return len(c.values)*2 > d.events }) {
		d.ask(true, "Columns rarely have cells of the same timestamp. Is each cell an event, or do cells of almost the same timestamp belong together?")
	}
	d.ask(!several, "Each row has cells of one timestamp. Are the timestamps the times of events, in buckets, or those of writes?")
	return d
}

// replaces reports whether some columns have several cells in a row.
func replaces(cols []*column) bool {
	return slices.ContainsFunc(cols, func(c *column) bool { return len(c.values) > c.rows })
}

// untimed returns the draft for rows without a time in their key; nil if there is one.
func (k *key) untimed(cols []*column) *draft {
	if k.time != nil {
		return nil
	}
	d := &draft{key: k, pattern: codec.BucketNewCells, bucket: "none", fit: doubtfulFit, standing: untimedStanding}
	d.observeCells()
	d.serialize(cols)
	if len(k.parts) == 1 && k.whole {
		d.standing = wholeStanding
	} else if slices.ContainsFunc(k.parts, func(p *part) bool { return k.foreignTime(p) != "" }) {
		d.standing = refusedStanding
	}
	d.ask(true, "The keys have no time that the sample shows. Are timestamps of cells the times of events?")
	return d
}

// standing is what the time of a draft rests on: the least is taken.
type standing int

const (
	agreeingStanding standing = iota // a time in the keys, which the timestamps of cells confirm or do not contradict
	refusedStanding                  // the timestamps of cells, as the time in the keys is in a form that the language refuses
	plainStanding                    // the timestamps of cells, as the time in the keys may be another one
	untimedStanding                  // the timestamps of cells, as keys show no time
	wholeStanding                    // likewise, with keys of one part
	localStanding                    // a time in the keys that is probably local
)

// fit is how much of the cells a pattern explains.
type fit int

const (
	timedFit    fit = iota // the timestamps as well
	offsetFit              // the names of columns as offsets
	writtenFit             // timestamps are those of writes
	doubtfulFit            // a row has more cells than an event should have, or no time
)

// order says what makes a draft better than others: less is better.
func (d *draft) order() []int {
	refuted := d.reads.Readable*2 < d.reads.Total
	return []int{oneIf(refuted), int(d.standing), -1000 * d.reads.Readable / max(1, d.reads.Total), int(d.fit)}
}

func oneIf(is bool) int {
	if is {
		return 1
	}
	return 0
}

// plain returns the draft in which the time in the keys is a value like the others.
func (k *key) plain(cols []*column) *draft {
	if k.time == nil {
		return nil
	}
	d, local := k.with(-1, nil).untimed(cols), ""
	d.standing = plainStanding
	if k.time.bucket == nil && k.lag.local() {
		local = fmt.Sprintf(" It is up to %s off, as local times are: times in keys must be in UTC [K24].", gap(k.lag.farthest()))
	}
	d.questions = nil
	d.ask(true, "Part %d of the keys, such as %s, may be a time, but not that of the timestamps of cells. Which of them is the time of the event?%s", k.at+1, show(k.parts[k.at].values[0]), local)
	return d
}

// single returns the draft with a row per event; nil if there is no time in the keys, or it is that of a longer period.
func (k *key) single(cols []*column) *draft {
	if k.time == nil || k.time.unit() == 0 || k.time.unit() > day || k.time.bucket != nil {
		return nil
	}
	d := &draft{key: k, pattern: codec.SingleUnserialized, fit: writtenFit}
	d.observe(k.time.unit(), func(r int, _ *cell) int64 { return k.time.at[r].UnixNano() })
	switch {
	case d.timed:
		d.fit = timedFit
	case d.lag.shifted():
		d.standing = localStanding
	}
	d.serialize(cols)
	if d.precision = max(d.precision, k.time.unit()); replaces(cols) {
		d.fit = doubtfulFit
		d.ask(true, "Some columns have several cells in a row. Are the older ones replaced events, or is a row a bucket of events?")
	}
	return d
}

// serialize sets the fields: the columns, or the members of serialized events if there is one column with them.
func (d *draft) serialize(cols []*column) {
	if len(cols) == 1 && d.setBlob(cols[0].values) {
		d.pattern, d.family = layout.SerializedOf(d.pattern), cols[0].family
		d.blob = "{column: " + schema.Quoted(cols[0].qualifier) + ", " + d.blob
		return
	}
	for _, c := range d.classify(cols) {
		n, what, why := c.rows, "", ""
		if d.bucket != "" {
			n = len(c.values)
		}
		switch {
		case c.qualifier == "":
			what, why = "The column without a name", "columns must have one"
		case !utf8.ValidString(c.qualifier):
			what, why = "The column "+show(c.qualifier), "names of columns are UTF-8"
		default:
			d.addColumn(c.qualifier, c.family, c.values, n < d.events)
		}
		d.ask(what != "", "%s in family %s, with values such as %s, is not in the schema, because %s. Can its writers rename it?", what, c.family, show(c.values.first(isFull)), why)
	}
}

// classify finds families with the same columns and different ages: an event is in one of them,
// by its class. It returns the columns of all of them together.
func (d *draft) classify(cols []*column) []*column {
	families := map[string][]string{}
	for _, c := range cols {
		families[c.family] = append(families[c.family], c.qualifier)
	}
	names := slices.Sorted(maps.Keys(families))
	if len(names) < 2 || slices.ContainsFunc(names, func(f string) bool {
		return d.key.table.Families[f].Kind != codec.GCMaxAge || !slices.Equal(families[f], families[names[0]])
	}) {
		return cols
	}
	d.classes = names
	joined := make([]*column, len(families[names[0]]))
	for i, c := range cols {
		if of := &joined[i%len(joined)]; *of == nil {
			*of = &column{c.columnOf, c.rows, slices.Clone(c.values)}
		} else {
			(*of).rows, (*of).values = (*of).rows+c.rows, append((*of).values, c.values...)
		}
	}
	return joined
}

func (d *draft) addColumn(qualifier, family string, v data, optional bool) {
	c, doubt := v.coding()
	d.family = cmp.Or(d.family, family)
	d.fields = append(d.fields, field{
		name: qualifier, column: qualifier, typ: c.typ, values: c.values, family: family,
		doubt: doubt, optional: optional, bytes: v.bytes(),
	})
}

type eventTime struct {
	series string
	at     int64 // nanoseconds since 1970
}

// id returns the parts of a key other than the time and one more; nil for none.
func (k *key) id(r int, but *part) string {
	id := ""
	for i, p := range k.parts {
		if i != k.at && p != but {
			id += p.values[r] + "\x00"
		}
	}
	return id
}

// load is what the times of events tell.
type load struct {
	precision time.Duration
	events    int
	series    int
	step      time.Duration // the usual one between the events of a series; 0 if unknown
}

// steps are the usual precisions of times, in descending order.
var steps = []time.Duration{time.Minute, time.Second, time.Millisecond, time.Microsecond, time.Nanosecond}

// loadOf returns what times tell. Few times do not tell whether later ones have seconds.
func loadOf(times []eventTime, finest time.Duration) load {
	out := load{precision: time.Millisecond, events: len(times)}
	if i := slices.IndexFunc(steps, func(step time.Duration) bool {
		few := len(times) < 10 && step > time.Second
		return !few && step >= finest && !slices.ContainsFunc(times, func(e eventTime) bool { return e.at%int64(step) != 0 })
	}); i >= 0 {
		out.precision = steps[i]
	}
	slices.SortFunc(times, func(a, b eventTime) int { return cmp.Or(cmp.Compare(a.series, b.series), cmp.Compare(a.at, b.at)) })
	var gaps []int64
	for i, e := range times {
		if i > 0 && e.series == times[i-1].series {
			gaps = append(gaps, e.at-times[i-1].at)
		} else {
			out.series++
		}
	}
	if slices.Sort(gaps); len(gaps) > 0 {
		out.step = time.Duration(gaps[len(gaps)/2])
	}
	return out
}

// metricName matches the likely names of metrics.
var metricName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`)

// newColumns returns the draft with a row per metric and bucket, and columns named after
// values: their cells are empty. It has a field per metric.
func (k *key) newColumns() *draft {
	if !k.empty() {
		return nil
	}
	d, _ := k.bucketed(codec.BucketNewColumns, cellsInside)
	if d == nil {
		return nil
	}
	for _, p := range k.parts[:k.at] {
		if names := dataOf(p.values).count(metricName.Match); p.distinct <= 100 && !p.constant && names*5 >= len(p.values)*4 {
			d.metric = p
		}
	}
	if d.metric == nil {
		return nil
	}
	d.observeCells()
	found, families := map[string]data{}, map[string]string{}
	for r, name := range d.metric.values {
		for _, c := range k.rows[r].cells {
			found[name], families[name] = append(found[name], []byte(c.qualifier)), c.family
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		d.addColumn(name, families[name], found[name], len(found[name]) < d.events)
	}
	return d
}

// offsets returns the draft with a row per bucket, and columns named after the time since its
// start: qualifiers of the same few bytes. A sequence number of 4 bytes may follow.
func (k *key) offsets() *draft {
	const longest, sequence = 8, 4 // bytes
	first := k.rows[0].cells[0]
	size, distinct, most := len(first.qualifier), map[string]bool{}, uint64(0)
	width := size
	if size > sequence {
		width -= sequence
	}
	var stored data
	for _, r := range k.rows {
		for _, c := range r.cells {
			if len(c.qualifier) != size || size == 0 || size > longest {
				return nil
			}
			distinct[c.qualifier], most = true, max(most, bigEndian(c.qualifier[:width]))
			stored = append(stored, c.value)
		}
	}
	if k.empty() || len(distinct) < 3 && isText(first.qualifier) || k.namesAreInstants() { // whole times: C08
		return nil
	}
	fitting := func(b codec.Bucket) []time.Duration {
		return slices.DeleteFunc(slices.Clone(offsetSteps), func(p time.Duration) bool {
			o := codec.Offset{Bucket: b, Precision: p}
			return b.Widest() < p || most >= uint64(o.Slots()) || o.Width() != width
		})
	}
	d, b := k.bucketed(codec.BucketOffsets, func(b codec.Bucket, _ time.Time, _ *row) bool { return len(fitting(b)) > 0 })
	if d == nil {
		return nil
	}
	at := func(precision time.Duration) func(r int, c *cell) int64 {
		return func(r int, c *cell) int64 {
			return k.time.at[r].UnixNano() + int64(bigEndian(c.qualifier[:width]))*int64(precision)
		}
	}
	precision := k.choose(fitting(b), at)
	if precision == 0 {
		return nil
	}
	d.observe(precision, at(precision))
	d.precision, d.sequence, d.family, d.fit = precision, size > width, first.family, offsetFit
	if d.setBlob(stored) {
		d.blob = "{" + d.blob
	} else {
		d.addColumn("value", d.family, stored, false)
	}
	d.ask(!d.timed, "Are column names counts of %s since the start of the bucket?", schema.FormatDuration(precision))
	return d
}

// choose returns that of some precisions with which timestamps of cells follow the times of columns most evenly. It
// returns 0 if there is none, or if another one explains the timestamps far better: offsets have another width
// then, by rule C08.
func (k *key) choose(precisions []time.Duration, at func(time.Duration) func(r int, c *cell) int64) time.Duration {
	spreads := map[time.Duration]float64{}
	for _, precision := range offsetSteps {
		least, most, of := math.MaxFloat64, -math.MaxFloat64, at(precision)
		for r := range k.rows {
			for i := range k.rows[r].cells {
				c := &k.rows[r].cells[i]
				d := float64(c.at)*1000 - float64(of(r, c))
				least, most = min(least, d), max(most, d)
			}
		}
		spreads[precision] = most - least
	}
	compare := func(a, b time.Duration) int { return cmp.Compare(spreads[a], spreads[b]) }
	all := slices.SortedStableFunc(slices.Values(offsetSteps), compare)
	evident := spreads[all[0]]*4 < spreads[all[1]] && spreads[all[0]] < float64(time.Hour)
	if len(precisions) == 0 || evident && !slices.Contains(precisions, all[0]) {
		return 0
	}
	return slices.MinFunc(precisions, compare)
}

// bigEndian returns the number that up to 8 bytes contain.
func bigEndian(s string) (n uint64) {
	for i := range min(len(s), 8) {
		n = n<<8 | uint64(s[i])
	}
	return n
}

// offsetSteps are the usual precisions of offsets, the coarsest first.
var offsetSteps = []time.Duration{time.Minute, time.Second, 100 * time.Millisecond, 10 * time.Millisecond, time.Millisecond, 100 * time.Microsecond, 10 * time.Microsecond, time.Microsecond}
