// Package archive reads the golden archives of this repository. They are txtar archives, in which a file
// can be written as an edit of another one:
//
//	-- new/balloon.yaml from old/balloon.yaml --
//	   readings:
//	-    bucket: 1d
//	+    bucket: 1h
//
// A line that begins with "+" is added. One that begins with "-" is removed, and one that begins with a
// space is kept: each is the next line of the other file that is equal. All lines between them are kept,
// too. The other file is one of those before it in the archive, or one in the folder of the archive. If
// that is an archive, it is the file in it with the same name.
package archive

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"golang.org/x/tools/txtar"
)

// Results is the folder of the files that tests compare with their results.
const Results = "want/"

// ParseFile returns an archive with the whole text of each file. It can be used like [txtar.ParseFile].
func ParseFile(path string) (*txtar.Archive, error) {
	a, err := txtar.ParseFile(path)
	if err != nil {
		return nil, err
	}
	for i, f := range a.Files {
		name, from := cutFrom(f.Name)
		a.Files[i].Name = name
		if from == "" {
			continue
		}
		other, err := original(path, a.Files[:i], name, from)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, f.Name, err)
		}
		if a.Files[i].Data, err = edited(other, f.Data); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, f.Name, err)
		}
	}
	return a, nil
}

// Save replaces the results of an archive, and keeps its other files as they are written. If one of these is an
// edit of a file of another archive, so are the results that the other archive has, too, if that is shorter.
func Save(path string, results []txtar.File) error {
	a, err := txtar.ParseFile(path)
	if err != nil {
		return err
	}
	a.Files = slices.DeleteFunc(a.Files, func(f txtar.File) bool { return strings.HasPrefix(f.Name, Results) })
	var from string
	for _, f := range a.Files {
		if _, other := cutFrom(f.Name); filepath.Ext(other) == extension {
			from = other
		}
	}
	for _, f := range results {
		if other, err := original(path, nil, f.Name, from); from != "" && err == nil {
			if short := edit(other, f.Data); len(short) < len(f.Data) {
				f.Name, f.Data = f.Name+" from "+from, short
			}
		}
		a.Files = append(a.Files, f)
	}
	return os.WriteFile(path, txtar.Format(a), 0o666)
}

// extension is that of archives.
const extension = ".txtar"

// cutFrom returns the name of a file, and that of the one that it is an edit of, if any.
func cutFrom(name string) (of, from string) {
	of, from, _ = strings.Cut(name, " from ")
	return of, from
}

// original returns the file that another one is an edit of.
func original(path string, before []txtar.File, name, from string) ([]byte, error) {
	if i := slices.IndexFunc(before, func(f txtar.File) bool { return f.Name == from }); i >= 0 {
		return before[i].Data, nil
	}
	at := filepath.Join(filepath.Dir(path), filepath.FromSlash(from))
	if filepath.Ext(from) != extension {
		return os.ReadFile(at)
	}
	a, err := txtar.ParseFile(at)
	if err != nil {
		return nil, err
	}
	for _, f := range a.Files {
		if f.Name == name {
			return f.Data, nil
		}
	}
	return nil, fmt.Errorf("%s has no whole file of this name", from)
}

// edited applies an edit.
func edited(text, edit []byte) ([]byte, error) {
	var out bytes.Buffer
	rest := bytes.SplitAfter(text, []byte("\n"))
	for line := range bytes.Lines(edit) {
		sign, line := line[0], line[1:]
		if sign == '+' {
			out.Write(line)
			continue
		}
		i := slices.IndexFunc(rest, func(other []byte) bool { return bytes.Equal(other, line) })
		if sign != '-' && sign != ' ' || i < 0 {
			return nil, fmt.Errorf("no place for the line %q", string(sign)+string(line))
		}
		out.Write(bytes.Join(rest[:i], nil))
		if sign == ' ' {
			out.Write(line)
		}
		rest = rest[i+1:]
	}
	out.Write(bytes.Join(rest, nil))
	return out.Bytes(), nil
}

// edit returns a short edit that makes one text of another one. Both end with a line feed.
func edit(from, to []byte) []byte {
	var out strings.Builder
	lines := strings.SplitAfter(string(from), "\n")
	at, next := 0, 0 // the line of the difference, and the first one after what the edit has said
	say := func(i int) {
		for _, k := range place(lines, next, i) {
			out.WriteString(" " + lines[k])
			next = k + 1
		}
	}
	_, hunks, _ := strings.Cut(string(diff.Diff("from", from, "to", to)), "\n+++ to\n")
	for line := range strings.Lines(hunks) {
		switch {
		case strings.HasPrefix(line, "@@ "):
			if _, err := fmt.Sscanf(line, "@@ -%d", &at); err != nil {
				panic(err) // not a difference
			}
			at = max(at-1, 0)
		case line[0] == '-':
			say(at)
			out.WriteString(line)
			at++
			next = at
		case line[0] == '+':
			if at > next {
				say(at - 1)
				out.WriteString(" " + lines[at-1])
				next = at
			}
			out.WriteString(line)
		default:
			at++
		}
	}
	return []byte(out.String())
}

// place returns lines that an edit has to name after the line next for that the following line that is equal to
// the i-th is the i-th: as few and as near to it as possible.
func place(lines []string, next, i int) []int {
	if slices.Index(lines[next:], lines[i]) == i-next {
		return nil
	}
	k := i - 1
	for ; lines[k] != lines[i]; k-- {
		if strings.TrimSpace(lines[k]) != "" && slices.Index(lines[next:], lines[k]) == k-next {
			return []int{k}
		}
	}
	return append(place(lines, next, k), k)
}
