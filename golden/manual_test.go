package golden

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/golden/assert"
)

// checkGenerated compares, or with -update writes, the part of a page between two
// marks.
func checkGenerated(t *testing.T, page, begin, end, want string) {
	t.Helper()
	before, rest, begins := strings.Cut(read(t, page), begin)
	got, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		t.Fatalf("%s does not contain %q and %q", page, begin, end)
	}
	if *update {
		assert.Must(t, os.WriteFile(filepath.Join("..", page), []byte(before+begin+want+end+after), 0o666))
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: go test ./golden -update would change (-want +got)\n%s", page, diff)
	}
}

// pages returns the Markdown files for readers, from the root of the module.
func pages(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/reference/*.md", "runtime/internal/conformance/*.md"} {
		found, err := fs.Glob(os.DirFS(".."), pattern)
		if err != nil || len(found) == 0 {
			t.Fatal("no ", pattern, err)
		}
		out = append(out, found...)
	}
	return out
}

// readPage returns the text of a page without fenced blocks and code spans.
func readPage(t *testing.T, name string) string {
	t.Helper()
	return fenced.ReplaceAllString(read(t, name), "")
}

var (
	fenced  = regexp.MustCompile("(?ms)^```.*?^```$")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	named   = regexp.MustCompile(`<a id="([^"]+)"></a>`)
)

// anchors returns the anchors in a page.
func anchors(text string) map[string]bool {
	out := map[string]bool{}
	for _, m := range named.FindAllStringSubmatch(text, -1) {
		out[m[1]] = true
	}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		slug := slugOf(m[1])
		name := slug
		for n := 1; out[name]; n++ {
			name = slug + "-" + strconv.Itoa(n)
		}
		out[name] = true
	}
	return out
}

// slugOf returns GitHub's anchor for a heading.
func slugOf(heading string) string {
	keep := func(c rune) rune {
		switch {
		case c == ' ':
			return '-'
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '_':
			return c
		}
		return -1
	}
	return strings.Map(keep, strings.ToLower(heading))
}

// TestLinks checks that relative links in the manual refer to existing files and
// anchors.
func TestLinks(t *testing.T) {
	checked := 0
	headings := map[string]map[string]bool{} // by page
	for _, name := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(readPage(t, name), -1) {
			target, anchor, hasAnchor := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			checked++
			to := name
			if target != "" {
				to = path.Join(path.Dir(name), target)
			}
			if _, err := os.Stat(filepath.Join("..", to)); err != nil || !fs.ValidPath(to) {
				t.Errorf("%s: link to %s, which does not exist", name, m[1])
				continue
			}
			if hasAnchor && headings[to] == nil {
				headings[to] = anchors(readPage(t, to))
			}
			if hasAnchor && !headings[to][anchor] {
				t.Errorf("%s: link to %s, which is not a heading", name, m[1])
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d links", checked)
	}
}

// TestReadmeIsShort checks that the README is an introduction, and that it or the list of
// reference pages links to every page of the manual.
func TestReadmeIsShort(t *testing.T) {
	const most = 220
	text := read(t, "README.md")
	if lines := strings.Count(text, "\n"); lines > most {
		t.Errorf("README.md has %d lines, of at most %d: move something to docs", lines, most)
	}
	const list = "docs/reference/README.md"
	reference := read(t, list)
	for _, name := range pages(t) {
		listed, ofReference := strings.CutPrefix(name, "docs/reference/")
		switch {
		case ofReference && name != list && !strings.Contains(reference, "]("+listed+")"):
			t.Errorf("%s does not link to %s", list, name)
		case !ofReference && strings.HasPrefix(name, "docs/") && !strings.Contains(text, "]("+name+")"):
			t.Errorf("README.md does not link to %s", name)
		}
	}
}

// module is the prefix of the import paths of this module.
const module = "github.com/btgen-dev/btgen/"

// packages returns the packages of this module that its commands use, with their imports among them.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	imports := map[string][]string{}
	for name, file := range sources(t, "") {
		pkg := path.Dir(name)
		if strings.HasPrefix(pkg, "runtime/beamstore") {
			continue // a module of its own
		}
		if _, known := imports[pkg]; !known {
			imports[pkg] = nil
		}
		for _, i := range file.Imports {
			imported, ours := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), module)
			if ours && !slices.Contains(imports[pkg], imported) {
				imports[pkg] = append(imports[pkg], imported)
			}
		}
	}
	return imports
}

// undrawn reports whether the drawing omits a package: a helper that most packages
// import, or a package only for tests.
func undrawn(pkg string) bool {
	return pkg == "gen/diag" || pkg == "gen/words" || pkg == "gen/cli" || pkg == "runtime" || pkg == "templates" ||
		pkg == "cmd/demo" || pkg == "schemas" || pkg == "golden/cputime" || strings.HasPrefix(pkg, "gen/internal/") || strings.HasPrefix(pkg, "runtime/internal/conformance")
}

// drawing returns a Mermaid graph of the packages. It has an arrow for each import that
// does not follow from others.
func drawing(imports map[string][]string) string {
	edges := map[string][]string{}
	for pkg, imported := range imports {
		if !undrawn(pkg) {
			edges[pkg] = slices.DeleteFunc(slices.Sorted(slices.Values(imported)), undrawn)
		}
	}
	var reaches func(from, to string) bool
	reaches = func(from, to string) bool {
		return slices.ContainsFunc(edges[from], func(next string) bool { return next == to || reaches(next, to) })
	}
	id := func(pkg string) string { return strings.NewReplacer("/", "_", "-", "_").Replace(pkg) }
	var b strings.Builder
	b.WriteString("```mermaid\nflowchart TD\n")
	for _, group := range []string{"cmd", "gen", "runtime"} {
		fmt.Fprintf(&b, "  subgraph folder_%s[%s/]\n", group, group) // not the name of a package
		for _, pkg := range slices.Sorted(maps.Keys(edges)) {
			if strings.HasPrefix(pkg+"/", group+"/") {
				fmt.Fprintf(&b, "    %s[%s]\n", id(pkg), pkg)
			}
		}
		b.WriteString("  end\n")
	}
	for _, pkg := range slices.Sorted(maps.Keys(edges)) {
		for _, to := range edges[pkg] {
			if !slices.ContainsFunc(edges[pkg], func(other string) bool { return other != to && reaches(other, to) }) {
				fmt.Fprintf(&b, "  %s-->%s\n", id(pkg), id(to))
			}
		}
	}
	b.WriteString("```\n")
	return b.String()
}

// TestArchitecture checks that the drawing matches the imports, and that the page names
// exactly the existing packages.
func TestArchitecture(t *testing.T) {
	const page = "docs/architecture.md"
	imports := packages(t)
	checkGenerated(t, page, "<!-- packages -->\n", "<!-- end of packages -->", drawing(imports))
	text := readPage(t, page)
	for pkg := range imports {
		if !strings.Contains(text, "`"+pkg+"`") {
			t.Errorf("%s does not name package %s", page, pkg)
		}
	}
	for _, m := range regexp.MustCompile("`((?:cmd|gen|runtime)/[a-z/-]+)`").FindAllStringSubmatch(text, -1) {
		if _, known := imports[m[1]]; !known {
			t.Errorf("%s names package %s, which does not exist", page, m[1])
		}
	}
}
