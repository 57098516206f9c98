package output

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/golden/assert"
)

// ours returns a generated file with the given body.
func ours(body string) string { return Header + "\n" + SourceLine + "s.yaml\n" + body }

// generated returns generated files with the given paths and bodies.
func generated(pathsAndBodies ...string) (out []File) {
	for pair := range slices.Chunk(pathsAndBodies, 2) {
		out = append(out, File{Path: pair[0], Content: []byte(ours(pair[1]))})
	}
	return out
}

// compared compares a folder with generated files.
func compared(t *testing.T, dir string, o owner, pathsAndBodies ...string) *Changes {
	t.Helper()
	changes, err := Compare(dir, generated(pathsAndBodies...), o)
	must(t, err)
	return changes
}

// tree writes files to a new folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o777))
		must(t, os.WriteFile(path, []byte(content), 0o666))
	}
	return dir
}

// contents returns all files below a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		out[filepath.ToSlash(rel)] = string(content)
		return err
	})
	must(t, err)
	return out
}

var compare = assert.Same

// owner is an Owner with answers from a test. By default, it has generated everything
// and there is no other project.
type owner struct {
	base          string
	stale, orphan func(Record) bool
	rival         map[string]string // by package
	foreign       map[string]string // by the last element of a folder
}

func (o owner) Whole() bool                       { return true }
func (o owner) Base() string                      { return o.base }
func (o owner) Stale(made Record) bool            { return o.stale == nil || o.stale(made) }
func (o owner) Orphan(made Record) bool           { return o.orphan != nil && o.orphan(made) }
func (o owner) Rival(pkg string, _ Record) string { return o.rival[pkg] }
func (o owner) Foreign(dir string) string         { return o.foreign[filepath.Base(dir)] }

// carryOut commits changes.
func carryOut(t *testing.T, changes *Changes) {
	t.Helper()
	must(t, changes.Commit(t.Context()))
}

// TestCommitAllOrNothing makes the last step fail after the others: between Compare and
// Commit, a folder replaces a file.
func TestCommitAllOrNothing(t *testing.T) {
	before := map[string]string{"a.go": ours("old"), "b.go": ours("stale"), "z.go": ours("old")}
	dir := tree(t, before)
	changes := compared(t, dir, owner{}, "a.go", "new", "c.go", "created", "new/folder/d.go", "created", "z.go", "new")
	z := filepath.Join(dir, "z.go")
	must(t, errors.Join(os.Remove(z), os.MkdirAll(filepath.Join(z, "x"), 0o777)))
	if err := changes.Commit(t.Context()); err == nil {
		t.Fatal("a file was put where a folder stands")
	}
	delete(before, "z.go")
	compare(t, before, contents(t, dir)) // no partial file is left
	_, err := os.Stat(filepath.Join(dir, "new"))
	assert.Is(t, fs.ErrNotExist, err, "a folder that was made is left")
}

// TestStagingFails makes changes fail before any file is replaced.
func TestStagingFails(t *testing.T) {
	before := map[string]string{"a.go": ours("old"), "x": "a file where a folder must go"}
	dir := tree(t, before)
	changes := &Changes{Steps: []Step{
		{Action: Update, Path: filepath.Join(dir, "a.go"), Old: []byte(ours("old")), New: []byte(ours("new"))},
		{Action: Create, Path: filepath.Join(dir, "x/y.go"), New: []byte(ours("y"))},
	}}
	if err := changes.Commit(t.Context()); err == nil {
		t.Fatal("a file was put below a file")
	}
	compare(t, before, contents(t, dir))
}

func TestNotOurs(t *testing.T) {
	dir := tree(t, map[string]string{"a.go": "package a", "b.go": "// " + Header})
	_, err := Compare(dir, []File{{Path: "a.go"}, {Path: "b.go"}}, owner{})
	if notOurs, ok := errors.AsType[*NotOursError](err); !ok || notOurs.Path != filepath.Join(dir, "a.go") {
		t.Error(err)
	}
}

// Records determine who owns the files in package folders. Compare ignores deeper
// files, which btgen never writes, and those of other projects and modules.
func TestLeftovers(t *testing.T) {
	record := func(lines string) string { return Header + "\n" + lines + "\n" }
	dir := tree(t, map[string]string{
		"a/two.go":                record(SourceLine + "schemas/a.yaml\n" + SourceLine + "b.yaml\n" + ProjectLine + "btgen.yaml\n"),
		"a/crlf.proto":            Header + "\r\n" + SourceLine + "c.yaml\r\n\r\n",
		"a/quoted.go":             record(SourceLine + `"a\n\u202e.yaml"` + "\n"),
		"a/atest/test.go":         record(SourceLine + "d.yaml\n"),
		"a/none.go":               record(""),
		"a/notes.txt":             ours("no name of a generated file"),
		"a/deep/x.go":             ours("deeper than generated files are"),
		"a/atest/deep/x.go":       ours("deeper than generated files are"),
		"runtime/codec/old.go":    record(""),
		"runtime/codec/schema.go": record(SourceLine + "e.yaml\n"),
		"runtime/other/x.go":      record(""),
		"teamb/x.go":              ours("of another project"),
		"teamb/generated/x/x.go":  ours("of another project"),
		"x.go":                    ours("beside the folders of packages"),
		".hidden/x.go":            ours("hidden"),
	})
	var asked []Record
	changes, err := Compare(dir, []File{{Path: "runtime/codec/key.go", Content: []byte(record(""))}}, owner{
		stale:   func(made Record) bool { asked = append(asked, made); return made.Project != "" },
		orphan:  func(made Record) bool { return len(made.Sources) == 1 && made.Sources[0] == "c.yaml" },
		foreign: map[string]string{"teamb": "another's"},
	})
	must(t, err)
	slices.SortFunc(asked, func(a, b Record) int { return slices.Compare(a.Sources, b.Sources) })
	compare(t, []Record{
		{}, {Sources: []string{"a\n\u202e.yaml"}}, {Sources: []string{"c.yaml"}}, {Sources: []string{"d.yaml"}},
		{Sources: []string{"schemas/a.yaml", "b.yaml"}, Project: "btgen.yaml"},
	}, asked)
	var removed []string
	for _, s := range changes.Steps {
		if s.Action == Remove {
			removed = append(removed, s.Path)
		}
	}
	compare(t, []string{filepath.Join(dir, "a/two.go"), filepath.Join(dir, "runtime/codec/old.go")}, removed)
	compare(t, []string{filepath.Join(dir, "a/crlf.proto")}, changes.Orphans)
	compare(t, []string{"b.yaml", "schemas/a.yaml"}, changes.Dropped())
	err = changes.CheckRemovals()
	if many, ok := errors.AsType[*RemovalError](err); !ok || many.Files != 2 {
		t.Error(err)
	}
}

