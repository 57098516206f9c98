package lock

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Problem is the kind of an [Error].
type Problem int

// The problems.
const (
	Damaged    Problem = iota // something other than btgen has changed it
	Conflicted                // it has conflict markers of a merge
	Newer                     // a newer btgen wrote it
)

// Error is the error for a btgen.lock that cannot be used.
type Error struct {
	File    string
	Line    int // from 1; 0 if the problem concerns the whole file
	Problem Problem
	Reason  string
}

// Error names the place, the problem and what to do.
func (e *Error) Error() string {
	at := e.File
	if e.Line > 0 {
		at = fmt.Sprintf("%s:%d", e.File, e.Line)
	}
	switch e.Problem {
	case Conflicted:
		if e.Reason != "" {
			return fmt.Sprintf("%s: both sides of the merge contradict each other: %s: abort the merge; on the branch that has stored no such events, run git checkout OTHER -- %s, change its schema, run btgen generate, and merge again", at, e.Reason, e.File)
		}
		return fmt.Sprintf("%s: unresolved merge conflict, of which git does not have both sides: restore them with git checkout -m -- %[2]s; once the merge is committed, with git checkout HEAD^ -- %[2]s; then run btgen generate", at, e.File)
	case Newer:
		return fmt.Sprintf("%s: %s: update btgen", at, e.Reason)
	}
	return fmt.Sprintf("%s: the file was modified: %s: restore it, for example with git checkout HEAD -- %s, and run btgen generate", at, e.Reason, e.File)
}

var versionLine = regexp.MustCompile(`^# btgen\.lock v([0-9]{1,9})\b`)

// Parse parses the content of a file. The error is an *Error.
func Parse(file string, text []byte) (*Lock, error) {
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) // version control may have changed them
	p := parser{file: file}
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "<<<<<<< ") || strings.HasPrefix(line, ">>>>>>> ") {
			return nil, &Error{File: file, Line: i + 1, Problem: Conflicted}
		}
	}
	switch m := versionLine.FindStringSubmatch(lines[0]); {
	case m == nil:
		return nil, &Error{File: file, Line: 1, Reason: "the first line is not that of a btgen.lock"}
	case m[1] != itoa(version):
		return nil, &Error{File: file, Line: 1, Problem: Newer, Reason: "version " + m[1] + " of the file format requires a newer btgen"}
	}
	for i, line := range lines {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := p.line(line); err != nil {
			return nil, &Error{File: file, Line: i + 1, Reason: err.Error()}
		}
	}
	return p.finish(lines)
}

// parser collects the facts of a file.
type parser struct {
	file string
	lock Lock
}

// finish returns the lock if writing it again results in the same lines.
func (p *parser) finish(lines []string) (*Lock, error) {
	for i := range p.lock.Tables {
		if t := &p.lock.Tables[i]; len(t.Layouts) == 0 || len(t.Layouts[0].Families) == 0 || t.Schema == "" {
			return nil, &Error{File: p.file, Reason: fmt.Sprintf("table %s lacks lines", t.Name)}
		}
	}
	if err := p.merged(); err != nil {
		return nil, err
	}
	want := strings.Split(string(p.lock.Text()), "\n")
	for i, line := range lines {
		if i < len(want) && line == want[i] {
			continue
		}
		return nil, &Error{File: p.file, Line: i + 1, Reason: "a line was edited, moved or removed"}
	}
	if len(lines) != len(want) {
		return nil, &Error{File: p.file, Reason: "lines are missing"}
	}
	return &p.lock, nil
}

// merged returns an error if two tables serve one read: version control then merged two changes
// that are in different places of the file, but contradict each other.
func (p *parser) merged() error {
	type read struct{ schema, name string }
	by := map[read]*Table{}
	for i := range p.lock.Tables {
		t := &p.lock.Tables[i]
		for _, name := range t.Serves {
			r := read{t.Schema, name}
			if other := by[r]; other != nil && other != t {
				return &Error{File: p.file, Problem: Conflicted, Reason: fmt.Sprintf("%s of %s is served by table %s, and by table %s", name, t.Schema, other.Name, t.Name)}
			}
			by[r] = t
		}
	}
	return nil
}

