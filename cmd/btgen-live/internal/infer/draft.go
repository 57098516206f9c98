package infer

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/verify"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// draft is a schema that is a candidate.
type draft struct {
	key       *key
	pattern   codec.Pattern
	bucket    string // in the schema language; empty if rows are events
	bucketAsk string
	label     string // of the bucket segment, if it is not that of the bucket
	metric    int    // the part that is the metric; -1 if there is none
	fields    []field
	blob      string // in the schema language; empty if events are not serialized
	blobAsk   string
	sequence  bool // whether a sequence number follows offsets
	load
	lag      *lag     // between times in keys and timestamps of cells; nil if keys have no time, or are buckets
	timed    bool     // whether cells have the times of their events
	column   string   // family of the events, if there is one
	classes  []string // families with the same columns, whose times to live are classes
	standing standing
	fit      fit

	noRollup   string // why the schema lacks the rollup of the table; empty if it does not
	noVersions string // why the schema lacks max_versions; empty if it does not
	names      namer
	asks       []string
	reads      verify.Share // of a part of the sample
	final      *verified
}

// field is a field of a draft.
type field struct {
	name, typ string
	column    string // of a table; empty if it is the name
	was       string // the member of JSON, if it is not the name
	values    string // how a cell stores it
	family    string
	number    int
	optional  bool
	doubt     string
	example   string
	bytes     int // the average size
}

// column is what is known of a column.
type column struct {
	family, qualifier string
	rows              int
	values            data // of all cells
}

const maxColumns = 300 // fixed columns of a table

// columns returns the columns of rows, sorted by family and qualifier; nil if there are so many
// that rows do not share them. as maps families to the one that their columns are counted in.
func columns(rows []row, as func(family string) string) []*column {
	found := map[[2]string]*column{}
	for i := range rows {
		seen := [2]string{}
		for j := range rows[i].cells {
			c := &rows[i].cells[j]
			id := [2]string{as(c.family), c.qualifier}
			of := found[id]
			if of == nil {
				if len(found) > 20*maxColumns {
					return nil
				}
				of = &column{family: id[0], qualifier: c.qualifier}
				found[id] = of
			}
			if seen != id {
				of.rows++
			}
			seen = id
			of.values = append(of.values, c.value)
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b *column) int {
		return cmp.Or(cmp.Compare(a.family, b.family), cmp.Compare(a.qualifier, b.qualifier))
	})
}

// columns returns the columns of the rows. Those of all rows are found once.
func (k *key) columns() []*column {
	same := func(family string) string { return family }
	t := k.table
	if len(k.rows) < len(spread(t.rows, maxKeys)) {
		return columns(k.rows, same)
	}
	if t.columns == nil {
		t.columns = columns(k.rows, same)
	}
	return t.columns
}

// drafts returns the schemas that a key allows.
func (k *key) drafts() []*draft {
	var out []*draft
	var names named
	add := func(d *draft) {
		if d != nil {
			if d.pattern.Naming() == codec.NamedByField {
				d.asks = append(d.asks, names.question())
			}
			out = append(out, d)
		}
	}
	add(k.newColumns())
	add(k.offsets())
	cols := k.columns()
	if len(cols) == 0 || len(cols) > maxColumns {
		k.table.refuse(fmt.Sprintf("there are over %d columns, such as %s: columns must be named by fields [C08]", maxColumns, show(k.rows[0].cells[0].qualifier)))
		return out
	}
	if !slices.ContainsFunc(cols, func(c *column) bool { return c.qualifier != "" }) {
		k.table.refuse("the only column of the rows has no name: columns must be named by fields [C08]")
		return out
	}
	names = k.named(cols)
	if names.certain {
		k.table.refuse(fmt.Sprintf("%d columns are named after times, counts or other values, such as %s: columns must be named by fields [C08]", names.n, show(names.example)))
		return out
	}
	versions := false
	for _, c := range cols {
		versions = versions || len(c.values) > c.rows
	}
	if k.time != nil || k.number != nil {
		add(k.plain(cols))
	}
	switch {
	case k.time == nil && k.number == nil:
		add(k.untimed(cols))
	case k.number != nil:
		add(k.cells(cols))
	default:
		if versions || k.times() > 1 {
			add(k.cells(cols))
		}
		if d := k.single(cols); d != nil {
			if versions {
				d.fit = doubtfulFit
				d.asks = append(d.asks, "Some columns have several cells in a row. Are the older ones replaced events, or is a row a bucket of events?")
			}
			add(d)
		}
	}
	return out
}

