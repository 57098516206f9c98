package output

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/gen/emit"
)

// ours is a generated file with a body.
func ours(body string) string { return emit.Header + "\n" + emit.SourceLine + "s.yaml\n" + body }

// tree writes files into a new folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// contents returns all files below a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		out[filepath.ToSlash(rel)] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func compare(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func always([]string) bool { return true }

func TestCommit(t *testing.T) {
	dir := tree(t, map[string]string{"a/keep.go": ours("k"), "a/update.go": ours("old"), "b/c/stale.go": ours("s"), "a/mine.go": "package a", "a/notes.txt": ours("")})
	plan, err := Compare(dir, []emit.File{
		{Path: "a/keep.go", Content: []byte(ours("k"))},
		{Path: "a/update.go", Content: []byte(ours("new"))},
		{Path: "d/create.go", Content: []byte(ours("c"))},
	}, always)
	if err != nil {
		t.Fatal(err)
	}
	created, updated, removed := plan.Changed()
	compare(t, []int{1, 1, 1}, []int{created, updated, removed})
	if err := plan.Commit(); err != nil {
		t.Fatal(err)
	}
	compare(t, map[string]string{
		"a/keep.go": ours("k"), "a/update.go": ours("new"), "d/create.go": ours("c"), "a/mine.go": "package a", "a/notes.txt": ours(""),
	}, contents(t, dir))
	if _, err := os.Stat(filepath.Join(dir, "b")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("an empty folder is left")
	}
}

// TestCommitAllOrNothing makes the last step of a plan fail after the others
// are done: between plan and commit, a folder takes the place of a file.
func TestCommitAllOrNothing(t *testing.T) {
	before := map[string]string{"a.go": ours("old"), "b.go": ours("stale"), "z.go": ours("old")}
	dir := tree(t, before)
	plan, err := Compare(dir, []emit.File{
		{Path: "a.go", Content: []byte(ours("new"))},
		{Path: "c.go", Content: []byte(ours("created"))},
		{Path: "new/folder/d.go", Content: []byte(ours("created"))},
		{Path: "z.go", Content: []byte(ours("new"))},
	}, always)
	if err != nil {
		t.Fatal(err)
	}
	z := filepath.Join(dir, "z.go")
	if err := errors.Join(os.Remove(z), os.MkdirAll(filepath.Join(z, "x"), 0o777)); err != nil {
		t.Fatal(err)
	}
	if err := plan.Commit(); err == nil {
		t.Fatal("a file was put where a folder stands")
	}
	delete(before, "z.go")
	compare(t, before, contents(t, dir)) // and no file that was staged is left
	if _, err := os.Stat(filepath.Join(dir, "new")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a folder that was made is left")
	}
}

// TestStagingFails makes a plan fail before anything is put in place.
func TestStagingFails(t *testing.T) {
	before := map[string]string{"a.go": ours("old"), "x": "a file where a folder must go"}
	dir := tree(t, before)
	plan := &Plan{Steps: []Step{
		{Action: Update, Path: filepath.Join(dir, "a.go"), Old: []byte(ours("old")), New: []byte(ours("new"))},
		{Action: Create, Path: filepath.Join(dir, "x/y.go"), New: []byte(ours("y"))},
	}}
	if err := plan.Commit(); err == nil {
		t.Fatal("a file was put below a file")
	}
	compare(t, before, contents(t, dir))
}

func TestNotOurs(t *testing.T) {
	dir := tree(t, map[string]string{"a.go": "package a", "b.go": "// " + emit.Header})
	_, err := Compare(dir, []emit.File{{Path: "a.go"}, {Path: "b.go"}}, always)
	var notOurs *NotOursError
	if !errors.As(err, &notOurs) || notOurs.Path != filepath.Join(dir, "a.go") {
		t.Error(err)
	}
}

func TestStaleIsAskedOfEachSource(t *testing.T) {
	dir := tree(t, map[string]string{
		"two.go":     emit.Header + "\n" + emit.SourceLine + "a.yaml, b.yaml\n",
		"none.go":    emit.Header + "\n\npackage x\n",
		"crlf.go":    emit.Header + "\r\n" + emit.SourceLine + "c.yaml\r\n",
		"sub/go.mod": "module other", "sub/other.go": ours("of another module"),
		"testdata/t.go": ours("of a test"),
	})
	var asked [][]string
	plan, err := Compare(dir, nil, func(sources []string) bool {
		asked = append(asked, sources)
		return len(sources) == 0
	})
	if err != nil {
		t.Fatal(err)
	}
	compare(t, [][]string{{"c.yaml"}, nil, {"a.yaml", "b.yaml"}}, asked)
	_, _, removed := plan.Changed()
	compare(t, 1, removed)
}

// TestKeptFilesAreNotTouched: build caches go by the time of a file.
func TestKeptFilesAreNotTouched(t *testing.T) {
	dir := tree(t, map[string]string{"keep.go": ours("k"), "update.go": ours("old")})
	long := time.Now().Add(-time.Hour).Truncate(time.Second)
	for _, name := range []string{"keep.go", "update.go"} {
		if err := os.Chtimes(filepath.Join(dir, name), long, long); err != nil {
			t.Fatal(err)
		}
	}
	plan, err := Compare(dir, []emit.File{
		{Path: "keep.go", Content: []byte(ours("k"))},
		{Path: "update.go", Content: []byte(ours("new"))},
	}, always)
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Commit(); err != nil {
		t.Fatal(err)
	}
	for name, touched := range map[string]bool{"keep.go": false, "update.go": true} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.ModTime().Equal(long) == touched {
			t.Errorf("%s is of %s", name, info.ModTime())
		}
	}
}

func TestDiff(t *testing.T) {
	plan := &Plan{Steps: []Step{
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
`, string(plan.Diff()))
	compare(t, "", string((&Plan{Steps: plan.Steps[1:2]}).Diff()))
}