// line parses a line, except for its checksum, which finish compares.
func (p *parser) line(line string) error {
	words, err := split(line)
	if err != nil {
		return err
	}
	name, family, ok := strings.Cut(words[0], "/")
	if !ok || len(words) < 3 {
		return fmt.Errorf("the line contains no fact about a table")
	}
	t := p.table(name, family)
	w := &reader{words: words[2:]}
	if t.read(words[1], w) {
		return w.done()
	}
	n, err := strconv.Atoi(words[1])
	if err != nil || n < 1 {
		return fmt.Errorf("%q is not a layout number", words[1])
	}
	if len(t.Layouts) == 0 || t.Layouts[len(t.Layouts)-1].Number != n {
		t.Layouts = append(t.Layouts, Layout{Number: n})
	}
	w = &reader{words: words[3:]}
	t.Layouts[len(t.Layouts)-1].read(words[2], w)
	return w.done()
}

// read reads a fact that is not about a layout. It reports whether it is one.
func (t *Table) read(fact string, r *reader) bool {
	switch fact {
	case "sum":
		r.words = nil // see finish
	case "schema":
		t.Schema = r.next()
	case "removed":
		t.Removed = r.quoted()
	case "accepted":
		t.Accepted = append(t.Accepted, Acceptance{r.quoted(), r.quoted()})
	case "lacks":
		reason := Lack(r.next())
		if !slices.Contains(Lacks, reason) {
			r.fail("%q is unknown", reason)
		}
		t.Lacks = append(t.Lacks, reason)
	case "serves":
		t.Serves = append(t.Serves, r.next())
	default:
		return false
	}
	return true
}

// table returns the table that a line is about. The lines of a table are consecutive.
func (p *parser) table(name, family string) *Table {
	if n := len(p.lock.Tables); n > 0 && p.lock.Tables[n-1].Name == name && p.lock.Tables[n-1].Family == family {
		return &p.lock.Tables[n-1]
	}
	p.lock.Tables = append(p.lock.Tables, Table{Name: name, Family: family})
	return &p.lock.Tables[len(p.lock.Tables)-1]
}

// split splits a line at spaces outside of quotes.
func split(line string) ([]string, error) {
	var out []string
	for line != "" {
		end := strings.IndexByte(line, ' ')
		if q := strings.IndexByte(line, '"'); q >= 0 && (end < 0 || q < end) {
			quoted, err := strconv.QuotedPrefix(line[q:])
			if err != nil {
				return nil, fmt.Errorf("a quoted string is not terminated")
			}
			end = q + len(quoted)
			if end == len(line) {
				end = -1
			}
		}
		if end < 0 {
			return append(out, line), nil
		}
		if line[end] != ' ' {
			return nil, fmt.Errorf("a space is missing")
		}
		out, line = append(out, line[:end]), line[end+1:]
	}
	return out, nil
}

func unquote(word string) (string, error) {
	s, err := strconv.Unquote(word)
	if err != nil {
		return "", fmt.Errorf("%s is not a quoted string", word)
	}
	return s, nil
}

// reader reads the words of a fact. Errors are sticky.
type reader struct {
	words []string
	err   error
}