// times returns the largest number of different timestamps of a row.
func (k *key) times() int {
	most := 0
	for i := range k.rows {
		at := map[int64]bool{}
		for _, c := range k.rows[i].cells {
			if at[c.at] = true; len(at) > 1 {
				return len(at)
			}
		}
		most = max(most, len(at))
	}
	return most
}

// bucketed returns a draft with a row per bucket whose contents inside accepts; nil if there is
// no such bucket.
func (k *key) bucketed(pattern codec.Pattern, inside func(codec.Bucket, time.Time, *row) bool) (*draft, codec.Bucket) {
	d := &draft{key: k, pattern: pattern, metric: -1, timed: true}
	if k.number != nil {
		b := countedBuckets(k.rows, k.number)
		if b == nil {
			return nil, codec.Bucket{}
		}
		d.bucket = fmt.Sprintf("{every: %s, origin: %s, label: %s}", span(b.bucket), instant(b.bucket.Origin), schema.Quoted(k.number.text()))
		d.bucketAsk = b.doubt
		return d, b.bucket
	}
	if k.time == nil {
		return nil, codec.Bucket{}
	}
	b, doubt, ok := k.bucketOf(inside)
	if !ok {
		return nil, b
	}
	d.bucketAsk, d.bucket = doubt, "every: "+span(b)
	if !b.Origin.IsZero() {
		d.bucket += ", origin: " + instant(b.Origin)
	}
	if k.time.label() {
		d.bucket += ", label: " + schema.Quoted(k.time.format)
	} else {
		d.label = k.time.segment("bucket")
	}
	if d.bucket = "{" + d.bucket + "}"; b.Origin.IsZero() && d.label != "" {
		d.bucket = span(b)
	}
	return d, b
}

// instant formats an origin.
func instant(t time.Time) string {
	if t.Equal(t.Truncate(24 * time.Hour)) {
		return t.Format(time.DateOnly)
	}
	return schema.Quoted(t.Format(time.RFC3339))
}

// cells returns the draft with a row per bucket, and events as timestamped cells.
func (k *key) cells(cols []*column) *draft {
	d, _ := k.bucketed(codec.BucketNewCells, cellsInside)
	if d == nil {
		return nil
	}
	d.serialize(cols)
	d.load = loadOf(k.eventTimes(), d.finest())
	d.apart(cols)
	if k.times() == 1 {
		d.asks = append(d.asks, "Each row has cells of one timestamp. Are the timestamps the times of events, in buckets, or those of writes?")
	}
	return d
}

// apart asks about columns that rarely have a cell at the same time: they may be those of one
// event nevertheless.
func (d *draft) apart(cols []*column) {
	required := 0
	for _, c := range cols {
		if len(c.values)*2 > d.events {
			required++
		}
	}
	if len(cols) > 1 && required == 0 && d.blob == "" {
		d.asks = append(d.asks, "Columns rarely have cells of the same timestamp. Is each cell an event, or do cells of almost the same timestamp belong together?")
	}
}

// untimed returns the draft for rows without a time in their key.
func (k *key) untimed(cols []*column) *draft {
	d := &draft{key: k, pattern: codec.BucketNewCells, bucket: "none", metric: -1, timed: true, fit: doubtfulFit}
	d.standing = untimedStanding
	d.serialize(cols)
	d.load = loadOf(k.eventTimes(), d.finest())
	if len(k.parts) == 1 && k.whole {
		d.standing = wholeStanding
	} else if slices.ContainsFunc(k.parts, func(p *part) bool { return k.foreignTime(p) != "" }) {
		d.standing = refusedStanding
	}
	d.asks = append(d.asks, "The keys have no time that the sample shows. Are timestamps of cells the times of events?")
	return d
}

