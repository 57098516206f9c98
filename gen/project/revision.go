package project

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/schema"
)

// Revision is the project of the working directory at another revision.
type Revision struct {
	Inputs []gen.Input // names begin with the revision and a colon
	Lock   []byte      // of btgen.lock; nil if there was none
}

// GitError is the error for a revision that git cannot read.
type GitError struct {
	Ref    string
	Reason string // git's message, on one line
}

// Error names the revision and the reason.
func (e *GitError) Error() string { return fmt.Sprintf("git:%s: %s", e.Ref, e.Reason) }

// LoadRevision returns the schemas and the lock that the project of the working directory had
// at a revision of git. It runs the program git. Errors are a *GitError.
func LoadRevision(ref string) (*Revision, error) {
	if strings.HasPrefix(ref, "-") || ref == "" {
		return nil, &GitError{ref, "not a revision"}
	}
	config, err := configAt(ref)
	if err != nil {
		return nil, err
	}
	names, err := filesAt(ref, append(config.schemas(), lock.Name))
	if err != nil {
		return nil, err
	}
	texts, err := textsAt(ref, names)
	if err != nil {
		return nil, err
	}
	r := &Revision{}
	for i, name := range names {
		if name == lock.Name {
			r.Lock = texts[i]
			continue
		}
		r.Inputs = append(r.Inputs, gen.Input{Name: ref + ":" + name, Source: name, Text: texts[i]})
	}
	return r, nil
}

// configAt returns the btgen.yaml of a revision; nil if there was none.
func configAt(ref string) (*config, error) {
	names, err := filesAt(ref, []string{schema.ConfigName})
	if err != nil || len(names) == 0 {
		return nil, err
	}
	texts, err := textsAt(ref, names)
	if err != nil {
		return nil, err
	}
	said, found := schema.ParseConfig(ref+":"+schema.ConfigName, texts[0])
	if found.HasErrors() {
		return nil, found
	}
	return &config{said: said}, nil
}

// filesAt returns the schemas and other files below paths, relative to the working directory.
func filesAt(ref string, paths []string) ([]string, error) {
	args := []string{"ls-tree", "-r", "-z", "--name-only", ref, "--"}
	for _, p := range paths {
		args = append(args, filepath.ToSlash(filepath.Clean(p)))
	}
	out, err := git(ref, nil, args...)
	if err != nil {
		return nil, err
	}
	var names []string
	for name := range strings.SplitSeq(string(out), "\x00") {
		if base := path.Base(name); name == lock.Name || name == schema.ConfigName && paths[0] == schema.ConfigName || isSchema(name) && !strings.HasPrefix(base, ".") {
			names = append(names, name)
		}
	}
	return names, nil
}

// textsAt returns the contents of files at a revision.
func textsAt(ref string, names []string) ([][]byte, error) {
	var requests bytes.Buffer
	for _, name := range names {
		if strings.Contains(name, "\n") {
			return nil, &GitError{ref, "the name of a schema contains a line end"}
		}
		fmt.Fprintf(&requests, "%s:./%s\n", ref, name)
	}
	out, err := git(ref, &requests, "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	r := bufio.NewReader(bytes.NewReader(out))
	var texts [][]byte
	for range names {
		head, err := r.ReadString('\n')
		fields := strings.Fields(head)
		if err != nil || len(fields) != 3 || fields[1] != "blob" {
			return nil, &GitError{ref, "git cannot read a schema: " + strings.TrimSpace(head)}
		}
		n, err := strconv.Atoi(fields[2])
		if err != nil || n < 0 || n > len(out) {
			return nil, &GitError{ref, "git cannot read a schema"}
		}
		text := make([]byte, n)
		if _, err := io.ReadFull(r, text); err != nil {
			return nil, &GitError{ref, "git has ended too early"}
		}
		if _, err := r.Discard(1); err != nil {
			return nil, &GitError{ref, "git has ended too early"}
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// git runs git in the working directory and returns its output.
func git(ref string, stdin io.Reader, args ...string) ([]byte, error) {
	cmd := exec.Command("git", args...)
	cmd.Stdin = stdin
	out, err := cmd.Output()
	if err == nil {
		return out, nil
	}
	reason := err.Error()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		reason = strings.Join(strings.Fields(string(exit.Stderr)), " ")
	}
	return nil, &GitError{ref, reason}
}
