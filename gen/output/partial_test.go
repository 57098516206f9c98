package output

import (
	"os"
	"path/filepath"
	"testing"
)

// A partial file never touches files of others: neither one that has a name like its own, nor
// what a symbolic link of such a name leads to. It replaces its target only once it is complete.
func TestCreatePartial(t *testing.T) {
	for _, complete := range []bool{true, false} {
		for _, existing := range []string{"none", "a file", "a link", "a dangling link"} {
			dir := t.TempDir()
			name, other, real := filepath.Join(dir, "events.csv"), filepath.Join(dir, "other"), filepath.Join(dir, "real.csv")
			write := func(name, text string) {
				if err := os.WriteFile(name, []byte(text), 0o640); err != nil {
					t.Fatal(err)
				}
			}
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
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.WriteString("new"); err != nil {
				t.Fatal(err)
			}
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
