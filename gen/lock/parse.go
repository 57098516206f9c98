package lock

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Problem is the kind of an [Error].
type Problem int

// The problems.
const (
	Damaged    Problem = iota // something other than btgen has changed it
	Conflicted                // it has conflict markers of a merge
	Newer                     // another version of btgen wrote it, which knows more
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
		return fmt.Sprintf("%s: %s: use the version of btgen that wrote the file, or a newer one, for example with go get -tool github.com/btgen-dev/btgen/cmd/btgen@latest", at, e.Reason)
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
			return nil, foreign(text, &Error{File: file, Line: i + 1, Reason: err.Error()})
		}
	}
	return p.finish(text)
}

// foreign returns the error about a line that this version does not know. If the checksums of the file are right, a btgen
// has written it.
func foreign(text []byte, err *Error) *Error {
	if sealed(text) {
		err.Problem = Newer
		err.Reason = "another version of btgen wrote the file, and this one does not know what the line says: " + err.Reason
	}
	return err
}

// sealed reports whether the checksums of all tables in a file are those of their lines.
func sealed(text []byte) bool {
	var lines []string
	for _, line := range strings.Split(string(text), "\n") {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	for _, table := range strings.Split(strings.Trim(strings.Join(lines, "\n"), "\n"), "\n\n") {
		last := strings.LastIndex(table, "\n") + 1
		_, sum, ok := strings.Cut(table[last:], " sum ")
		if !ok || last == 0 || sum != checksum([]byte(table[:last-1])) {
			return false
		}
	}
	return true
}

// parser collects the facts of a file.
type parser struct {
	file string
	lock Lock
}

// finish returns the lock if writing it again results in the same text.
func (p *parser) finish(text []byte) (*Lock, error) {
	for i := range p.lock.Tables {
		if t := &p.lock.Tables[i]; len(t.Layouts) == 0 || len(t.Layouts[0].Families) == 0 || t.Schema == "" {
			return nil, &Error{File: p.file, Reason: fmt.Sprintf("table %s lacks lines", t.Name)}
		}
	}
	if err := p.merged(); err != nil {
		return nil, err
	}
	again := p.lock.Text()
	if bytes.Equal(text, again) {
		return &p.lock, nil
	}
	want := bytes.Split(again, []byte("\n"))
	for i, line := range bytes.Split(text, []byte("\n")) {
		if i >= len(want) || !bytes.Equal(line, want[i]) {
			return nil, &Error{File: p.file, Line: i + 1, Reason: "a line was edited, moved or removed"}
		}
	}
	return nil, &Error{File: p.file, Reason: "lines are missing"}
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
	all, err := split(line)
	if err != nil {
		return err
	}
	name, family, ok := strings.Cut(all[0], "/")
	if !ok || len(all) < 3 {
		return fmt.Errorf("the line contains no fact about a table")
	}
	t := p.table(name, family)
	w := &words{reading: true, list: all[2:]}
	if all[1] == "sum" {
		return nil // see finish
	}
	if read := reader(tableFacts, all[1]); read != nil {
		read(t, w)
		return w.done()
	}
	n, err := strconv.Atoi(all[1])
	if err != nil || n < 1 {
		return fmt.Errorf("%q is not a layout number", all[1])
	}
	if len(t.Layouts) == 0 || t.Layouts[len(t.Layouts)-1].Number != n {
		t.Layouts = append(t.Layouts, Layout{Number: n})
	}
	read := reader(layoutFacts, w.next())
	if read == nil {
		return fmt.Errorf("%q is unknown", all[2])
	}
	read(&t.Layouts[len(t.Layouts)-1], w)
	return w.done()
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
	out := make([]string, 0, strings.Count(line, " ")+1)
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
