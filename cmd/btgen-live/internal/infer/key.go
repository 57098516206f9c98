package infer

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// key is a hypothesis about the structure of the row keys.
type key struct {
	table     *table
	delimiter string
	whole     bool  // whether nothing divides the keys, apart from a time at the end
	rows      []row // those whose keys have the structure
	parts     []*part
	at        int       // index of the part that is the time; -1 if there is none
	time      *timeForm // nil if there is none, or if buckets are numbered
	number    *number   // nil unless buckets are numbered
	asks      []string  // questions about the whole key
	reason    string
	place     int // in the order of hypotheses
}

// part is a part of the row keys.
type part struct {
	values   []string // one for each row
	distinct int
	binary   bool // a fixed number of bytes, which may contain the delimiter
	joined   bool // the next part follows without a delimiter
	constant bool // the value never differs from that of other kinds of rows
}

// width returns the number of bytes of all values; 0 if it varies.
func (p *part) width() int {
	for _, v := range p.values {
		if len(v) != len(p.values[0]) {
			return 0
		}
	}
	return len(p.values[0])
}

const (
	maxKeys  = 2000 // rows whose keys are examined to find their structure
	maxParts = 24   // of a key
	maxTries = 8    // structures that are tried
)

// delimiters are the delimiters that are tried, the likeliest first.
var delimiters = []string{"#", "|", "/", ":", "\x00", "\x1f", "_", ";", "~", "@", "$", "!", "&", "*", "+", "=", ",", "%", " ", "\t", ".", "-", "##", "||", "::", "__", "--"}

// tails are the numbers of bytes of a binary time at the end of keys; 0 if there is none.
var tails = []int{0, 8, 4}

// keys returns the hypotheses about the structure of the row keys that most of them bear out, the likeliest first:
// those whose time agrees with the cells, then those with a likelier delimiter, then those with a form of times that
// less looks like.
func (t *table) keys() []*key {
	var out []*key
	rows := spread(t.rows, maxKeys)
	for _, delimiter := range delimiters {
		for _, tail := range tails {
			if tail > 0 && strings.Contains(delimiter, "\x00") {
				continue
			}
			split := func(key string) []string { return splitKey(key, delimiter, tail) }
			out = append(out, t.cut(rows, &key{delimiter: delimiter}, tail, split)...)
		}
	}
	out = append(out, t.fixed(rows)...)
	for _, tail := range tails {
		split := func(key string) []string { return splitEnd(key, tail) }
		out = append(out, t.cut(rows, &key{whole: true, reason: "row keys have no delimiter"}, tail, split)...)
	}
	slices.SortStableFunc(out, compareKeys)
	for i, k := range out {
		k.place = i
	}
	return out[:min(len(out), maxTries)]
}

// order says what makes a hypothesis likelier than others that the keys also bear out: less is likelier.
func (k *key) order() []int {
	delimiter := slices.Index(delimiters, k.delimiter)
	if delimiter < 0 {
		delimiter = len(delimiters)
	}
	order := []int{0, 0, delimiter, 0, 0}
	if k.whole {
		order[0] = 1
	}
	switch {
	case k.time != nil:
		agreement := lagOf(k.rows, k.parts[k.at].values, k.time).class()
		order[1], order[3], order[4] = []int{0, 2, 3, 5}[agreement], -k.aligned(), -k.time.rank
	case k.number != nil:
		order[1] = 1
	default:
		order[1] = 4
	}
	return order
}

// compareKeys compares hypotheses; the likelier one is less.
func compareKeys(a, b *key) int { return slices.Compare(a.order(), b.order()) }

