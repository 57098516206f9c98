package infer

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
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
	time      *timeForm // nil if there is none
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
	if all(p.values, func(v string) bool { return len(v) == len(p.values[0]) }) {
		return len(p.values[0])
	}
	return 0
}

const (
	maxKeys  = 2000 // rows whose keys are examined to find their structure
	maxParts = 24   // of a key
	maxTries = 8    // structures that are tried
	maxTimes = 3    // parts that are tried as the time
)

// delimiters are the delimiters that are tried, the likeliest first.
var delimiters = []string{"#", "|", "/", ":", "\x00", "\x1f", "_", ";", "~", "@", "$", "!", "&", "*", "+", "=", ",", "%", " ", "\t", ".", "-", "##", "||", "::", "__", "--", ""}

// keys returns the hypotheses about the structure of the row keys that most of them bear out, the likeliest first:
// those whose time agrees with the cells, then those with a likelier delimiter, then those with a form of times that
// less looks like.
func (t *table) keys() []*key {
	rows := spread(t.rows, maxKeys)
	out := t.fixed(rows)
	for _, delimiter := range delimiters {
		for _, tail := range []int{0, 8, 4} { // bytes of a binary time at the end
			if tail == 0 || !strings.Contains(delimiter, "\x00") {
				out = append(out, t.cut(rows, delimiter, tail)...)
			}
		}
	}
	slices.SortStableFunc(out, compareKeys)
	for i, k := range out {
		k.place = i
	}
	return out[:min(len(out), maxTries)]
}

// order says what makes a hypothesis likelier than others that the keys also bear out: less is likelier.
func (k *key) order() []int {
	order := []int{0, 4, slices.Index(delimiters, k.delimiter), 0, 0}
	if k.whole {
		order[0] = 1
	}
	switch {
	case k.time == nil:
	case k.time.bucket != nil:
		order[1] = 1
	default:
		order[1], order[3], order[4] = []int{0, 2, 3, 5}[lagOf(k.rows, k.time).class()], -k.aligned(), -k.time.rank
	}
	return order
}

// compareKeys compares hypotheses; the likelier one is less.
func compareKeys(a, b *key) int { return slices.Compare(a.order(), b.order()) }

// cut cuts keys into parts. The last one is a time of tail bytes, unless that is 0. It returns nil if less than half
// of the keys have the same number of parts.
func (t *table) cut(rows []row, delimiter string, tail int) []*key {
	counts := map[int]int{}
	for _, r := range rows {
		counts[len(splitKey(r.key, delimiter, tail))]++
	}
	n, most := 0, 0
	for count, of := range counts {
		if count > 0 && (of > most || of == most && count > n) {
			n, most = count, of
		}
	}
	if n == 0 || n > maxParts || most*2 < len(rows) {
		return nil
	}
	k := &key{table: t, delimiter: delimiter, whole: delimiter == "", at: -1, parts: make([]*part, n), reason: "row keys have no delimiter"}
	for i := range k.parts {
		k.parts[i] = &part{binary: tail > 0 && i == n-1, joined: k.whole && i == 0}
	}
	for _, r := range rows {
		parts := splitKey(r.key, delimiter, tail)
		if len(parts) != n || slices.Contains(parts, "") {
			continue
		}
		k.rows = append(k.rows, r)
		for i, v := range parts {
			k.parts[i].values = append(k.parts[i].values, v)
		}
	}
	if len(k.rows)*2 < len(rows) || tail > 0 && (!isBytes(k.parts[n-1].values) || k.whole && isBytes(k.parts[0].values)) {
		return nil
	}
	if !k.whole {
		k.reason = fmt.Sprintf("%s have %d parts with the delimiter %q", share(len(k.rows), len(rows), "row key"), n, k.delimiter)
		k.kinds(len(rows))
	}
	out := k.timed()
	if tail > 0 && k.whole && out[0].time == nil {
		return nil
	}
	return out
}