func (r *reader) done() error {
	if r.err == nil && len(r.words) > 0 {
		return fmt.Errorf("%q is unknown", r.words[0])
	}
	return r.err
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// next returns the next word.
func (r *reader) next() string {
	if len(r.words) == 0 {
		r.fail("a word is missing")
		return ""
	}
	word := r.words[0]
	r.words = r.words[1:]
	return word
}

func (r *reader) quoted() string {
	s, err := unquote(r.next())
	if err != nil {
		r.fail("%v", err)
	}
	return s
}

func (r *reader) int() int {
	n, err := strconv.Atoi(r.next())
	if err != nil {
		r.fail("a number is missing")
	}
	return n
}

// flag reports whether the next word is the given one, and skips it.
func (r *reader) flag(word string) bool {
	if len(r.words) == 0 || r.words[0] != word {
		return false
	}
	r.words = r.words[1:]
	return true
}

// option returns the value of the next word if it is that of an option.
func (r *reader) option(name string) (string, bool) {
	if len(r.words) == 0 {
		return "", false
	}
	value, ok := strings.CutPrefix(r.words[0], name+"=")
	if !ok {
		return "", false
	}
	r.words = r.words[1:]
	return value, true
}

func (r *reader) duration(text string) time.Duration {
	d, err := schema.ParseDuration(text)
	if err != nil {
		r.fail("%q is not a duration", text)
	}
	return d
}

// read reads a fact.
func (l *Layout) read(fact string, r *reader) {
	switch fact {
	case "accepted":
		l.Accepted = append(l.Accepted, Acceptance{r.quoted(), r.quoted()})
	case "since":
		word := r.next()
		at, err := time.Parse(time.RFC3339Nano, word)
		if err != nil {
			r.fail("%q is not a time", word)
		}
		l.Since = at.UTC()
	case "table":
		l.Table = r.quoted()
	case "pattern":
		name := r.next()
		if l.Pattern = codec.ParsePattern(name); l.Pattern == 0 {
			r.fail("%q is not a pattern", name)
		}
	case "precision":
		l.Precision = r.duration(r.next())
	case "delimiter":
		l.Delimiter = r.quoted()
	case "key":
		l.readSegment(r)
	case "bucket":
		l.Bucket = readBucket(r)
	case "time":
		l.TimeKey = readTime(r)
	case "sequence":
		l.Sequence = true
	case "blob":
		l.Blob, l.BlobColumn = layout.Format(r.next()), r.quoted()
	case "family":
		l.Families = append(l.Families, readFamily(r))
	case "column", "number", "name":
		l.readColumn(r)
	default:
		r.fail("%q is unknown", fact)
	}
}

// readSegment reads a segment, or a value of its enum.
func (l *Layout) readSegment(r *reader) {
	n := r.int()
	kind := r.next()
	if kind == "enum" && n == len(l.Segments) && n > 0 {
		g := &l.Segments[n-1]
		g.Enum = append(g.Enum, readValue(r))
		return
	}
	if n != len(l.Segments)+1 {
		r.fail("segment %d is out of order", n)
	}
	var g Segment
	switch kind {
	case "const":
		g.Kind, g.Const = codec.ConstSegment, r.quoted()
		g.Tells = r.flag("kind")
	case "bucket":
		g.Kind = codec.BucketSegment
	case "time":
		g.Kind = codec.TimeSegment
	case "metric":
		g.Kind = codec.MetricSegment
	case "sequence":
		g.Kind = codec.SequenceSegment
	case "salt":
		g.Kind, g.Buckets = codec.SaltSegment, r.int()
		for len(r.words) > 0 && r.err == nil {
			g.Salted = append(g.Salted, r.quoted())
		}
	case "series":
		g.Name, g.Type = r.quoted(), r.typ(r.next())
		encoding, err := codec.ParseKeyEncoding(r.next())
		if err != nil {
			r.fail("%v", err)
		}
		g.Form.Encoding = encoding
		if pad, ok := r.option("pad"); ok {
			g.Form.Pad, _ = strconv.Atoi(pad)
		}
		g.Form.Reverse, g.Form.Escape = r.flag("reverse"), r.flag("escape")
	default:
		r.fail("%q is not a segment kind", kind)
	}
	if g.Kind != codec.SaltSegment {
		g.Joined = r.flag("joined")
	}
	l.Segments = append(l.Segments, g)
}

// typ parses a type.
func (r *reader) typ(name string) schema.Type {
	for _, t := range schema.Types() {
		if t.String() == name {
			return t
		}
	}
	r.fail("%q is not a type", name)
	return schema.Invalid
}

func readValue(r *reader) EnumValue {
	n, err := strconv.ParseInt(r.next(), 10, 64)
	if err != nil {
		r.fail("the number of an enum value is missing")
	}
	return EnumValue{Number: n, Name: r.quoted(), Retired: r.flag("retired")}
}

func readBucket(r *reader) codec.Bucket {
	var b codec.Bucket
	width := r.next()
	if width == noBucket {
		return codec.Bucket{Months: codec.AllTime, Label: codec.Label{Kind: codec.NoLabel}}
	}
	switch months, years := strings.CutSuffix(width, "y"); {
	case years:
		n, err := strconv.Atoi(months)
		b.Months = 12 * n
		if err != nil {
			r.fail("%q is not a width", width)
		}
	case strings.HasSuffix(width, "mo"):
		n, err := strconv.Atoi(strings.TrimSuffix(width, "mo"))
		b.Months = n
		if err != nil {
			r.fail("%q is not a width", width)
		}
	default:
		b.Every = r.duration(width)
	}
	label, err := codec.ParseLabel(r.quoted())
	if err != nil {
		r.fail("%v", err)
	}
	b.Label = label
	if origin, ok := r.option("origin"); ok {
		if b.Origin, err = time.Parse(time.RFC3339Nano, origin); err != nil {
			r.fail("%q is not a time", origin)
		}
	}
	b.Label.Format = r.reversed(b.Label.Format)
	return b
}

func readTime(r *reader) codec.TimeFormat {
	f, err := codec.ParseTimeFormat(r.quoted())
	if err != nil {
		r.fail("%v", err)
	}
	return r.reversed(f)
}

// reversed reads what reverseWords wrote.
func (r *reader) reversed(f codec.TimeFormat) codec.TimeFormat {
	from := codec.Largest
	if name, ok := r.option("reverse"); ok {
		m, err := codec.ParseMinuend(name)
		if err != nil {
			r.fail("%v", err)
		}
		from = m
	} else if !r.flag("reverse") {
		return f
	}
	out, err := f.Reversed(from)
	if err != nil {
		r.fail("%v", err)
	}
	return out
}

func readFamily(r *reader) Family {
	f := Family{Name: r.next(), GC: r.rule(r.next())}
	stamp := slices.Index(stamps, r.next())
	if stamp < 0 {
		r.fail("the meaning of the timestamps is missing")
	}
	f.Timestamp = codec.TimestampSource(max(stamp, 0))
	if text, ok := r.option("default"); ok {
		f.Default = r.duration(text)
	}
	f.Class = r.flag("class")
	return f
}

// rule parses the output of ruleText.
func (r *reader) rule(text string) codec.GCRule {
	for prefix, kind := range map[string]codec.GCKind{"any_of(": codec.GCUnion, "all_of(": codec.GCIntersection} {
		inner, ok := strings.CutPrefix(text, prefix)
		if !ok || !strings.HasSuffix(inner, ")") {
			continue
		}
		out := codec.GCRule{Kind: kind}
		for _, part := range arguments(strings.TrimSuffix(inner, ")")) {
			out.Rules = append(out.Rules, r.rule(part))
		}
		return out
	}
	if age, ok := strings.CutPrefix(text, "max_age="); ok {
		return codec.GCRule{Kind: codec.GCMaxAge, MaxAge: r.duration(age)}
	}
	if versions, ok := strings.CutPrefix(text, "max_versions="); ok {
		n, err := strconv.Atoi(versions)
		if err != nil {
			r.fail("%q is not a number of versions", versions)
		}
		return codec.GCRule{Kind: codec.GCMaxVersions, MaxVersions: n}
	}
	if text != "forever" {
		r.fail("%q is not a rule", text)
	}
	return codec.GCRule{}
}

// arguments splits a list at commas outside of parentheses.
func arguments(text string) []string {
	var out []string
	depth, begin := 0, 0
	for i, c := range text {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			out, begin = append(out, text[begin:i]), i+1
		}
	}
	return append(out, text[begin:])
}

