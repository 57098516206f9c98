package lock

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Problem is the kind of an [Error].
type Problem int

// The problems.
const (
	Damaged    Problem = iota // something other than btgen has changed it
	Conflicted                // it is a merge of files without epochs
	Newer                     // another version of btgen wrote it, which knows more
	Incomplete                // it lacks lines of a merge
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
		return at + ": a merge of files in the format of an earlier btgen: abort it, run btgen generate on both branches, and merge again"
	case Incomplete:
		return fmt.Sprintf("%s: %s: a commit was picked or reverted alone: restore the file, for example with git checkout HEAD -- %s, or take that of a branch which has both, and run btgen generate", at, e.Reason, e.File)
	case Newer:
		return fmt.Sprintf("%s: %s: use the version of btgen that wrote the file, or a newer one, for example with go get -tool github.com/btgen-dev/btgen/cmd/btgen@latest", at, e.Reason)
	}
	return fmt.Sprintf("%s: the file was modified: %s: restore it, for example with git checkout HEAD -- %s, and run btgen generate", at, e.Reason, e.File)
}

var versionLine = regexp.MustCompile(`# btgen\.lock v([0-9]{1,9})\b`)

// marker matches the lines with which git marks a conflict.
var marker = regexp.MustCompile(`(?m)^(<<<<<<<|\|\|\|\|\|\|\||=======|>>>>>>>)( .*)?$`)

// Parse parses the content of a file. A file with the lines of several, in any order and with or without the markers of
// conflicts, is their merge. The error is an *Error.
func Parse(file string, text []byte) (*Lock, error) {
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) // version control may have changed them
	versions := versionLine.FindAllSubmatch(text, -1)
	if len(versions) == 0 || !bytes.HasPrefix(text, []byte("# ")) && !marker.Match(text[:min(len(text), 100)]) {
		return nil, &Error{File: file, Line: 1, Reason: "the first line is not that of a btgen.lock"}
	}
	older := 0
	for _, m := range versions {
		switch n, _ := strconv.Atoi(string(m[1])); {
		case n == 1:
			older++
		case n != version:
			return nil, &Error{File: file, Line: 1, Problem: Newer, Reason: "version " + string(m[1]) + " of the file format requires a newer btgen"}
		}
	}
	if older > 0 {
		if at := marker.FindIndex(text); at != nil || older < len(versions) {
			line := 1
			if at != nil {
				line += bytes.Count(text[:at[0]], []byte("\n"))
			}
			return nil, &Error{File: file, Line: line, Problem: Conflicted}
		}
		return parseFirst(file, text)
	}
	epochs, err := parseEpochs(file, text)
	if err != nil {
		return nil, err
	}
	for _, e := range epochs {
		if err := e.derive(file); err != nil {
			return nil, err
		}
	}
	out, last := &Lock{}, heads(epochs)
	if len(last) == 1 {
		out = last[0].Lock()
	} else if known, err := joined(file, last); err != nil {
		return nil, err
	} else if out, err = known.lock(file); err != nil {
		return nil, err
	}
	out.Epochs = epochs
	return out, nil
}

// lock returns what a state says. The error is an *Error.
func (s state) lock(file string) (*Lock, error) {
	out := &Lock{}
	for key, facts := range s {
		t, err := parseTable(key, facts)
		if err != nil {
			return nil, unknown(file, key, err)
		}
		out.Tables = append(out.Tables, *t)
	}
	out.Sort()
	return out, nil
}

// unknown returns the error for facts of a table that this version does not know.
func unknown(file, key string, err error) *Error {
	return &Error{File: file, Problem: Newer, Reason: "another version of btgen wrote the file, and this one does not know what it says of table " + key + ": " + err.Error()}
}

// parsed is the epochs of a file that is being parsed.
type parsed struct {
	file  string
	all   map[string]*Epoch
	order []*Epoch // each after those that it follows
}

// parseEpochs returns the epochs of a file, each after those that it follows. The error is an *Error.
func parseEpochs(file string, text []byte) ([]*Epoch, error) {
	p := &parsed{file: file, all: map[string]*Epoch{}}
	seen := map[string]bool{}
	for i, line := range strings.Split(string(text), "\n") {
		if line == "" || line[0] == '#' || seen[line] || strings.Contains("<|=>", line[:1]) && marker.MatchString(line) {
			continue
		}
		seen[line] = true // both sides of a merge may have it
		if err := p.parse(i+1, line); err != nil {
			return nil, err
		}
	}
	ids := slices.Sorted(maps.Keys(p.all))
	for _, id := range ids {
		e := p.all[id]
		slices.SortStableFunc(e.Changes, func(a, b Change) int { return strings.Compare(a.Table, b.Table) })
		if e.digest() != id || len(e.Changes) == 0 {
			return nil, &Error{File: file, Line: e.line, Reason: "a line of epoch " + id + " was edited, moved or removed"}
		}
	}
	for _, id := range ids {
		if err := p.add(id); err != nil {
			return nil, err
		}
	}
	return p.order, nil
}

// parse parses a line of a file, of which the number is given.
func (p *parsed) parse(n int, line string) error {
	key, rest, _ := strings.Cut(line, " ")
	id, rest, _ := strings.Cut(rest, " ")
	sign, rest, some := strings.Cut(rest, " ")
	if !strings.Contains(key, "/") || !some {
		return &Error{File: p.file, Line: n, Reason: "the line contains no fact about a table"}
	}
	e := p.all[id]
	if e == nil {
		e = &Epoch{ID: id, line: n}
		p.all[id] = e
	}
	switch sign {
	case "after":
		e.follows = strings.Fields(rest)
	case "+", "-":
		e.Changes = append(e.Changes, Change{key, sign == "-", rest})
	default:
		return &Error{File: p.file, Line: n, Reason: fmt.Sprintf("%q is unknown", sign)}
	}
	return nil
}