// splitKey splits one key at a delimiter, unless that is empty; nil if it has none. The last tail bytes may contain the delimiter.
func splitKey(key, delimiter string, tail int) (parts []string) {
	end := len(key) - tail
	if end <= 0 {
		return nil
	}
	head, found := strings.CutSuffix(key[:end], delimiter)
	switch {
	case delimiter == "":
		parts = []string{head}
	case tail == 0:
		if parts = strings.Split(key, delimiter); len(parts) == 1 {
			return nil
		}
	case !found:
		return nil
	default:
		parts = strings.Split(head, delimiter)
	}
	if tail > 0 {
		parts = append(parts, key[end:])
	}
	return parts
}

// isBytes reports whether some of the values are not text.
func isBytes(values []string) bool { return !all(values, isText) }

// timed returns the key with each part that may be the time, the likeliest first; with none if
// there is none.
func (k *key) timed() (out []*key) {
	var counted *key
	for i, p := range k.parts {
		p.distinct = len(dataOf(p.values).distinct(len(p.values)))
		var as []*key
		for _, f := range timeForms(p.values) {
			if f.binary() == p.binary {
				as = append(as, k.with(i, f))
			}
		}
		if len(as) > 0 {
			out = append(out, slices.MinFunc(as, compareKeys))
		}
		if f := countedForm(k.rows, p); f != nil && !p.binary {
			counted = k.with(i, f)
		}
	}
	if counted != nil {
		out = append(out, counted)
	}
	if len(out) == 0 {
		return []*key{k}
	}
	slices.SortStableFunc(out, compareKeys)
	return out[:min(len(out), maxTimes)]
}

// with returns the key with a part that is the time.
func (k *key) with(at int, f *timeForm) *key {
	with := *k
	with.at, with.time = at, f
	return &with
}

// kinds restricts a key to the rows of one kind, if a part tells kinds of rows apart. Others of all rows have another structure.
func (k *key) kinds(total int) {
	all := len(k.rows)
	for i, p := range k.parts {
		if k.empty() {
			break // columns are named after values
		}
		kind, counts := k.kindOf(p)
		if kind == "" {
			continue
		}
		k.keep(i, kind)
		p.constant = true
		k.asks = append(k.asks, fmt.Sprintf("Part %d of the keys tells kinds of rows apart: %s. This schema is for %s; which schemas are for the others?", i+1, countsOf(counts), schema.Quoted(kind)))
	}
	if first := k.parts[0].values; len(k.rows) == all && 1 < all && all < total && isWord(first[0]) && !differ(first) {
		k.parts[0].constant = true
	}
	if all < total {
		k.asks = append(k.asks, fmt.Sprintf("%s have another structure. Which schemas are for them?", share(total-all, total, "row key")))
	}
}

// kindOf returns the most frequent of the few values of a part whose rows have no columns in common, and how often each occurs; an
// empty one if they do.
func (k *key) kindOf(p *part) (kind string, counts map[string]int) {
	const most = 8
	counts = map[string]int{}
	of := map[string]string{} // columns
	for r, v := range p.values {
		if counts[v]++; len(counts) > most || !isWord(v) {
			return "", nil
		}
		for _, c := range k.rows[r].cells {
			column := c.family + ":" + c.qualifier
			if other, ok := of[column]; ok && other != v || len(of) > most*200 {
				return "", nil
			}
			of[column] = v
		}
	}
	for v, n := range counts {
		if n > counts[kind] || n == counts[kind] && v < kind {
			kind = v
		}
	}
	if len(counts) < 2 {
		return "", nil
	}
	return kind, counts
}

// empty reports whether all cells are empty.
func (k *key) empty() bool {
	return !slices.ContainsFunc(k.rows, func(r row) bool {
		return slices.ContainsFunc(r.cells, func(c cell) bool { return len(c.value) > 0 })
	})
}

// keep drops the rows in which a part has another value.
func (k *key) keep(part int, value string) {
	old := k.parts[part].values
	has := func(r int) bool { return old[r] == value }
	k.rows = filtered(k.rows, has)
	for _, p := range k.parts {
		p.values = filtered(p.values, has)
	}
}