// cut cuts keys into parts. The last one is a time of tail bytes, unless that is 0. It returns nil if less than half
// of the keys have the same number of parts.
func (t *table) cut(rows []row, k *key, tail int, split func(key string) []string) []*key {
	counts := map[int]int{}
	for _, r := range rows {
		if parts := split(r.key); parts != nil {
			counts[len(parts)]++
		}
	}
	n, most := 0, 0
	for count, of := range counts {
		if of > most || of == most && count > n {
			n, most = count, of
		}
	}
	if n == 0 || n > maxParts || most*2 < len(rows) {
		return nil
	}
	k.table, k.at, k.parts = t, -1, make([]*part, n)
	for i := range k.parts {
		k.parts[i] = &part{binary: tail > 0 && i == n-1, joined: k.whole && i == 0}
	}
	for _, r := range rows {
		parts := split(r.key)
		if len(parts) != n || slices.Contains(parts, "") {
			continue
		}
		k.rows = append(k.rows, r)
		for i, v := range parts {
			k.parts[i].values = append(k.parts[i].values, v)
		}
	}
	switch {
	case len(k.rows)*2 < len(rows):
		return nil
	case tail > 0 && !isBytes(k.parts[n-1].values):
		return nil // the tail is text
	case tail > 0 && k.whole && isBytes(k.parts[0].values):
		return nil
	}
	if k.reason == "" {
		k.reason = fmt.Sprintf("%s have %d parts with the delimiter %q", share(len(k.rows), len(rows), "row key"), n, k.delimiter)
		k.kinds()
	}
	out := k.timed()
	if tail > 0 && k.whole && out[0].time == nil {
		return nil
	}
	return out
}

// splitKey splits one key at a delimiter; nil if it has none. The last tail bytes may contain the delimiter.
func splitKey(key, delimiter string, tail int) []string {
	if tail == 0 {
		if parts := strings.Split(key, delimiter); len(parts) > 1 {
			return parts
		}
		return nil
	}
	head, last := key[:max(0, len(key)-tail)], key[max(0, len(key)-tail):]
	head, ok := strings.CutSuffix(head, delimiter)
	if !ok {
		return nil
	}
	return append(strings.Split(head, delimiter), last)
}

// splitEnd splits the last bytes of one key off; nil if there are no others.
func splitEnd(key string, tail int) []string {
	switch n := len(key) - tail; {
	case n <= 0:
		return nil
	case tail == 0:
		return []string{key}
	default:
		return []string{key[:n], key[n:]}
	}
}

// isBytes reports whether some of the values are not text.
func isBytes(values []string) bool {
	return slices.ContainsFunc(values, func(v string) bool { return !isText(v) })
}

// maxTimes is the number of parts that are tried as the time.
const maxTimes = 3

// timed returns the key with each part that may be the time, the likeliest first; with none if
// there is none.
func (k *key) timed() []*key {
	var out []*key
	for i, p := range k.parts {
		p.distinct = len(dataOf(p.values).distinct(len(p.values)))
		var forms []*key
		for _, f := range timeForms(p.values) {
			if f.binary() == p.binary {
				with := *k
				with.at, with.time = i, f
				forms = append(forms, &with)
			}
		}
		if len(forms) > 0 {
			out = append(out, slices.MinFunc(forms, compareKeys))
		}
	}
	if n := k.numbered(); n != nil {
		out = append(out, n)
	}
	if len(out) == 0 {
		return []*key{k}
	}
	slices.SortStableFunc(out, compareKeys)
	return out[:min(len(out), maxTimes)]
}

// spanWords are the names of buckets in labels.
var spanWords = []string{"week", "wk", "w", "day", "d", "hour", "hr", "h", "month", "mon", "m", "bucket", "b", "block", "chunk", "year", "y"}

// numbered returns the key with the part that counts buckets: one with the name of a unit, such
// as week12, or else the last number whose rows have cells of increasing times; nil if there is
// none.
func (k *key) numbered() *key {
	for i := len(k.parts) - 1; i >= 0; i-- {
		n := numberOf(k.parts[i].values)
		if n == nil || k.parts[i].binary {
			continue
		}
		word := slices.Contains(spanWords, strings.ToLower(strings.Trim(n.prefix+n.suffix, "-_. ")))
		if b := countedBuckets(k.rows, n); b != nil && (word || n.prefix+n.suffix == "" && k.parts[i].distinct > 2) {
			with := *k
			with.at, with.number = i, n
			return &with
		}
	}
	return nil
}

