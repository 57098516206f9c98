package infer

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
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
	time      *timeForm // nil if there is none
	lag       *lag      // of the time
	questions           // about the whole key
	reason    string
}

// part is a part of the row keys, with what is observed of its values.
type part struct {
	values   []string // one for each row
	binary   bool     // a fixed number of bytes, which may contain the delimiter
	joined   bool     // the next part follows without a delimiter
	constant bool     // the value never differs from that of other kinds of rows

	distinct int
	width    int  // the number of bytes of all values; 0 if it varies
	digits   bool // whether all values consist of digits
	text     bool // whether all values are text
	forms    []*timeForm
}

// observe sets what is observed of the values.
func (p *part) observe() *part {
	values := dataOf(p.values)
	p.distinct, p.width, p.forms = len(values.distinct(len(values))), len(values[0]), timeForms(p.values)
	if !all(p.values, func(v string) bool { return len(v) == p.width }) {
		p.width = 0
	}
	p.digits, p.text = all(p.values, isDigits), values.all(text)
	return p
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
// those whose time agrees with the cells, then those with a likelier delimiter.
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
	return out[:min(len(out), maxTries)]
}

// compareKeys compares hypotheses that the keys bear out; the likelier one is less.
func compareKeys(a, b *key) int {
	return cmp.Or(a.disagrees()-b.disagrees(), slices.Index(delimiters, a.delimiter)-slices.Index(delimiters, b.delimiter))
}

// disagrees returns how badly the time disagrees with the cells, from 0.
func (k *key) disagrees() int {
	switch {
	case k.time == nil:
		return 4
	case k.time.bucket != nil:
		return 1
	}
	return []int{0, 2, 3, 5}[k.lag.class()]
}

type cutKey struct {
	row
	parts []string
}

// cut cuts keys into parts. The last one is a time of tail bytes, unless that is 0. It returns nil if less than half
// of the keys have the same number of parts.
func (t *table) cut(rows []row, delimiter string, tail int) []*key {
	var cuts []cutKey
	counts, n := make([]int, maxParts+1), 0
	for _, r := range rows {
		parts := splitKey(r.key, delimiter, tail)
		if cuts = append(cuts, cutKey{r, parts}); len(parts) <= maxParts {
			counts[len(parts)]++
		}
	}
	for count := range counts {
		if count > 0 && counts[count]*2 >= len(rows) {
			n = count
		}
	}
	cuts = slices.DeleteFunc(cuts, func(c cutKey) bool { return len(c.parts) != n || slices.Contains(c.parts, "") })
	if n == 0 || len(cuts)*2 < len(rows) {
		return nil
	}
	k := &key{table: t, delimiter: delimiter, whole: delimiter == "", at: -1, reason: "row keys have no delimiter"}
	for i := range n {
		k.parts = append(k.parts, &part{binary: tail > 0 && i == n-1, joined: k.whole && i == 0})
	}
	all := len(cuts)
	if !k.whole {
		k.reason = fmt.Sprintf("%s have %d parts with the delimiter %q", share(all, len(rows), "row key"), n, k.delimiter)
		cuts = k.ofOneKind(cuts)
	}
	for _, c := range cuts {
		k.rows = append(k.rows, c.row)
		for i, v := range c.parts {
			k.parts[i].values = append(k.parts[i].values, v)
		}
	}
	for _, p := range k.parts {
		p.observe()
	}
	first, last := k.parts[0], k.parts[n-1]
	if all < len(rows) && !k.whole {
		first.constant = first.constant || 1 < all && len(k.rows) == all && isWord(first.values[0]) && first.distinct == 1
		k.ask(true, "%s have another structure. Which schemas are for them?", share(len(rows)-all, len(rows), "row key"))
	}
	out := k.timed()
	if tail > 0 && (last.text || k.whole && (!first.text || out[0].time == nil)) {
		return nil
	}
	return out
}

// splitKey splits one key at a delimiter, unless that is empty; nil if it has none. The last tail bytes may contain the delimiter.
func splitKey(key, delimiter string, tail int) (parts []string) {
	if len(key) <= tail {
		return nil
	}
	head, end := key[:len(key)-tail], key[len(key)-tail:]
	if tail > 0 && !strings.HasSuffix(head, delimiter) || tail == 0 && !strings.Contains(head, delimiter) {
		return nil
	}
	switch {
	case delimiter == "":
		parts = []string{head}
	case tail == 0:
		return strings.Split(head, delimiter)
	default:
		parts = strings.Split(strings.TrimSuffix(head, delimiter), delimiter)
	}
	if tail > 0 {
		parts = append(parts, end)
	}
	return parts
}