// standing is what the time of a draft rests on: of drafts that read most of the sample, the one with the least is
// taken.
type standing int

const (
	agreeingStanding standing = iota // a time in the keys, which the timestamps of cells confirm or do not contradict
	farStanding                      // a time in the keys that is months from the timestamps of cells
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
	order := []int{0, int(d.standing), -1000 * d.reads.Readable / max(1, d.reads.Total), 0, int(d.fit), d.key.place}
	if d.reads.Readable*2 < d.reads.Total {
		order[0] = 1 // the sample refutes it
	}
	if d.key.whole {
		order[3] = 1
	}
	return order
}

// plain returns the draft in which the time in the keys is a value like the others.
func (k *key) plain(cols []*column) *draft {
	without := *k
	without.at, without.time, without.number = -1, nil, nil
	d := without.untimed(cols)
	d.standing = plainStanding
	d.asks = []string{fmt.Sprintf("Part %d of the keys, such as %s, may be a time, but not that of the timestamps of cells. Which of them is the time of the event? %s", k.at+1, show(k.parts[k.at].values[0]), k.zone())}
	return d
}

// zone says how times in keys would agree with the timestamps of cells if they were local times;
// empty if they would not.
func (k *key) zone() string {
	if k.time == nil {
		return ""
	}
	l := newLag(k.time.width())
	for r, v := range k.parts[k.at].values {
		at, _ := k.time.parse(v)
		for _, c := range k.rows[r].cells {
			l.add(k.rows[r].key, c.at, at)
		}
	}
	if !l.local() {
		return ""
	}
	return fmt.Sprintf("It is up to %s off, as local times are: times in keys must be in UTC [K24].", gap(l.farthest()))
}

// unserialized returns the pattern of columns named by fields, in a row per event or per bucket.
func unserialized(single bool) codec.Pattern {
	if single {
		return codec.SingleUnserialized
	}
	return codec.BucketNewCells
}

// single returns the draft with a row per event.
func (k *key) single(cols []*column) *draft {
	d := &draft{key: k, pattern: codec.SingleUnserialized, metric: -1, timed: true, fit: writtenFit, lag: newLag(k.time.width())}
	if k.time.months > 0 || k.time.format == "iso_week" {
		return nil
	}
	var times []eventTime
	for r, v := range k.parts[k.at].values {
		at, _ := k.time.parse(v)
		times = append(times, eventTime{k.id(r, -1), at.UnixNano()})
		for _, c := range k.rows[r].cells {
			d.timed = d.timed && c.at == codec.Micros(at)
			d.lag.add(k.rows[r].key, c.at, at)
		}
	}
	switch {
	case d.timed:
		d.fit = timedFit
	case d.lag.shifted():
		d.standing = localStanding
	case d.lag.class() > 1:
		d.standing = farStanding
	}
	d.serialize(cols)
	d.load = loadOf(times, d.finest())
	d.precision = max(d.precision, k.time.unit)
	return d
}