// kinds restricts a key to the rows of one kind, if a part tells kinds of rows apart.
func (k *key) kinds() {
	all := k.rows
	for i, p := range k.parts {
		if k.empty() {
			break // columns are named after values
		}
		columns := map[string]map[string]bool{}
		for r, v := range p.values {
			if columns[v] == nil {
				columns[v] = map[string]bool{}
			}
			for _, c := range k.rows[r].cells {
				columns[v][c.family+":"+c.qualifier] = true
			}
			if len(columns) > 8 || len(columns[v]) > 200 {
				break
			}
		}
		if len(columns) < 2 || len(columns) > 8 || !disjoint(columns) {
			continue
		}
		counts := map[string]int{}
		for _, v := range p.values {
			counts[v]++
		}
		kind := ""
		for v, n := range counts {
			if n > counts[kind] || n == counts[kind] && v < kind {
				kind = v
			}
		}
		k.keep(i, kind)
		p.constant = true
		k.asks = append(k.asks, fmt.Sprintf("Part %d of the keys tells kinds of rows apart: %s. This schema is for %s; which schemas are for the others?", i+1, countsOf(counts), schema.Quoted(kind)))
	}
	if len(k.rows) == len(all) && len(k.rows) < len(spread(k.table.rows, maxKeys)) { // other keys have another structure
		if p := k.parts[0]; len(k.rows) > 1 && isWord(p.values[0]) && !slices.ContainsFunc(p.values, func(v string) bool { return v != p.values[0] }) {
			p.constant = true
		}
	}
	if others := len(spread(k.table.rows, maxKeys)) - len(all); others > 0 {
		k.asks = append(k.asks, fmt.Sprintf("%s have another structure. Which schemas are for them?", share(others, others+len(all), "row key")))
	}
}

// empty reports whether all cells are empty.
func (k *key) empty() bool {
	return !slices.ContainsFunc(k.rows, func(r row) bool {
		return slices.ContainsFunc(r.cells, func(c cell) bool { return len(c.value) > 0 })
	})
}

// disjoint reports whether kinds of rows have no column in common, and few columns.
func disjoint(columns map[string]map[string]bool) bool {
	seen := map[string]bool{}
	for kind, of := range columns {
		if !isWord(kind) || len(of) > 200 {
			return false
		}
		for c := range of {
			if seen[c] {
				return false
			}
			seen[c] = true
		}
	}
	return true
}

// keep drops the rows in which a part has another value.
func (k *key) keep(part int, value string) {
	var rows []row
	values := make([][]string, len(k.parts))
	for r := range k.rows {
		if k.parts[part].values[r] == value {
			rows = append(rows, k.rows[r])
			for i, p := range k.parts {
				values[i] = append(values[i], p.values[r])
			}
		}
	}
	k.rows = rows
	for i, p := range k.parts {
		p.values = values[i]
	}
}