// filtered returns the elements at the indexes that are kept.
func filtered[T any](all []T, keeps func(i int) bool) (out []T) {
	for i, v := range all {
		if keeps(i) {
			out = append(out, v)
		}
	}
	return out
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
var isWord = regexp.MustCompile(`^[A-Za-z_]+$`).MatchString

// differ reports whether there are several values.
func differ(values []string) bool {
	return slices.ContainsFunc(values, func(v string) bool { return v != values[0] })
}

// fixed returns guesses at keys of a fixed number of bytes: for each place and form of the
// time.
func (t *table) fixed(rows []row) (out []*key) {
	keys := &part{}
	for _, r := range rows {
		keys.values = append(keys.values, r.key)
	}
	width := keys.width()
	if width > 128 || !isBytes(keys.values) {
		return nil
	}
	for _, size := range []int{8, 4, 10, 13, 16, 19, 20} {
		for begin := 0; begin+size <= width; begin++ {
			values := keys.cut(begin, begin+size)
			for _, f := range timeForms(values) {
				if f.binary() != (size <= 8) || f.binary() != isBytes(values) || f.label() || !near(rows, f) {
					continue
				}
				k := &key{table: t, rows: rows, time: f, reason: fmt.Sprintf("all row keys have %d bytes, and a time from byte %d", width, begin)}
				k.chunk(keys, 0, begin)
				k.at = len(k.parts)
				k.add(values)
				k.chunk(keys, begin+size, width)
				out = append(out, k)
			}
		}
	}
	return out
}

// cut returns some bytes of all values.
func (p *part) cut(begin, end int) []string {
	out := make([]string, len(p.values))
	for i, v := range p.values {
		out[i] = v[begin:end]
	}
	return out
}

// near reports whether the times in keys are within ten years of the cells.
func near(rows []row, f *timeForm) bool {
	const years = 10 * 366 * 24 * 3600 * 1e6
	for i, r := range rows {
		if at := r.cells[0].at; plausible(codec.FromMicros(at)) && magnitude(at-f.at[i].UnixMicro()) > years {
			return false
		}
	}
	return true
}

// aligned returns of how many of a minute, an hour and a day all times in keys are multiples, if the keys are of fixed width: bytes
// that are no times hardly are.
func (k *key) aligned() (n int) {
	for _, seconds := range []int64{60, 3600, 86400} {
		if k.delimiter == "" && !slices.ContainsFunc(k.time.at, func(at time.Time) bool { return at.Unix()%seconds != 0 }) {
			n++
		}
	}
	return n
}

// add adds a part of all keys.
func (k *key) add(values []string) {
	k.parts = append(k.parts, &part{binary: true, values: values, distinct: len(dataOf(values).distinct(len(values)))})
}

// chunk adds the parts of some bytes of all keys. Numbers begin with zeros. Others are one
// part.
func (k *key) chunk(keys *part, begin, end int) {
	n := end - begin
	for _, size := range []int{4, 8, n} {
		numbers := n > size && n%size == 0
		for at := begin; numbers && at < end; at += size {
			words := keys.cut(at, at+size)
			numbers = all(words, func(w string) bool { return w[0] == 0 }) && !all(words, func(w string) bool { return strings.Trim(w, "\x00") == "" })
		}
		if !numbers && size != n || n == 0 {
			continue
		}
		for at := begin; at < end; at += size {
			k.add(keys.cut(at, at+size))
		}
		if !numbers && !slices.Contains([]int{1, 2, 3, 4, 8, 16}, n) {
			k.asks = append(k.asks, fmt.Sprintf("Is it one value, or several, that bytes %d to %d of the keys contain?", begin, end-1))
		}
		return
	}
}

// series is a series value, and its segment.
type series struct {
	name, typ string
	options   []string // of the segment
	example   string
	asks      []string
	part      *part
}

// segment returns the segment in the schema language.
func (s *series) segment() string {
	if len(s.options) == 0 {
		return s.name
	}
	return "{name: " + s.name + ", " + strings.Join(s.options, ", ") + "}"
}

// seriesOf returns the series value of a part.
func (k *key) seriesOf(i int) series {
	p := k.parts[i]
	s := series{name: nameOf(k, i), typ: "string", part: p}
	switch w, values := p.width(), dataOf(p.values); {
	case p.joined && values.all(text): // up to what follows, if anything
	case p.binary || k.delimiter == "" && isBytes(p.values):
		s.typ, s.options = binaryPart(p, w)
	case !all(p.values, utf8.ValidString):
		s.typ, s.options = "bytes", []string{"encoding: raw", "escape: true"}
		if w > 0 {
			s.options[1] = "pad: " + strconv.Itoa(w)
		}
	case codingOf(values, textIDs) != nil:
		s.typ = codingOf(values, textIDs).typ
	case values.all(intText.reads):
		if s.typ = "int64"; strings.Contains(k.delimiter, "-") {
			s.typ = "uint64" // the text of others may contain the delimiter
		}
	case all(p.values, isDigits) && w > 0 && w <= 18:
		s.typ, s.options = "int64", []string{"pad: " + strconv.Itoa(w)}
	case all(p.values, isDigits) && w == 0:
		s.asks = append(s.asks, "Some of these numbers have leading zeros, and their lengths differ: is it text?")
	}
	if p.joined && (i+1 < len(k.parts) || p.width() == 0 || !isBytes(p.values)) {
		s.options = append(s.options, "joined: true")
	}
	if s.typ == "string" || (s.typ == "int64" || s.typ == "uint64" && isDigits(p.values[0])) && p.values[0][0] != '0' {
		s.example = p.values[0]
	}
	return s
}

// binaryPart returns the type and the encoding of values with so many bytes.
func binaryPart(p *part, w int) (typ string, options []string) {
	c, positive := codingOf(dataOf(p.values), binaryIDs), all(p.values, func(v string) bool { return v[0] < 0x80 })
	switch {
	case c != nil:
		return c.typ, []string{"encoding: binary"}
	case (w == 4 || w == 8) && positive:
		return fmt.Sprintf("uint%d", 8*w), []string{"encoding: binary"}
	case w > 0:
		return "bytes", []string{"encoding: raw", "pad: " + strconv.Itoa(w)}
	case strings.Contains(p.values[0], "\x00"):
		return "bytes", []string{"encoding: raw"}
	}
	return "string", nil
}

// all reports whether all values have a property.
func all(values []string, has func(string) bool) bool {
	return !slices.ContainsFunc(values, func(v string) bool { return !has(v) })
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// salt returns the parts that the first of some is the salt of, as generated code computes it, and the number of salts; nil if it
// is none.
func (k *key) salt(indexes []int) (of []int, buckets int) {
	p, most := k.parts[0], 0
	if len(indexes) < 2 || len(indexes) > 7 || indexes[0] != 0 || p.distinct < 2 {
		return nil, 0
	}
	numbers := make([]int, len(p.values))
	for r, v := range p.values {
		n, ok := k.saltNumber(v)
		if !ok {
			return nil, 0
		}
		numbers[r], most = n, max(most, n)
	}
	others := indexes[1:]
	for subset := 1<<len(others) - 1; subset > 0; subset-- {
		of = nil
		for b, i := range others {
			if subset&(1<<b) != 0 {
				of = append(of, i)
			}
		}
		for buckets = most + 1; buckets <= 1000 && codec.SaltWidth(buckets, k.delimiter) <= p.width(); buckets++ {
			if codec.SaltWidth(buckets, k.delimiter) == p.width() && k.salted(numbers, of, buckets) {
				return of, buckets
			}
		}
	}
	return nil, 0
}

// saltNumber parses a salt.
func (k *key) saltNumber(v string) (int, bool) {
	if k.delimiter == "" {
		return int(bigEndian(v)), len(v) <= 2
	}
	n, err := strconv.Atoi(v)
	return n, err == nil && isDigits(v) && len(v) <= 3
}

// salted reports whether numbers are the salts of parts.
func (k *key) salted(numbers, of []int, buckets int) bool {
	parts := make([]string, len(of))
	for r, n := range numbers {
		for b, i := range of {
			parts[b] = k.parts[i].values[r]
		}
		if n != codec.Salt(buckets, parts...) {
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
