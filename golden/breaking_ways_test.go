package golden

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/evolve"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// code matches text to paste in a hint.
var code = regexp.MustCompile("`([^`]*)`")

// alternative separates the ways out of a hint.
var alternative = regexp.MustCompile("; or |, or (?:write|give)|; otherwise, ")

// TestBreakingWays pastes every way out of every finding of the catalog into the schema of its
// case, and then those of what is found after that: in the end, the schema has no errors, the
// finding is gone, and no other of its class has come.
func TestBreakingWays(t *testing.T) {
	pasted := 0
	for _, e := range testlong.Sample(edits(t), 4) {
		_, c := e.compare(t)
		before := dataOf(c)
		for _, f := range c.Findings {
			if f.Rule.Class != evolve.Data {
				continue
			}
			for _, way := range alternative.Split(f.Diagnostic.Hint, -1) {
				text := e.text(f).paste(way)
				if text == "" {
					continue
				}
				pasted++
				if other := c.Findings; f.Diagnostic.Rule == "E17" && strings.HasPrefix(way, "restore") { // two fields exchange places
					for _, o := range other {
						if o.Name != f.Name && o.Diagnostic.Rule == f.Diagnostic.Rule {
							both := e.text(o)
							both.lines = strings.Split(text, "\n")
							text = both.paste(o.Diagnostic.Hint)
						}
					}
				}
				left, err := e.settle(t, text, f, 4)
				left = slices.DeleteFunc(left, func(name string) bool { return name != f.Name && slices.Contains(before, name) })
				if err != nil || len(left) > 0 {
					t.Errorf("%s: %s: %q: still %q, %v", e.name, f.Name, way, left, err)
				}
			}
		}
	}
	if pasted < testlong.Pick(30, 130) {
		t.Errorf("%d ways", pasted)
	}
}

// settle replaces the last version of an edit, and pastes the first way out of each finding, up to
// a number of times. It returns the names of what is left.
func (e edit) settle(t *testing.T, text string, of evolve.Finding, times int) ([]string, error) {
	last := e.versions[len(e.versions)-1]
	in := gen.Input{Name: last.Name, Text: []byte(text)}
	fixed := e
	fixed.versions = append(slices.Clone(e.versions[:len(e.versions)-1]), in)
	if r := gen.Resolve([]gen.Input{in}); r.Diagnostics.HasErrors() {
		return nil, r.Diagnostics
	}
	_, after := fixed.compare(t)
	after.Findings = slices.DeleteFunc(after.Findings, func(f evolve.Finding) bool { // that a field is back is to be accepted
		return strings.HasPrefix(f.Diagnostic.Hint, "if no event was written again")
	})
	for _, f := range after.Findings {
		if f.Rule.Class != evolve.Data || times == 0 {
			continue
		}
		if f.Diagnostic.Rule == "E17" && strings.Contains(of.Diagnostic.Hint, "accept E17") {
			return nil, nil
		}
		for _, way := range alternative.Split(f.Diagnostic.Hint, -1) {
			if next := fixed.text(f).paste(way); next != "" {
				return fixed.settle(t, next, of, times-1)
			}
		}
	}
	return dataOf(after), nil
}

func dataOf(c *evolve.Comparison) []string {
	var out []string
	for _, f := range c.Findings {
		if f.Rule.Class == evolve.Data && !f.Rule.NoAccept {
			out = append(out, f.Name)
		}
	}
	return out
}

// pasteboard is a schema with the place of a finding.
type pasteboard struct {
	lines []string
	line  int    // of the finding, from 0
	table string // of the finding
}

func (e edit) text(f evolve.Finding) *pasteboard {
	_, name, _ := strings.Cut(f.Name, ":")
	table, _, _ := strings.Cut(name, "/")
	text := string(e.versions[len(e.versions)-1].Text)
	return &pasteboard{strings.Split(text, "\n"), f.Diagnostic.Pos.Line - 1, table}
}

var (
	fieldText = regexp.MustCompile(`^\w+: \{type: `)
	attribute = regexp.MustCompile(`^(type|values|default|optional|column|number|of|was|family): `)
	ofTable   = regexp.MustCompile(`^(pattern|key|bucket|blob|ttl|family|since|rollup): `)
)

