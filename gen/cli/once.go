package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/gen/internal/files"
)

// RunOnce is [Run], but a command with the annotations Once prints what an earlier run has printed if that had nothing to do
// and the same run would read the same: `go generate` is usually called when no schema has changed.
//
// A run is remembered in the user's cache folder, under the digest of the program, its arguments, its
// working directory and its kinds of outputs, with all that it has read of the disk ([files.Trace]). It is
// repeated as soon as a single answer of the disk differs; an answer that cannot be compared prevents
// that the run is remembered.
func RunOnce(root *cobra.Command, args []string, stdout, stderr io.Writer) int {
	out, failures := guarded(stdout), guarded(stderr)
	if cmd, _, err := root.Find(args); err != nil || cmd.Annotations[once] == "" {
		return run(root, args, out, failures)
	}
	path, err := memoryPath(args, out, failures)
	if err != nil {
		return run(root, args, out, failures) // without a cache folder
	}
	if m, ok := recall(path); ok && out.print(m.Stdout) == nil && failures.print(m.Stderr) == nil {
		return ExitClean
	}
	trace := files.StartTrace()
	out.recorded, failures.recorded = new(bytes.Buffer), new(bytes.Buffer)
	code := run(root, args, out, failures)
	if code == ExitClean && out.repeatable && out.recorded != nil && failures.recorded != nil {
		remember(path, memory{trace.Text(), out.recorded.Bytes(), failures.recorded.Bytes()})
	}
	return code
}

// once is the annotation of commands that call [MayRepeat].
const once = "once"

// Once are the annotations of a command that calls [MayRepeat]. Others need no digest of the program.
func Once() map[string]string { return map[string]string{once: "true"} }

// MayRepeat says that a run changes nothing, and that what it prints depends on its arguments and on what it reads
// through package files alone. The command has the annotations Once.
func MayRepeat(cmd *cobra.Command) {
	if g, ok := cmd.OutOrStdout().(*guard); ok {
		g.repeatable = true
	}
}

// memory is a run that had nothing to do.
type memory struct {
	Read           json.RawMessage // its trace
	Stdout, Stderr []byte
}

// memoryPath returns the file of a run.
func memoryPath(args []string, out, failures *guard) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	code, err := os.ReadFile(program)
	if err != nil {
		return "", err
	}
	run := fmt.Sprintf("%x %q %q %t %t %d %t", sha256.Sum256(code), here, args, out.terminal, out.colored, Width(out), failures.terminal)
	sum := sha256.Sum256([]byte(run))
	return filepath.Join(cache, "btgen", "runs", hex.EncodeToString(sum[:16])), nil
}

// recall returns the run of a file, if it would read the same now.
func recall(path string) (memory, bool) {
	text, err := os.ReadFile(path)
	var m memory
	if err != nil || json.Unmarshal(text, &m) != nil || !files.StillTrue(m.Read) {
		return memory{}, false
	}
	return m, true
}

// maxMemoryAge is how long a run is remembered that is not repeated.
const maxMemoryAge = 30 * 24 * time.Hour

// remember writes a run to its file, and removes old ones. A failure costs time only: the run is then repeated.
func remember(path string, m memory) {
	text, err := json.Marshal(m)
	dir := filepath.Dir(path)
	if err != nil || len(m.Read) == 0 || os.MkdirAll(dir, 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(dir, "new-")
	if err != nil {
		return
	}
	_, err = f.Write(text)
	if f.Close() != nil || err != nil || os.Rename(f.Name(), path) != nil {
		_ = os.Remove(f.Name())
	}
	entries, _ := os.ReadDir(dir)
	for _, d := range entries {
		if info, err := d.Info(); err == nil && time.Since(info.ModTime()) > maxMemoryAge {
			_ = os.Remove(filepath.Join(dir, d.Name()))
		}
	}
}
