package modules_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// shell runs command lines in a folder.
type shell struct {
	t    *testing.T
	root string // of this repository
	dir  string
	env  []string
}

// newShell returns a shell in a new folder. It skips the test without bash and git.
func newShell(t *testing.T, env ...string) *shell {
	t.Helper()
	for _, tool := range []string{"git", "bash"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	root, err := filepath.Abs("../..")
	assert.Must(t, err)
	dir, err := filepath.Abs(testlong.Scratch(t))
	assert.Must(t, err)
	return &shell{t, root, dir, append(env, "GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x@example.com",
		"GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x@example.com")}
}

// in returns the same shell in another folder.
func (s *shell) in(dir string) *shell { return &shell{s.t, s.root, dir, s.env} }

// try runs a line until its first failure, and returns what it prints.
func (s *shell) try(line string, env ...string) (string, error) {
	cmd := exec.Command("bash", "-e", "-c", line)
	cmd.Dir = s.dir
	cmd.Env = slices.Concat(os.Environ(), s.env, env)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// do runs a line that must succeed.
func (s *shell) do(line string) string {
	s.t.Helper()
	out, err := s.try(line)
	if err != nil {
		s.t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return strings.TrimSpace(out)
}

// write writes a file.
func (s *shell) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	assert.Must(s.t, os.MkdirAll(filepath.Dir(path), 0o777))
	assert.Must(s.t, os.WriteFile(path, []byte(text), 0o666))
}
