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
// that is an archive, it is the file in it with the same name, or else its first one.
package archive

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
)

// Results is the folder of the files that tests compare with their results.
const Results = "want/"

// ParseFile returns an archive with the whole text of each file. It can be used like [txtar.ParseFile]. If
// only edits of results do not apply, because those of another archive have changed, it returns the archive without these
// results, and an error.
func ParseFile(path string) (*txtar.Archive, error) {
	a, err := txtar.ParseFile(path)
	if err != nil {
		return nil, err
	}
	var stale error
	for i, f := range a.Files {
		name, from := cutFrom(f.Name)
		a.Files[i].Name = name
		if from == "" {
			continue
		}
		other, err := original(path, a.Files[:i], name, from)
		if err == nil {
			a.Files[i].Data, err = edited(other, f.Data)
		}
		if err != nil {
			stale = fmt.Errorf("%s: %s: %w", path, f.Name, err)
			if !strings.HasPrefix(name, Results) {
				return nil, stale
			}
		}
	}
	return a, stale
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
				f.Name, f.Data = f.Name+edits+from, short
			}
		}
		a.Files = append(a.Files, f)
	}
	return os.WriteFile(path, txtar.Format(a), 0o666)
}

const (
	extension = ".txtar"
	edits     = " from " // between the name of a file and that of the one that it is an edit of
)

// cutFrom returns the name of a file, and that of the one that it is an edit of, if any.
func cutFrom(name string) (of, from string) {
	of, from, _ = strings.Cut(name, edits)
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
	i := slices.IndexFunc(a.Files, func(f txtar.File) bool { of, _ := cutFrom(f.Name); return of == name })
	if i < 0 && len(a.Files) > 0 && !strings.HasPrefix(name, Results) {
		i = 0
	}
	if i < 0 || strings.Contains(a.Files[i].Name, edits) {
		return nil, fmt.Errorf("%s has no whole file of this name", from)
	}
	return a.Files[i].Data, nil
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
	old, now := strings.SplitAfter(string(from), "\n"), strings.SplitAfter(string(to), "\n")
	kept := common(old, now)
	var out strings.Builder
	next := 0 // the line after those that the edit has named
	name := func(sign string, i int) {
		for _, k := range place(old, next, i) {
			out.WriteString(" " + old[k])
		}
		out.WriteString(sign + old[i])
		next = i + 1
	}
	for i, j := 0, 0; i < len(old) || j < len(now); {
		switch {
		case i < len(old) && j < len(now) && old[i] == now[j]:
			i, j = i+1, j+1
		case j == len(now) || i < len(old) && kept[i+1][j] >= kept[i][j+1]:
			name("-", i)
			i++
		default:
			if next < i {
				name(" ", i-1)
			}
			out.WriteString("+" + now[j])
			j++
		}
	}
	return []byte(out.String())
}

// common returns how many lines the rests of two texts have in common, by where these begin.
func common(a, b []string) [][]int {
	out := make([][]int, len(a)+1)
	out[len(a)] = make([]int, len(b)+1)
	for i := len(a) - 1; i >= 0; i-- {
		out[i] = make([]int, len(b)+1)
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				out[i][j] = out[i+1][j+1] + 1
			} else {
				out[i][j] = max(out[i+1][j], out[i][j+1])
			}
		}
	}
	return out
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
