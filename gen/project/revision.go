package project

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/internal/files"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
)

// Revision is the project of the working directory at another revision.
type Revision struct {
	Inputs []gen.Input // names begin with the revision and a colon
	Lock   []byte      // of btgen.lock; nil if there was none
	// Others are the locks of the other folders of the repository.
	Others []OtherLock
	// Base is the short hash of the revision that was read instead of one with commits that the
	// working directory lacks: the last one that both have. Empty if it has all.
	Base string
}

// OtherLock is a lock of another folder of the repository, at a revision.
type OtherLock struct {
	Name string // relative to the top of the repository, with slashes
	Here string // relative to the working directory
	Text []byte
}

// GitError is the error for a revision that git cannot read.
type GitError struct {
	Ref    string
	Reason string // git's message, on one line
}

// Error names the revision and the reason, of which git decides how long they are.
func (e *GitError) Error() string {
	return fmt.Sprintf("git:%s: %s", words.Excerpt(e.Ref, 100), words.Excerpt(e.Reason, 500))
}

// LoadRevisions returns the schemas and the lock that the project of the working directory had
// at a revision of git, or where its branch left that of the revision: what others have added
// there since is no change of this one. After merges in both directions there are several such
// commits, and each may have facts that the others lack. With exact, it is the revision itself:
// after a forced push, no branch has left the earlier commit. It runs the program git. Errors
// are a *GitError.
func LoadRevisions(ref string, exact bool) ([]*Revision, error) {
	if strings.HasPrefix(ref, "-") || ref == "" {
		return nil, &GitError{ref, "not a revision: write --against git:main, for example, with a branch, a tag or a commit"}
	}
	bases, err := basesOf(ref, exact)
	if err != nil {
		return nil, err
	}
	var out []*Revision
	for _, base := range bases {
		r, err := loadRevision(ref, base)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// loadRevision returns the project at a base, or at the revision itself if that is empty.
func loadRevision(ref, base string) (*Revision, error) {
	r := &Revision{Base: base}
	at := cmp.Or(base, ref)
	config, err := configAt(at)
	if err != nil {
		return nil, err
	}
	if r.Others, err = othersAt(at); err != nil {
		return nil, err
	}
	names, err := filesAt(at, append(config.schemas(), lock.Name))
	if err != nil {
		return nil, err
	}
	texts, err := textsAt(at, names)
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		if name == lock.Name {
			r.Lock = texts[i]
		}
		if path.Base(name) == lock.Name {
			continue // that of another project is none of this one
		}
		r.Inputs = append(r.Inputs, gen.Input{Name: ref + ":" + name, Source: name, Text: texts[i]})
	}
	return r, nil
}

// othersAt returns the locks of a revision in other folders than the working directory.
func othersAt(ref string) ([]OtherLock, error) {
	place, err := git(ref, nil, "rev-parse", "--show-prefix", "--show-cdup")
	if err != nil {
		return nil, err
	}
	prefix, rest, _ := strings.Cut(string(place), "\n")
	up := strings.TrimSpace(rest)
	all, err := git(ref, nil, "ls-tree", "-r", "-z", "--full-tree", "--name-only", ref)
	if err != nil {
		return nil, err
	}
	var out []OtherLock
	var names []string
	for name := range strings.SplitSeq(string(all), "\x00") {
		if path.Base(name) == lock.Name && name != prefix+lock.Name && !strings.Contains(name, "\n") {
			names = append(names, up+name)
			out = append(out, OtherLock{Name: name, Here: filepath.Clean(filepath.FromSlash(up + name))})
		}
	}
	texts, err := textsAt(ref, names)
	for i := range texts {
		out[i].Text = texts[i]
	}
	return out, err
}

// LocksAtHand returns the locks in the working tree of the repository or, without git, below the
// nearest folder with a go.mod, relative to the working directory and sorted.
func LocksAtHand() []string {
	all, err := git("HEAD", nil, "ls-files", "-z", "-c", "-o", "--exclude-standard", "--", ":(top,glob)**/"+lock.Name)
	if err != nil {
		return locksOfModule()
	}
	var out []string
	for name := range strings.SplitSeq(strings.TrimSuffix(string(all), "\x00"), "\x00") {
		if file := filepath.Clean(filepath.FromSlash(name)); name != "" && files.IsRegular(file) {
			out = append(out, file)
		}
	}
	slices.Sort(out)
	return slices.Compact(out) // git lists one in conflict several times
}

// locksOfModule returns the locks below the nearest folder with a go.mod.
func locksOfModule() []string {
	m, err := findModule(".")
	if err != nil {
		return nil
	}
	wd, err := os.Getwd()
	if err != nil {
		return nil
	}
	var out []string
	left := maxEntries
	_ = files.WalkDir(m.dir, func(file string, d fs.DirEntry, err error) error {
		left--
		switch {
		case left == 0:
			return filepath.SkipAll
		case err != nil, file != m.dir && d.IsDir() && (isHidden(d) || d.Name() == "node_modules"):
			return filepath.SkipDir
		case d.Name() != lock.Name || !d.Type().IsRegular():
			return nil
		}
		if rel, err := filepath.Rel(wd, file); err == nil {
			out = append(out, rel)
		}
		return nil
	})
	return out
}

// Ignored reports whether git ignores a file: it is then in no commit, unless it was added before.
func Ignored(file string) bool { return files.Ignored(file) }

// LockAt returns a lock as it was at a revision of git; nil if git has none.
func LockAt(ref, file string) []byte {
	if filepath.IsAbs(file) {
		return nil
	}
	text, err := git(ref, nil, "show", ref+":./"+filepath.ToSlash(file))
	if err != nil {
		return nil
	}
	return text
}

// basesOf returns the short hashes of the last commits that a revision and the working directory
// have in common; an empty one stands for the revision itself: with exact, if it is that commit, or
// if there is none, as in a shallow clone.
func basesOf(ref string, exact bool) ([]string, error) {
	if _, err := git(ref, nil, "rev-parse", "--git-dir"); err != nil {
		return nil, err
	}
	commit, err := git(ref, nil, "rev-parse", "--verify", "--end-of-options", ref+"^{commit}")
	if err != nil {
		return nil, &GitError{ref, "this repository has no such commit: fetch it with git fetch origin " + strings.TrimPrefix(ref, "origin/") + ", or the whole history (fetch-depth: 0)"}
	}
	if exact {
		return []string{""}, nil
	}
	all, err := git(ref, nil, "merge-base", "--all", "HEAD", strings.TrimSpace(string(commit)))
	if err != nil || bytes.Equal(all, commit) {
		return []string{""}, nil
	}
	var out []string
	for base := range strings.FieldsSeq(string(all)) {
		short, err := git(ref, nil, "rev-parse", "--short", base)
		if err != nil {
			return nil, err
		}
		out = append(out, strings.TrimSpace(string(short)))
	}
	return out, nil
}

// Commits returns the hashes of a revision and of that of the working directory, of which [LoadRevisions] returns the same until one
// of them changes; git's message if it cannot read them.
func Commits(ref string) string {
	out, err := git(ref, nil, "rev-parse", "--revs-only", "--end-of-options", ref, "HEAD")
	if err != nil {
		return err.Error()
	}
	return string(out)
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
	switch {
	case errors.Is(err, exec.ErrNotFound):
		reason = "the program git is not installed: install it, or compare with a folder: --against DIR"
	case strings.Contains(reason, "not a git repository"):
		reason = "the working directory is not in a git repository: run btgen there, or compare with a folder: --against DIR"
	}
	return nil, &GitError{ref, reason}
}
