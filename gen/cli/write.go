package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/btgen-dev/btgen/gen/internal/files"
	"github.com/btgen-dev/btgen/gen/output"
)

// Read returns what a regular file of at most most bytes holds.
func Read(file string, most int64) ([]byte, error) { return files.Read(file, most) }

// Commit carries a plan out, unless the process is asked to end meanwhile: then what
// was done is undone.
func Commit(ctx context.Context, plan *output.Plan) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := plan.Commit(ctx)
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("nothing was changed: %w", err)
	}
	return err
}

// Replace gives files that the user names their contents. One run at a time does so
// from a folder.
func Replace(ctx context.Context, steps ...output.Step) error {
	unlock, err := output.Lock(".")
	if err != nil {
		return err
	}
	defer unlock()
	plan, err := output.ReplaceAll(steps...)
	if err != nil {
		return err
	}
	return Commit(ctx, plan)
}

// Write writes a file that the user names, all of it or nothing. What is there and is
// no file, such as a terminal or a pipe, is written to.
func Write(ctx context.Context, file string, text []byte) error {
	info, err := os.Stat(file)
	switch {
	case err == nil && !info.Mode().IsRegular() && !info.IsDir():
		return os.WriteFile(file, text, 0o666)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real // a link stays one
	}
	step, err := output.Replace(file, text)
	if err != nil {
		return err
	}
	return Replace(ctx, step)
}
