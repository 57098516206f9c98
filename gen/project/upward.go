package project

import (
	"os"
	"path/filepath"

	"github.com/btgen-dev/btgen/gen/internal/files"
)

// Above returns the nearest folder above the working directory that has a btgen.yaml, as far as the folder of
// the repository; empty if the working directory is a project itself.
func Above() (string, error) {
	here, err := os.Getwd()
	if err != nil || hasConfig(here) {
		return "", err
	}
	schemas := filepath.Join(here, DefaultSchemas)
	for dir := here; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if hasConfig(dir) {
			config, err := loadConfig(dir)
			if err == nil && files.IsDir(schemas) && !config.names(filepath.Join(schemas, "a.yaml")) {
				return "", nil
			}
			return dir, nil // a command reports the error
		}
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return "", nil
		}
	}
	return "", nil
}