// serialize sets the fields: the columns, or the members of serialized events if there is one
// column with them.
func (d *draft) serialize(cols []*column) {
	if len(cols) == 1 && cols[0].values.isBlob() {
		c := cols[0]
		if fields, format, ask := blobFields(d.blobs()); fields != nil {
			d.pattern, d.fields, d.column, d.blobAsk = layout.SerializedOf(d.pattern), fields, c.family, ask
			d.blob = "{column: " + schema.Quoted(c.qualifier) + ", format: " + format + "}"
			return
		}
	}
	events := len(d.key.rows)
	if d.bucket != "" {
		events = len(d.key.eventTimes())
	}
	cols = d.classify(cols)
	for _, c := range cols {
		example := show(c.values.first(func(b []byte) bool { return len(b) > 0 }))
		switch {
		case c.qualifier == "":
			d.asks = append(d.asks, fmt.Sprintf("The column without a name in family %s, with values such as %s, is not in the schema, because columns must have one. Can its writers name it?", c.family, example))
			continue
		case !utf8.ValidString(c.qualifier):
			d.asks = append(d.asks, fmt.Sprintf("The column %s in family %s, with values such as %s, is not in the schema, because names of columns are UTF-8. Can its writers rename it?", show(c.qualifier), c.family, example))
			continue
		}
		n := c.rows
		if d.bucket != "" {
			n = len(c.values)
		}
		d.addColumn(c.qualifier, c.family, c.values, n < events)
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
	for _, f := range names {
		if d.key.table.Families[f].Kind != codec.GCMaxAge || !slices.Equal(families[f], families[names[0]]) {
			return cols
		}
	}
	if len(names) < 2 {
		return cols
	}
	d.classes = names
	all := columns(d.key.rows, func(string) string { return names[0] })
	return all
}

// blobs returns some of the values of all cells.
func (d *draft) blobs() data {
	var out data
	for _, r := range d.key.rows {
		for _, c := range r.cells {
			out = append(out, c.value)
		}
	}
	return spread(out, maxBlobs)
}

// blobFields returns the fields of serialized events, and their format; nil if they are not
// serialized.
func blobFields(blobs data) (fields []field, format, ask string) {
	format, members := "json", jsonMembers(blobs)
	if !blobs.all(isObject) {
		members = protoMembers(blobs)
		format, ask = "protobuf", "What are the fields of the message called, and which integers are uint64, bool, enum or sint64? Protobuf does not store it."
	}
	for _, m := range members {
		if m.typ == "" || len(m.name) > 64 {
			ask = strings.TrimSpace(ask + " " + fmt.Sprintf("Field %s is not in the schema: %s", cmp.Or(m.name, fmt.Sprint(m.number)), m.doubt))
			continue
		}
		f := field{name: m.name, typ: m.typ, number: m.number, doubt: m.doubt, example: m.example}
		if m.number > 0 {
			f.name = fmt.Sprintf("field_%d", m.number)
			f.optional = m.n < len(blobs) && schema.ParseType(m.typ).Traits().ProtoZero // others are zero if they are absent
		} else {
			f.optional = m.n < len(blobs)
		}
		fields = append(fields, f)
	}
	if len(fields) == 0 || len(fields) > maxColumns {
		return nil, "", ""
	}
	return fields, format, ask
}

// addColumn adds the field of a column.
func (d *draft) addColumn(qualifier, family string, v data, optional bool) {
	c := v.coding()
	f := field{
		name: qualifier, column: qualifier, typ: c.typ, values: c.values, family: family,
		doubt: c.doubt, optional: optional, bytes: v.bytes(),
	}
	if d.column == "" {
		d.column = family
	}
	d.fields = append(d.fields, f)
}

// eventTime is the time of an event of a series.
type eventTime struct {
	series string
	at     int64 // nanoseconds since 1970
}

// id returns the parts of a key other than the time and one more; -1 for none.
func (k *key) id(r, but int) string {
	id := ""
	for i, p := range k.parts {
		if i != k.at && i != but {
			id += p.values[r] + "\x00"
		}
	}
	return id
}

// eventTimes returns the different timestamps of the cells of each row.
func (k *key) eventTimes() []eventTime {
	var out []eventTime
	for r := range k.rows {
		id, seen := k.id(r, -1), map[int64]bool{}
		for _, c := range k.rows[r].cells {
			if !seen[c.at] {
				seen[c.at] = true
				out = append(out, eventTime{id, c.at * 1000})
			}
		}
	}
	return out
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

// loadOf returns what times tell. The precision is finest or coarser: few times do not tell whether later ones have
// seconds.
func loadOf(times []eventTime, finest time.Duration) load {
	out := load{precision: time.Millisecond, events: len(times)}
	for _, step := range steps {
		if len(times) < 10 && step > time.Second || step < finest {
			continue
		}
		if !slices.ContainsFunc(times, func(e eventTime) bool { return e.at%int64(step) != 0 }) {
			out.precision = step
			break
		}
	}
	series := map[string][]int64{}
	for _, e := range times {
		series[e.series] = append(series[e.series], e.at)
	}
	out.series = len(series)
	var gaps []int64
	for _, at := range series {
		slices.Sort(at)
		for i := 1; i < len(at); i++ {
			gaps = append(gaps, at[i]-at[i-1])
		}
	}
	if slices.Sort(gaps); len(gaps) > 0 {
		out.step = time.Duration(gaps[len(gaps)/2])
	}
	return out
}

// finest returns the finest precision of times in the pattern.
func (d *draft) finest() time.Duration {
	if d.pattern.EventTimed() {
		return time.Millisecond
	}
	return time.Nanosecond
}

// mostly reports whether most values have a property.
func mostly(values []string, has func(string) bool) bool {
	n := 0
	for _, v := range values {
		if has(v) {
			n++
		}
	}
	return n*5 >= len(values)*4
}

// metricName matches the likely names of metrics.
var metricName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`)

// newColumns returns the draft with a row per metric and bucket, and columns named after
// values: their cells are empty.
func (k *key) newColumns() *draft {
	if !k.empty() {
		return nil
	}
	d, _ := k.bucketed(codec.BucketNewColumns, cellsInside)
	if d == nil {
		return nil
	}
	for i := k.at - 1; i >= 0 && d.metric < 0; i-- {
		if p := k.parts[i]; p.distinct <= 100 && !p.constant && mostly(p.values, metricName.MatchString) {
			d.metric = i
		}
	}
	if d.metric < 0 {
		return nil
	}
	d.metrics()
	return d
}

// metrics sets the fields, one per metric, and what the times of events tell.
func (d *draft) metrics() {
	k := d.key
	found, families, times := map[string]data{}, map[string]string{}, map[eventTime]bool{}
	for r, name := range k.parts[d.metric].values {
		id := k.id(r, d.metric)
		for _, c := range k.rows[r].cells {
			found[name] = append(found[name], []byte(c.qualifier))
			families[name] = c.family
			times[eventTime{id, c.at * 1000}] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		d.addColumn(name, families[name], found[name], len(found[name]) < len(times))
	}
	d.load = loadOf(slices.Collect(maps.Keys(times)), d.finest())
}

// offsets returns the draft with a row per bucket, and columns named after the time since its
// start: qualifiers of the same few bytes. A sequence number of 4 bytes may follow.
func (k *key) offsets() *draft {
	width := len(k.rows[0].cells[0].qualifier)
	distinct := map[string]bool{}
	for _, r := range k.rows {
		for _, c := range r.cells {
			if len(c.qualifier) != width || width > 8 {
				return nil
			}
			distinct[c.qualifier] = true
		}
	}
	if k.namesAreInstants() {
		return nil // whole times: C08
	}
	if k.empty() || len(distinct) < 3 && !isBytes([]string{k.rows[0].cells[0].qualifier}) {
		return nil
	}
	for _, sequence := range []bool{false, true} {
		if o := (offsets{key: k, width: width, sequence: sequence}); sequence && width > sequenceBytes || !sequence && width > 0 && width <= sequenceBytes {
			if sequence {
				o.width -= sequenceBytes
			}
			return o.draft()
		}
	}
	return nil
}

// sequenceBytes is the length of a sequence number after an offset.
const sequenceBytes = 4

// offsets are columns that are named after the time since the start of a bucket.
type offsets struct {
	key       *key
	width     int // bytes
	sequence  bool
	precision time.Duration
	cells     []offsetCell // in the order of times
}

// draft returns the draft for the columns; nil if they do not fit any bucket.
func (o *offsets) draft() *draft {
	k, most := o.key, uint64(0)
	var stored data
	for _, r := range k.rows {
		for _, c := range r.cells {
			most = max(most, o.steps(c.qualifier))
		}
	}
	d, b := k.bucketed(codec.BucketOffsets, func(b codec.Bucket, _ time.Time, _ *row) bool {
		return len(offsetPrecisions(b, o.width, most)) > 0
	})
	if d == nil {
		return nil
	}
	if !o.choose(offsetPrecisions(b, o.width, most)) {
		return nil
	}
	times, timed := o.times()
	d.timed, d.sequence = timed, o.sequence
	d.column = k.rows[0].cells[0].family
	for _, r := range k.rows {
		for _, c := range r.cells {
			stored = append(stored, c.value)
		}
	}
	if fields, format, ask := blobFields(d.blobs()); fields != nil && stored.isBlob() {
		d.fields, d.blob, d.blobAsk = fields, "{format: "+format+"}", ask
	} else {
		d.addColumn("value", d.column, stored, false)
		d.fields[0].column = ""
	}
	d.load = loadOf(times, d.finest())
	d.precision = o.precision
	d.lag = newLag(o.precision)
	for i, e := range times {
		d.lag.add(o.cells[i].row, o.cells[i].at, time.Unix(0, e.at))
	}
	if !timed {
		d.asks = append(d.asks, fmt.Sprintf("Are column names counts of %s since the start of the bucket?", schema.FormatDuration(o.precision)))
	}
	d.fit = offsetFit
	return d
}

// offsetCell is a cell whose column is an offset.
type offsetCell struct {
	row string
	at  int64 // microseconds since 1970
}

// choose sets that of some precisions with which timestamps of cells follow the times of columns most evenly. It
// returns false if there is none, or if another one explains the timestamps far better: offsets have another width
// then, by rule C08.
func (o *offsets) choose(precisions []time.Duration) bool {
	spreads := map[time.Duration]float64{}
	for _, o.precision = range offsetSteps {
		times, _ := o.times()
		least, most := math.MaxFloat64, -math.MaxFloat64
		for i, e := range times {
			d := float64(o.cells[i].at)*1000 - float64(e.at)
			least, most = min(least, d), max(most, d)
		}
		spreads[o.precision] = most - least
	}
	compare := func(a, b time.Duration) int { return cmp.Compare(spreads[a], spreads[b]) }
	all := slices.SortedStableFunc(slices.Values(offsetSteps), compare)
	evident := spreads[all[0]]*4 < spreads[all[1]] && spreads[all[0]] < float64(time.Hour)
	if len(precisions) == 0 || evident && !slices.Contains(precisions, all[0]) {
		return false
	}
	o.precision = slices.MinFunc(precisions, compare)
	return true
}

// steps returns the number that a qualifier contains.
func (o *offsets) steps(qualifier string) uint64 { return bigEndian(qualifier[:o.width]) }

// times returns the times that columns are named after, and whether the cells have them, too.
func (o *offsets) times() (out []eventTime, timed bool) {
	timed, o.cells = true, nil
	for r := range o.key.rows {
		start, ok := o.key.start(r)
		id := o.key.id(r, -1)
		for _, c := range o.key.rows[r].cells {
			at := start.Add(time.Duration(o.steps(c.qualifier)) * o.precision)
			out = append(out, eventTime{id, at.UnixNano()})
			o.cells = append(o.cells, offsetCell{o.key.rows[r].key, c.at})
			timed = timed && ok && codec.Micros(at) == c.at
		}
	}
	return out, timed
}

// bigEndian returns the number that up to 8 bytes contain.
func bigEndian(s string) uint64 {
	n := uint64(0)
	for i := range min(len(s), 8) {
		n = n<<8 | uint64(s[i])
	}
	return n
}

// offsetSteps are the usual precisions of offsets, the coarsest first.
var offsetSteps = []time.Duration{time.Minute, time.Second, 100 * time.Millisecond, 10 * time.Millisecond, time.Millisecond, 100 * time.Microsecond, 10 * time.Microsecond, time.Microsecond}

// offsetPrecisions returns the usual precisions for which offsets in a bucket have so many bytes
// and are not larger than the largest, the coarsest first.
func offsetPrecisions(b codec.Bucket, width int, most uint64) []time.Duration {
	var out []time.Duration
	for _, p := range offsetSteps {
		slots := uint64(b.Widest() / p)
		if b.Widest() >= p && most < slots && max(1, (bits.Len64(slots-1)+7)/8) == width {
			out = append(out, p)
		}
	}
	return out
}

// start returns the time in the key of a row.
func (k *key) start(r int) (time.Time, bool) {
	if k.time == nil {
		return time.Time{}, false
	}
	return k.time.parse(k.parts[k.at].values[r])
}
