package output

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A partial file never touches files of others: neither one that has a name like its own, nor
// what a symbolic link of such a name leads to. It replaces its target only once it is complete.
func TestCreatePartial(t *testing.T) {
	for _, complete := range []bool{true, false} {
		for _, existing := range []string{"none", "a file", "a link", "a dangling link"} {
			dir := t.TempDir()
			name, other, real := filepath.Join(dir, "events.csv"), filepath.Join(dir, "other"), filepath.Join(dir, "real.csv")
			write := func(name, text string) { must(t, os.WriteFile(name, []byte(text), 0o640)) }
			link := func(to, name string) {
				if err := os.Symlink(to, name); err != nil {
					t.Skip("no symbolic links here: ", err)
				}
			}
			write(other, "other")
			for _, suffix := range []string{".partial", ".tmp", "~"} {
				link(other, name+suffix)
			}
			final := name
			switch existing {
			case "a file":
				write(name, "old")
			case "a link":
				write(real, "old")
				link(real, name)
				final = real
			case "a dangling link":
				link(filepath.Join(dir, "missing"), name)
			}
			p, err := CreatePartial(name)
			must(t, err)
			_, err = p.WriteString("new")
			must(t, err)
			want := "new"
			if complete {
				err = p.Complete()
			} else {
				err, want = p.Discard(), map[string]string{"a file": "old", "a link": "old"}[existing]
			}
			if text, _ := os.ReadFile(final); err != nil || string(text) != want {
				t.Errorf("%s, complete %v: %q, %v", existing, complete, text, err)
			}
			if text, _ := os.ReadFile(other); string(text) != "other" {
				t.Errorf("%s: a file of others is now %q", existing, text)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, partialPrefix+"*")); len(left) > 0 {
				t.Errorf("%s, complete %v: %q is left", existing, complete, left)
			}
			if info, err := os.Stat(final); existing == "a file" && (err != nil || info.Mode().Perm() != 0o640) {
				t.Errorf("complete %v: %v, %v", complete, info.Mode(), err)
			}
		}
	}
}

// TestLinks changes files behind symbolic links: those within the folder are followed, those out of it are not, neither before
// nor while the changes are made. The class of fault: a path of a project that someone else has filled leads out of it.
func TestLinks(t *testing.T) {
	for name, c := range map[string]struct {
		link, to string
		out      bool
	}{
		"folder":            {"generated", "../elsewhere", true},
		"package":           {"generated/a", "../../elsewhere", true},
		"absolute":          {"generated/a", "/ABS/elsewhere", true},
		"within":            {"generated/a", "../kept", false},
		"absolute within":   {"generated/a", "/ABS/project/kept", false},
		"several":           {"generated", "kept/../../project/../elsewhere", true},
		"to another folder": {"generated/a", "..", false},
	} {
		t.Run(name, func(t *testing.T) {
			top, err := filepath.EvalSymlinks(t.TempDir())
			must(t, err)
			dir := filepath.Join(top, "project")
			for _, each := range []string{"elsewhere", "project/kept", "project/" + filepath.Dir(c.link)} {
				must(t, os.MkdirAll(filepath.Join(top, each), 0o777))
			}
			stale := filepath.Join(top, "elsewhere", "stale.go")
			must(t, os.WriteFile(stale, []byte(ours("stale")), 0o666))
			set := func() {
				if err := os.Symlink(strings.Replace(c.to, "/ABS", top, 1), filepath.Join(dir, filepath.FromSlash(c.link))); err != nil {
					t.Skip(err)
				}
			}
			compareAll := func() (*Changes, error) {
				return Compare(filepath.Join(dir, "generated"), generated("a/new.go", "new"), owner{base: dir})
			}
			early := func() error {
				set()
				_, err := compareAll()
				return err
			}
			late := func() error { // the link appears after the comparison
				if err := os.Remove(filepath.Join(dir, filepath.FromSlash(c.link))); err != nil {
					return err
				}
				changes, err := compareAll()
				if err != nil {
					return err
				}
				set()
				return changes.Commit(t.Context())
			}
			for when, err := range map[string]error{"before": early(), "meanwhile": late()} {
				if _, is := errors.AsType[*LinkError](err); is != c.out || !c.out && err != nil {
					t.Errorf("%s: %v", when, err)
				}
			}
			if have := contents(t, filepath.Join(top, "elsewhere")); len(have) != 1 || have["stale.go"] != ours("stale") {
				t.Errorf("outside: %v", have)
			}
		})
	}
}
