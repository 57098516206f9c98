// Size prints the lines and tokens of the Go code by package, without tests, generated code and comments (of tokens), and the
// lines of tests, with those in golden and generated:
//
//	go run .ci/size.go
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// size counts code.
type size struct {
	folder        string
	lines, tokens int
}

func main() {
	code, tests := map[string]*size{}, 0
	for _, top := range []string{"gen", "runtime", "cmd", "golden", "generated"} {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err == nil && d.IsDir() && d.Name() == "testdata":
				return fs.SkipDir
			case err != nil || d.IsDir() || !strings.HasSuffix(path, ".go"):
				return err
			}
			text, err := os.ReadFile(path)
			switch lines := bytes.Count(text, []byte("\n")); {
			case err != nil || bytes.Contains(text, []byte("\n// Code generated ")) || bytes.HasPrefix(text, []byte("// Code generated ")):
			case strings.HasSuffix(path, "_test.go"):
				tests += lines
			case top == "golden" || top == "generated": // what tests need
			default:
				folder := filepath.Dir(path)
				if code[folder] == nil {
					code[folder] = &size{folder: folder}
				}
				code[folder].lines += lines
				code[folder].tokens += tokens(text)
			}
			return err
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	all := size{folder: "all"}
	var sorted []size
	for _, s := range code {
		all.lines, all.tokens = all.lines+s.lines, all.tokens+s.tokens
		sorted = append(sorted, *s)
	}
	slices.SortFunc(sorted, func(a, b size) int { return cmp.Or(b.lines-a.lines, strings.Compare(a.folder, b.folder)) })
	for _, s := range append(sorted, all) {
		fmt.Printf("%7d lines %8d tokens  %s\n", s.lines, s.tokens, s.folder)
	}
	fmt.Printf("%7d lines of tests\n", tests)
}

// tokens counts the tokens of a file, without comments and the semicolons that line ends stand for.
func tokens(text []byte) (n int) {
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(text)), text, nil, 0)
	for {
		_, t, literal := s.Scan()
		switch {
		case t == token.EOF:
			return n
		case t != token.SEMICOLON || literal != "\n":
			n++
		}
	}
}