// add adds an epoch, after those that it follows.
func (p *parsed) add(id string) error {
	e := p.all[id]
	if slices.Contains(p.order, e) {
		return nil
	}
	p.all[id] = nil // until those are added
	for _, before := range e.follows {
		o := p.all[before]
		if o == nil {
			return &Error{File: p.file, Problem: Incomplete, Reason: fmt.Sprintf("epoch %s follows %s, which the file lacks", id, before)}
		}
		if err := p.add(before); err != nil {
			return err
		}
		e.After = append(e.After, o)
	}
	e.place, p.order, p.all[id] = len(p.order), append(p.order, e), e
	return nil
}

// parseFirst parses a file of the first format, which has no epochs.
func parseFirst(file string, text []byte) (*Lock, error) {
	if !sealed(text) {
		return nil, &Error{File: file, Reason: "a line was edited, moved or removed"}
	}
	s, family := state{}, ""
	for _, line := range strings.Split(string(text), "\n") {
		key, fact, _ := strings.Cut(line, " ")
		if line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(fact, "sum ") {
			fact, family = inFamily(fact, family)
			s[key] = append(s[key], fact)
		}
	}
	return s.lock(file)
}

// inFamily returns a fact of the first format with the family of the column of an enum, which was that of the fact before;
// and the family of the column that it is about.
func inFamily(fact, before string) (named, family string) {
	words, err := split(fact)
	if err != nil || len(words) < 3 {
		return fact, ""
	}
	if !isEnum(words[2:]) {
		i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "family=") })
		if i < 0 {
			return fact, ""
		}
		return fact, words[i]
	}
	if before != "" && len(words) > 5 {
		fact = strings.Join(slices.Insert(words, 6, before), " ")
	}
	return fact, before
}

// sealed reports whether the checksums of all tables in a file of the first format are those of their lines.
func sealed(text []byte) bool {
	var lines []string
	for _, line := range strings.Split(string(text), "\n") {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	all := strings.Trim(strings.Join(lines, "\n"), "\n")
	if all == "" {
		return true
	}
	for _, table := range strings.Split(all, "\n\n") {
		last := strings.LastIndex(table, "\n") + 1
		_, sum, ok := strings.Cut(table[last:], " sum ")
		hash := sha256.Sum256([]byte(table[:max(0, last-1)]))
		if !ok || last == 0 || sum != hex.EncodeToString(hash[:8]) {
			return false
		}
	}
	return true
}

// parseTable returns a table with some facts, in any order but that those of enums follow what has these.
func parseTable(key string, facts []string) (*Table, error) {
	name, family, _ := strings.Cut(key, "/")
	t := &Table{Name: name, Family: family}
	for _, fact := range facts {
		if err := t.read(fact); err != nil {
			return nil, fmt.Errorf("%s: %w", fact, err)
		}
	}
	if len(t.Layouts) == 0 || len(t.Layouts[0].Families) == 0 || t.Schema == "" {
		return nil, fmt.Errorf("lines are missing")
	}
	t.sort()
	return t, nil
}

// read reads a fact.
func (t *Table) read(fact string) error {
	all, err := split(fact)
	if err != nil || len(all) == 0 {
		return cmp.Or(err, errUnknown)
	}
	w := &words{reading: true, list: all[1:]}
	if i := kindOf(tableFacts, all[0]); i >= 0 {
		tableFacts[i].read(t, w)
		return w.done()
	}
	n, err := strconv.Atoi(all[0])
	if err != nil || n < 1 {
		return fmt.Errorf("%q is unknown", all[0])
	}
	if len(t.Layouts) == 0 || t.Layouts[len(t.Layouts)-1].Number != n {
		t.Layouts = append(t.Layouts, Layout{Number: n})
	}
	name := w.next()
	kind := kindOf(layoutFacts, name)
	if kind < 0 {
		return fmt.Errorf("%q is unknown", name)
	}
	layoutFacts[kind].read(&t.Layouts[len(t.Layouts)-1], w)
	return w.done()
}

// sort sorts what has an order.
func (t *Table) sort() {
	SortAccepted(t.Accepted)
	slices.Sort(t.Serves)
	for i := range t.Layouts {
		t.Layouts[i].Sort()
	}
}

// SortAccepted sorts changes that were accepted.
func SortAccepted(all []Acceptance) {
	slices.SortStableFunc(all, func(a, b Acceptance) int {
		return cmp.Or(cmp.Compare(a.Change, b.Change), cmp.Compare(a.Reason, b.Reason))
	})
}

// sortFacts sorts facts by their layouts and kinds, those of segments by their numbers, and those of enums after what
// has these.
func sortFacts(facts []string) {
	places := make(map[string][3]int, len(facts))
	for _, fact := range facts {
		words, err := split(fact)
		if err != nil || len(words) < 2 {
			continue // it is no fact, as parseTable says
		}
		layout, err := strconv.Atoi(words[0])
		if err != nil {
			continue // about the table itself
		}
		p := [3]int{math.MaxInt - layout, kindOf(layoutFacts, words[1]), 0}
		if isEnum(words[2:]) {
			p[2] = 1 << 30
		} else if len(words) > 2 {
			p[2], _ = strconv.Atoi(words[2]) // of a segment
		}
		places[fact] = p
	}
	slices.SortStableFunc(facts, func(a, b string) int {
		p, q := places[a], places[b]
		return slices.Compare(p[:], q[:])
	})
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
