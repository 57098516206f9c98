package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/btgen-dev/btgen/gen/internal/files"
	"github.com/btgen-dev/btgen/gen/project"
	"github.com/btgen-dev/btgen/gen/words"
)

// InProject makes a command run in the project above the working directory, if that has its paths: paths and flags name
// the same files as before, and a line on stderr says so, since the command names files from there.
func InProject(cmd *cobra.Command) {
	Before(cmd, enter)
}

// enter is what a command does first; see [InProject].
func enter(cmd *cobra.Command, paths []string) error {
	root, err := project.Above(paths)
	if err != nil || root == "" {
		return err
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if from := func(path string) string { return fromRoot(root, here, path) }; err == nil {
			err = eachPath(f, from)
		}
	})
	if err != nil {
		return err
	}
	for i, path := range paths { // cobra passes the same slice to RunE
		paths[i] = fromRoot(root, here, path)
	}
	up, err := filepath.Rel(here, root)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "in %s, which has the btgen.yaml\n", words.Printable(filepath.ToSlash(up)))
	return os.Chdir(root)
}

// fromRoot returns a path from the root that is relative to here.
func fromRoot(root, here, path string) string {
	if path == "" || path == "-" || filepath.IsAbs(path) {
		return path
	}
	if rel, err := filepath.Rel(root, filepath.Join(here, path)); err == nil {
		return rel
	}
	return filepath.Join(here, path)
}

// eachPath replaces the paths that a flag names.
func eachPath(f *pflag.Flag, by func(path string) string) error {
	switch value := f.Value.String(); f.Name {
	case "out", "output":
		return f.Value.Set(by(value))
	case "against":
		if files.IsDir(value) {
			return f.Value.Set(by(value))
		}
	case "measured":
		list := f.Value.(pflag.SliceValue)
		var out []string
		for _, path := range list.GetSlice() {
			out = append(out, by(path))
		}
		return list.Replace(out)
	}
	return nil
}