// readColumn reads a column, or a value of its enum.
func (l *Layout) readColumn(r *reader) {
	key := r.quoted()
	typ := r.next()
	if n := len(l.Columns); typ == "enum" && n > 0 && l.Columns[n-1].Key == key && len(r.words) > 0 && startsNumber(r.words[0]) {
		l.Columns[n-1].Enum = append(l.Columns[n-1].Enum, readValue(r))
		return
	}
	c := Column{Key: key, Written: typ == "written_at"}
	if !c.Written {
		c.Type = r.typ(typ)
	}
	if field, ok := r.option("field"); ok {
		var err error
		if c.Field, err = unquote(field); err != nil {
			r.fail("%v", err)
		}
	}
	c.Family, _ = r.option("family")
	for v := codec.TextValues; v <= codec.OpenTSDBValues; v++ {
		if r.flag(v.String()) {
			c.Values = v
		}
	}
	c.Optional = r.flag("optional")
	if text, ok := r.option("default"); ok {
		value, err := unquote(text)
		if err != nil {
			r.fail("%v", err)
		}
		c.Default = &value
	}
	if text, ok := r.option("was"); ok {
		value, err := unquote(text)
		if err != nil {
			r.fail("%v", err)
		}
		c.Was = value
	}
	c.Retired = r.flag("retired")
	l.Columns = append(l.Columns, c)
}

// startsNumber reports whether a word begins like a number, such as that of an enum value.
func startsNumber(word string) bool {
	return word != "" && strings.Trim(word[:1], "-0123456789") == ""
}
