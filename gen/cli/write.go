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

// Read returns the content of a regular file of at most most bytes. Its errors are those of
// package files.
func Read(file string, most int64) ([]byte, error) { return files.Read(file, most) }

// Commit applies changes. If the process is interrupted in the meantime, it undoes the changes
// and returns an error.
func Commit(ctx context.Context, changes *output.Changes) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := changes.Commit(ctx)
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("nothing was changed: %w", err)
	}
	return err
}

// Replace writes files that the user has named. It locks the working directory, so that
// only one run at a time writes.
func Replace(ctx context.Context, steps ...output.Step) error {
	unlock, err := output.Lock(".")
	if err != nil {
		return err
	}
	defer unlock()
	changes, err := output.ReplaceAll(steps...)
	if err != nil {
		return err
	}
	return Commit(ctx, changes)
}

// Write replaces the content of a file that the user has named, atomically. It follows
// symbolic links, but none out of the working directory, and writes directly to terminals, pipes and devices.
func Write(ctx context.Context, file string, text []byte) error {
	info, err := os.Stat(file)
	switch {
	case err == nil && !info.Mode().IsRegular() && !info.IsDir():
		return os.WriteFile(file, text, 0o666)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	base := output.Base(file)
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real // keep the link
	}
	step, err := output.Replace(file, text)
	if err != nil {
		return err
	}
	step.Base = base
	return Replace(ctx, step)
}