// A generated file may exist under another name: as a symbolic link, in a linked
// folder, or with different case.
func TestWantedByAnotherName(t *testing.T) {
	dir := tree(t, map[string]string{"app/event.go": ours("e")})
	if err := errors.Join(
		os.Symlink("app", filepath.Join(dir, "linked")),
		os.Link(filepath.Join(dir, "app/event.go"), filepath.Join(dir, "app/EVENT.go")),
	); err != nil {
		t.Skip(err)
	}
	created, updated, removed := compared(t, dir, owner{}, "app/event.go", "e").Changed()
	compare(t, []int{0, 0, 0}, []int{created, updated, removed})
}

// Compare follows symbolic links to folders, and Commit keeps them even if the folders
// become empty.
func TestLinkedFolder(t *testing.T) {
	dir := tree(t, map[string]string{"real/a/stale.go": ours("s"), "elsewhere/stale.go": ours("s"), "real/keep": ""})
	linked := filepath.Join(dir, "linked")
	if err := errors.Join(os.Symlink("real", linked), os.Symlink("../elsewhere", filepath.Join(dir, "real/b"))); err != nil {
		t.Skip(err)
	}
	carryOut(t, compared(t, linked, owner{}))
	compare(t, map[string]string{"real/keep": ""}, contents(t, dir))
	_, err := os.Lstat(filepath.Join(dir, "real/b"))
	assert.Is(t, nil, err, "the link to a folder is gone:")
	_, err = os.Lstat(filepath.Join(dir, "real/a"))
	assert.Is(t, fs.ErrNotExist, err, "an empty folder is left")
}

// Files of others are not overwritten, and nothing is written to their folders.
func TestOthers(t *testing.T) {
	before := map[string]string{"a/x.go": ours("another's"), "b/x.go": ours("ours")}
	dir := tree(t, before)
	_, err := Compare(dir, generated("a/x.go", "new", "b/x.go", "new", "c/ctest/x.go", ""), owner{
		rival: map[string]string{"a": "s.yaml"}, foreign: map[string]string{"c": "another's"},
	})
	rival, ok := errors.AsType[*RivalError](err)
	if !ok || rival.Path != filepath.Join(dir, "a/x.go") || rival.Source != "s.yaml" {
		t.Error(err)
	}
	if foreign, ok := errors.AsType[*ForeignError](err); !ok || foreign.Dir != filepath.Join(dir, "c") {
		t.Error(err)
	}
	compare(t, before, contents(t, dir))
}

// Line ends depend on the system that has checked the files out.
func TestLineEnds(t *testing.T) {
	dir := tree(t, map[string]string{"a/x.go": strings.ReplaceAll(ours("a\nb\n"), "\n", "\r\n")})
	compare(t, "", string(compared(t, dir, owner{}, "a/x.go", "a\nb\n").Diff()))
}

// TestKeptFilesAreNotTouched checks modification times, which build caches use.
func TestKeptFilesAreNotTouched(t *testing.T) {
	dir := tree(t, map[string]string{"keep.go": ours("k"), "update.go": ours("old")})
	long := time.Now().Add(-time.Hour).Truncate(time.Second)
	for _, name := range []string{"keep.go", "update.go"} {
		must(t, os.Chtimes(filepath.Join(dir, name), long, long))
	}
	carryOut(t, compared(t, dir, owner{}, "keep.go", "k", "update.go", "new"))
	for name, touched := range map[string]bool{"keep.go": false, "update.go": true} {
		info, err := os.Stat(filepath.Join(dir, name))
		must(t, err)
		if info.ModTime().Equal(long) == touched {
			t.Errorf("%s is of %s", name, info.ModTime())
		}
	}
}

func TestDiff(t *testing.T) {
	changes := &Changes{Steps: []Step{
		{Action: Create, Path: "a.go", New: []byte("a\n")},
		{Action: Keep, Path: "b.go", Old: []byte("b\n"), New: []byte("b\n")},
		{Action: Update, Path: "c.go", Old: []byte("c\n"), New: []byte("C\n")},
		{Action: Remove, Path: "d.go", Old: []byte("d\n")},
	}}
	compare(t, `diff /dev/null a.go
--- /dev/null
+++ a.go
@@ -0,0 +1,1 @@
+a
diff c.go c.go
--- c.go
+++ c.go
@@ -1,1 +1,1 @@
-c
+C
diff d.go /dev/null
--- d.go
+++ /dev/null
@@ -1,1 +0,0 @@
-d
`, string(changes.Diff()))
	compare(t, "", string((&Changes{Steps: changes.Steps[1:2]}).Diff()))
}

var must = assert.Must