// countsOf formats how often values occur.
func countsOf(counts map[string]int) string {
	var out []string
	for v, n := range counts {
		out = append(out, fmt.Sprintf("%s (%d)", schema.Quoted(v), n))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// isWord reports whether a value is a word of letters.
func isWord(s string) bool {
	for i := range len(s) {
		if c := s[i] | 0x20; (c < 'a' || c > 'z') && s[i] != '_' {
			return false
		}
	}
	return s != ""
}

// fixed returns guesses at keys of a fixed number of bytes: for each place and form of the
// time.
func (t *table) fixed(rows []row) []*key {
	width := len(rows[0].key)
	for _, r := range rows {
		if len(r.key) != width {
			return nil
		}
	}
	if width > 128 || !slices.ContainsFunc(rows, func(r row) bool { return !isText(r.key) }) {
		return nil
	}
	var out []*key
	for _, size := range []int{8, 4, 10, 13, 16, 19, 20} {
		for begin := 0; begin+size <= width; begin++ {
			values := make([]string, len(rows))
			for i, r := range rows {
				values[i] = r.key[begin : begin+size]
			}
			for _, f := range timeForms(values) {
				if f.binary() == (size <= 8) && f.binary() == isBytes(values) && !f.label() && near(rows, values, f) {
					k := &key{table: t, rows: rows, time: f, reason: fmt.Sprintf("all row keys have %d bytes, and a time from byte %d", width, begin)}
					k.chunk(0, begin)
					k.at = len(k.parts)
					k.add(begin, begin+size)
					k.chunk(begin+size, width)
					out = append(out, k)
				}
			}
		}
	}
	return out
}

// near reports whether the times in keys are within ten years of the cells.
func near(rows []row, values []string, f *timeForm) bool {
	const years = 10 * 366 * 24 * 3600 * 1e6
	for i, r := range rows {
		at, _ := f.parse(values[i])
		if d := r.cells[0].at - at.UnixMicro(); plausible(codec.FromMicros(r.cells[0].at)) && (d > years || d < -years) {
			return false
		}
	}
	return true
}

// aligned returns of how many of a minute, an hour and a day all times in keys are multiples, if the keys are not
// delimited: bytes that are no times hardly are.
func (k *key) aligned() (n int) {
	if k.delimiter != "" {
		return 0
	}
	for _, seconds := range []int64{60, 3600, 86400} {
		if all(k.parts[k.at].values, func(v string) bool { at, _ := k.time.parse(v); return at.Unix()%seconds == 0 }) {
			n++
		}
	}
	return n
}

// add adds a part of all keys.
func (k *key) add(begin, end int) {
	p := &part{binary: true}
	for _, r := range k.rows {
		p.values = append(p.values, r.key[begin:end])
	}
	p.distinct = len(dataOf(p.values).distinct(len(p.values)))
	k.parts = append(k.parts, p)
}

// chunk adds the parts of some bytes of all keys. Numbers begin with zeros. Others are one
// part.
func (k *key) chunk(begin, end int) {
	n := end - begin
	size := n
	switch {
	case n == 0:
		return
	case n%4 == 0 && n > 4 && k.zeros(begin, end, 4):
		size = 4
	case n%8 == 0 && n > 8 && k.zeros(begin, end, 8):
		size = 8
	}
	for ; begin < end; begin += size {
		k.add(begin, begin+size)
	}
	if n != 1 && n != 2 && n != 3 && n != 4 && n != 8 && n != 16 && size == n {
		k.asks = append(k.asks, fmt.Sprintf("Is it one value, or several, that bytes %d to %d of the keys contain?", end-n, end-1))
	}
}

// zeros reports whether words of a size all begin with a zero byte, and none is zero in all
// keys.
func (k *key) zeros(begin, end, size int) bool {
	for at := begin; at < end; at += size {
		zero := true
		for _, r := range k.rows {
			if r.key[at] != 0 {
				return false
			}
			zero = zero && strings.Trim(r.key[at:at+size], "\x00") == ""
		}
		if zero {
			return false
		}
	}
	return true
}

// series is a series value, and its segment.
type series struct {
	name, typ string
	segment   string
	example   string
	notes     []string // questions
	part      *part
}

// seriesOf returns the series value of a part; false if the language has none.
func (k *key) seriesOf(i int) (series, bool) {
	p := k.parts[i]
	s := series{name: nameOf(k, i), typ: "string", part: p}
	options := ""
	switch w := p.width(); {
	case p.joined && !isBytes(p.values): // text up to what follows, if anything
	case p.binary || k.delimiter == "" && isBytes(p.values):
		s.typ, options = binaryPart(p, w)
	case slices.ContainsFunc(p.values, func(v string) bool { return !utf8.ValidString(v) }):
		if s.typ, options = "bytes", fmt.Sprintf("encoding: raw, pad: %d", w); w == 0 {
			options = "encoding: raw, escape: true"
		}
	case codingOf(dataOf(p.values), textIDs) != nil:
		s.typ = codingOf(dataOf(p.values), textIDs).typ
	case dataOf(p.values).all(intText.reads):
		if s.typ = "int64"; strings.Contains(k.delimiter, "-") {
			s.typ = "uint64" // the text of others may contain the delimiter
		}
	case all(p.values, isDigits) && w > 0 && w <= 18:
		s.typ, options = "int64", "pad: "+strconv.Itoa(w)
	case all(p.values, isDigits) && w == 0:
		s.notes = append(s.notes, "Some of these numbers have leading zeros, and their lengths differ: is it text?")
	}
	if p.joined && (i+1 < len(k.parts) || p.width() == 0 || !isBytes(p.values)) {
		if options != "" {
			options += ", "
		}
		options += "joined: true"
	}
	s.segment = s.name
	if options != "" {
		s.segment = "{name: " + s.name + ", " + options + "}"
	}
	if s.typ == "string" || (s.typ == "int64" || s.typ == "uint64" && isDigits(p.values[0])) && p.values[0][0] != '0' {
		s.example = p.values[0]
	}
	return s, true
}

// binaryPart returns the type and the encoding of values with so many bytes.
func binaryPart(p *part, w int) (typ, options string) {
	first := []byte(p.values[0])
	top := func(v string) bool { return v[0] < 0x80 }
	switch {
	case codingOf(dataOf(p.values), binaryIDs) != nil:
		return codingOf(dataOf(p.values), binaryIDs).typ, "encoding: binary"
	case w == 8 && all(p.values, top):
		return "uint64", "encoding: binary"
	case w == 4 && all(p.values, top):
		return "uint32", "encoding: binary"
	case w > 0:
		return "bytes", "encoding: raw, pad: " + strconv.Itoa(w)
	case bytes.IndexByte(first, 0) >= 0:
		return "bytes", "encoding: raw"
	}
	return "string", ""
}

// all reports whether all values have a property.
func all(values []string, has func(string) bool) bool {
	return !slices.ContainsFunc(values, func(v string) bool { return !has(v) })
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// saltOf returns the salt that a part is: the series values that it is computed from, and the
// number of salts; 0 if it is none.
func (k *key) saltOf(i int, all []series, indexes []int) (of []string, buckets int) {
	p := k.parts[i]
	if p.distinct < 2 || len(indexes) > 6 {
		return nil, 0
	}
	most := 0
	for _, v := range p.values {
		n, ok := k.saltNumber(v)
		if !ok {
			return nil, 0
		}
		most = max(most, n)
	}
	for subset := 1<<len(indexes) - 1; subset > 0; subset-- {
		for buckets := most + 1; buckets <= 1000 && codec.SaltWidth(buckets, k.delimiter) <= p.width(); buckets++ {
			if codec.SaltWidth(buckets, k.delimiter) == p.width() && k.salted(p, indexes, subset, buckets) {
				for b, s := range all {
					if subset&(1<<b) != 0 {
						of = append(of, s.name)
					}
				}
				return of, buckets
			}
		}
	}
	return nil, 0
}

// saltNumber parses a salt.
func (k *key) saltNumber(v string) (int, bool) {
	switch {
	case k.delimiter != "":
		n, err := strconv.Atoi(v)
		return n, err == nil && isDigits(v) && len(v) <= 3
	case len(v) == 1:
		return int(v[0]), true
	case len(v) == 2:
		return int(v[0])<<8 | int(v[1]), true
	}
	return 0, false
}

// salted reports whether a part is the salt of a subset of other parts.
func (k *key) salted(p *part, indexes []int, subset, buckets int) bool {
	var parts []string
	for r, v := range p.values {
		parts = parts[:0]
		for b, i := range indexes {
			if subset&(1<<b) != 0 {
				parts = append(parts, k.parts[i].values[r])
			}
		}
		if n, _ := k.saltNumber(v); n != codec.Salt(buckets, parts...) {
			return false
		}
	}
	return true
}

// share formats a part of a number of things.
func share(n, of int, thing string) string {
	if n == of {
		return fmt.Sprintf("all %d %ss", of, thing)
	}
	return fmt.Sprintf("%d of %d %ss", n, of, thing)
}