// paste returns the schema with all that a way out says; empty if it says nothing to paste.
func (p *pasteboard) paste(way string) string {
	way, beside, _ := strings.Cut(way, "\n")
	if strings.Contains(way, "with all that the schema had") {
		return ""
	}
	done := false
	for _, m := range code.FindAllStringSubmatch(way, -1) {
		text := m[1]
		before := way[:strings.Index(way, m[0])]
		switch isField := p.line >= 0 && fieldLine.MatchString(p.lines[p.line]) && !strings.HasPrefix(p.lines[p.line], "    "); {
		case strings.HasSuffix(before, "remove ") && isField:
			p.lines[p.line] = without1(p.lines[p.line], text)
		case strings.HasSuffix(before, "remove "):
			p.lines = slices.DeleteFunc(p.lines, func(line string) bool { return strings.TrimSpace(line) == text })
		case fieldText.MatchString(text):
			p.field(text, strings.Contains(way, "another name"))
		case strings.HasPrefix(text, "before: "):
			p.inTable("since: 2029-01-01")
			p.inTable(text)
		case strings.HasPrefix(text, "time: "):
			i := slices.IndexFunc(p.lines, func(line string) bool { return strings.HasPrefix(line, "time: ") })
			p.lines[i] = text
		case strings.HasPrefix(text, "values: ") && p.has("values"):
			p.inTable(text)
		case strings.HasSuffix(before, "without "):
			p.lines = slices.DeleteFunc(p.lines, func(line string) bool { return strings.HasPrefix(line, "    "+text+":") })
		case isField && strings.HasPrefix(text, "was: ") && !strings.Contains(way, "leave") && !strings.HasPrefix(way, "name the type"):
			p.lines[p.line] = with1(p.lines[p.line], joinedWas(p.lines[p.line], text))
		case isField && attribute.MatchString(text):
			if strings.HasPrefix(text, "type: ") {
				p.lines[p.line] = without1(p.lines[p.line], "example:") // it is one of the other type
			}
			p.lines[p.line] = with1(p.lines[p.line], text)
		case ofTable.MatchString(text):
			p.inTable(text)
		default:
			continue
		}
		done = true
	}
	if beside != "" {
		i := slices.Index(p.lines, "queries:")
		if i < 0 {
			i = len(p.lines) - 1
		}
		var lines []string
		for _, line := range strings.Split(beside, "\n") {
			lines = append(lines, "  "+line)
		}
		p.lines, done = slices.Insert(p.lines, i, lines...), true
	}
	if !done {
		return ""
	}
	return strings.Join(p.lines, "\n")
}

var fieldLine = regexp.MustCompile(`^  (\w+):\s+(.*)$`)

// field adds a field, or replaces the one of its name; one with another name replaces that of the
// finding if the text says where older events have it.
func (p *pasteboard) field(text string, renamed bool) {
	name, _, _ := strings.Cut(text, ":")
	i := slices.IndexFunc(p.lines, func(line string) bool { return strings.HasPrefix(line, "  "+name+":") })
	switch {
	case i >= 0:
		p.lines[i] = "  " + text
	case strings.Contains(text, "was: ") || renamed:
		p.lines[p.line] = "  " + text
	default:
		p.lines = slices.Insert(p.lines, max(0, p.line)+1, "  "+text)
	}
}

var wasList = regexp.MustCompile(`was: \[(.*)\]`)

// joinedWas returns was with the entries that a field has, too.
func joinedWas(line, text string) string {
	has, more := wasList.FindStringSubmatch(line), wasList.FindStringSubmatch(text)
	if has == nil {
		return text
	}
	return "was: [" + has[1] + ", " + more[1] + "]"
}

// has reports whether the table has a key.
func (p *pasteboard) has(key string) bool {
	begin := slices.Index(p.lines, "  "+p.table+":") + 1
	for i := begin; i < len(p.lines) && strings.HasPrefix(p.lines[i], "    "); i++ {
		if strings.HasPrefix(p.lines[i], "    "+key+":") {
			return true
		}
	}
	return false
}

// inTable sets a key of the table.
func (p *pasteboard) inTable(text string) {
	key, _, _ := strings.Cut(text, ":")
	begin := slices.Index(p.lines, "  "+p.table+":") + 1
	for i := begin; i < len(p.lines) && strings.HasPrefix(p.lines[i], "    "); i++ {
		if strings.HasPrefix(p.lines[i], "    "+key+":") {
			p.lines[i] = "    " + text
			return
		}
	}
	p.lines = slices.Insert(p.lines, begin, "    "+text)
}

// with1 sets a key of a field, whose text is on one line.
func with1(line, text string) string {
	m := fieldLine.FindStringSubmatch(line)
	if !strings.HasPrefix(m[2], "{") {
		return fmt.Sprintf("  %s: {type: %s, %s}", m[1], m[2], text)
	}
	key, _, _ := strings.Cut(text, ":")
	line = without1(line, key+":")
	return strings.Replace(strings.TrimSuffix(line, "}")+", "+text+"}", "{, ", "{", 1)
}

// without1 removes a key of a field.
func without1(line, text string) string {
	key, _, _ := strings.Cut(text, ":")
	at := regexp.MustCompile(`[{ ]` + key + `: `).FindStringIndex(line)
	if at == nil {
		return line
	}
	depth, end := 0, at[1]
	for ; end < len(line); end++ {
		switch line[end] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if depth < 0 || depth == 0 && line[end] == ',' {
			break
		}
	}
	start := at[0] + 1
	if line[end] == ',' {
		end += 2
	} else {
		start = max(strings.LastIndex(line[:start], ","), strings.Index(line, "{")+1)
	}
	return line[:start] + line[end:]
}
