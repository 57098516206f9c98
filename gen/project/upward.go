package project

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/btgen-dev/btgen/gen/internal/files"
)

// Above returns the nearest folder above the working directory that has a btgen.yaml, as far as the folder of
// the repository; empty if the working directory is a project itself, or the btgen.yaml does not name the given
// paths or, without any, the folder DefaultSchemas of the working directory.
func Above(paths []string) (string, error) {
	here, err := os.Getwd()
	if err != nil || hasConfig(here) {
		return "", err
	}
	if len(paths) == 0 && files.IsDir(DefaultSchemas) {
		paths = []string{DefaultSchemas}
	}
	for dir := here; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if hasConfig(dir) {
			config, err := loadConfig(dir)
			if err == nil && slices.ContainsFunc(paths, func(path string) bool { return !config.namesPath(here, path) }) {
				return "", nil
			}
			return dir, nil // a command reports the error
		}
		if _, err := files.Lstat(filepath.Join(dir, ".git")); err == nil {
			return "", nil
		}
	}
	return "", nil
}

// namesPath is names for a file or a folder, from a working directory.
func (c *config) namesPath(here, path string) bool {
	file := path
	if files.IsDir(path) {
		file = filepath.Join(path, "a.yaml")
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(here, file)
	}
	return c.names(file)
}