// timed returns the key with each part that may be the time, the likeliest first; with none if there is none.
func (k *key) timed() (out []*key) {
	for i, p := range k.parts {
		var as []*key
		for _, f := range p.forms {
			if f.binary() == p.binary {
				as = append(as, k.with(i, f))
			}
		}
		if len(as) > 0 {
			out = append(out, slices.MinFunc(as, compareKeys))
		}
		if f := countedForm(k.rows, p); f != nil && !p.binary {
			out = append(out, k.with(i, f))
		}
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
	if f != nil {
		with.lag = lagOf(k.rows, f)
	}
	return &with
}

// ofOneKind returns the rows of one kind, if a part tells kinds of rows apart. Others of all rows have another structure.
func (k *key) ofOneKind(cuts []cutKey) []cutKey {
	for i, p := range k.parts {
		counts, kind := kindsOf(cuts, i), ""
		if len(counts) < 2 {
			continue
		}
		var shown []string
		for _, v := range slices.Sorted(maps.Keys(counts)) {
			if shown = append(shown, fmt.Sprintf("%s (%d)", schema.Quoted(v), counts[v])); counts[v] > counts[kind] {
				kind = v
			}
		}
		cuts = slices.DeleteFunc(cuts, func(c cutKey) bool { return c.parts[i] != kind })
		p.constant = true
		k.ask(true, "Part %d of the keys tells kinds of rows apart: %s. This schema is for %s; which schemas are for the others?", i+1, strings.Join(shown, ", "), schema.Quoted(kind))
	}
	return cuts
}

// kindsOf returns how often each of the few values of a part occurs whose rows have no columns in common; nil if they do.
// Empty cells have columns that are named after values.
func kindsOf(cuts []cutKey, part int) map[string]int {
	const most = 8
	counts, of, full := map[string]int{}, map[columnOf]string{}, false // the kinds of columns
	for _, r := range cuts {
		v := r.parts[part]
		if counts[v]++; len(counts) > most || !isWord(v) {
			return nil
		}
		for _, c := range r.cells {
			if other, ok := of[c.columnOf]; ok && other != v || len(of) > most*200 {
				return nil
			}
			of[c.columnOf], full = v, full || len(c.value) > 0
		}
	}
	if !full {
		return nil
	}
	return counts
}

func (k *key) empty() bool {
	return !slices.ContainsFunc(k.rows, func(r row) bool {
		return slices.ContainsFunc(r.cells, func(c cell) bool { return len(c.value) > 0 })
	})
}

// isWord reports whether a value is a word of letters.
var isWord = regexp.MustCompile(`^[A-Za-z_]+$`).MatchString

// fixed returns guesses at keys of a fixed number of bytes: for each place and form of the time.
func (t *table) fixed(rows []row) (out []*key) {
	const longest = 128
	keys := &part{}
	for _, r := range rows {
		keys.values = append(keys.values, r.key)
	}
	if keys.observe(); keys.width > longest || keys.text {
		return nil
	}
	for _, size := range []int{8, 4, 10, 13, 16, 19, 20} {
		for begin := 0; begin+size <= keys.width; begin++ {
			of := keys.slice(begin, begin+size)
			if len(timeForms(of.values)) == 0 {
				continue
			}
			for _, f := range of.observe().forms {
				if f.binary() != (size <= 8) || f.binary() == of.text || f.named() {
					continue
				}
				k := &key{table: t, rows: rows, reason: fmt.Sprintf("all row keys have %d bytes, and a time from byte %d", keys.width, begin)}
				k.chunk(keys, 0, begin)
				k.parts = append(k.parts, of)
				k = k.with(len(k.parts)-1, f)
				if k.chunk(keys, begin+size, keys.width); len(k.lag.all) == 0 || k.lag.within(-10*year, 10*year) {
					out = append(out, k)
				}
			}
		}
	}
	return out
}

func (p *part) slice(begin, end int) *part {
	out := &part{binary: true}
	for _, v := range p.values {
		out.values = append(out.values, v[begin:end])
	}
	return out
}

// chunk adds the parts of some bytes of all keys. Numbers begin with zeros. Others are one part.
func (k *key) chunk(keys *part, begin, end int) {
	n := end - begin
	isNumber := func(p *part) bool {
		return all(p.values, func(w string) bool { return w[0] == 0 }) && !all(p.values, func(w string) bool { return strings.Trim(w, "\x00") == "" })
	}
	for _, size := range []int{4, 8, n} {
		if n == 0 || n%size != 0 || n < size {
			continue
		}
		var parts []*part
		for at := begin; at < end; at += size {
			parts = append(parts, keys.slice(at, at+size).observe())
		}
		if size < n && slices.ContainsFunc(parts, func(p *part) bool { return !isNumber(p) }) {
			continue
		}
		if k.parts = append(k.parts, parts...); len(parts) == 1 && !slices.Contains([]int{1, 2, 3, 4, 8, 16}, n) {
			k.ask(true, "Is it one value, or several, that bytes %d to %d of the keys contain?", begin, end-1)
		}
		return
	}
}

// typeOf returns the type of the series value that a part is, the options of its segment, and a question about it.
func (k *key) typeOf(i int) (typ string, options []string, ask string) {
	p := k.parts[i]
	values, pad, isText := dataOf(p.values), "pad: "+strconv.Itoa(p.width), all(p.values, utf8.ValidString)
	inBytes := p.binary || k.delimiter == "" && !p.text
	switch typ = "string"; {
	case p.joined && p.text: // up to what follows, if anything
	case inBytes && values.all(idBytes.reads):
		typ, options = idBytes.typ, []string{"encoding: binary"}
	case inBytes && (p.width == 4 || p.width == 8) && all(p.values, func(v string) bool { return v[0] < 0x80 }):
		typ, options = fmt.Sprintf("uint%d", 8*p.width), []string{"encoding: binary"}
	case (inBytes || !isText) && p.width > 0:
		typ, options = "bytes", []string{"encoding: raw", pad}
	case inBytes && strings.Contains(p.values[0], "\x00"):
		typ, options = "bytes", []string{"encoding: raw"}
	case inBytes:
	case !isText:
		typ, options = "bytes", []string{"encoding: raw", "escape: true"}
	case values.all(idText.reads):
		typ = idText.typ
	case values.all(intText.reads):
		if typ = "int64"; strings.Contains(k.delimiter, "-") {
			typ = "uint64" // the text of others may contain the delimiter
		}
	case p.digits && p.width > 0 && p.width <= 18:
		typ, options = "int64", []string{pad}
	case p.digits && p.width == 0:
		ask = "Some of these numbers have leading zeros, and their lengths differ: is it text?"
	}
	if p.joined && (i+1 < len(k.parts) || p.width == 0 || p.text) {
		options = append(options, "joined: true")
	}
	return typ, options, ask
}

func all(values []string, has func(string) bool) bool {
	return !slices.ContainsFunc(values, func(v string) bool { return !has(v) })
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// salt returns the parts of which the first of some is the salt, and the number of salts; nil if it is none.
func (k *key) salt(indexes []int) (of []int, buckets int) {
	const most, mostBuckets, widest = 7, 1000, 3
	p, largest := k.parts[0], 0
	if len(indexes) < 2 || len(indexes) > most || indexes[0] != 0 || p.distinct < 2 || p.width == 0 || p.width > widest || k.delimiter != "" && !p.digits {
		return nil, 0
	}
	numbers := make([]int, len(p.values))
	for r, v := range p.values {
		if numbers[r] = int(bigEndian(v)); k.delimiter != "" {
			numbers[r], _ = strconv.Atoi(v)
		}
		largest = max(largest, numbers[r])
	}
	others := indexes[1:]
	for subset := 1<<len(others) - 1; subset > 0; subset-- {
		of = nil
		for b, i := range others {
			if subset&(1<<b) != 0 {
				of = append(of, i)
			}
		}
		for buckets = largest + 1; buckets <= mostBuckets; buckets++ {
			if codec.SaltWidth(buckets, k.delimiter) == p.width && k.salted(numbers, of, buckets) {
				return of, buckets
			}
		}
	}
	return nil, 0
}

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

func share(n, of int, thing string) string {
	if n == of {
		return fmt.Sprintf("all %d %ss", of, thing)
	}
	return fmt.Sprintf("%d of %d %ss", n, of, thing)
}
