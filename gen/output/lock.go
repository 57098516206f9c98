package output

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// Lock waits until no other run of btgen on this machine has the lock of a folder,
// and takes it until unlock is called, or the process ends. What it locks is a file
// in the user's cache, or among the temporary files.
func Lock(dir string) (unlock func(), err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	hash := sha256.Sum256([]byte(dir))
	name := hex.EncodeToString(hash[:16]) + ".lock"
	var errs []error
	for _, folder := range lockFolders() {
		err := os.MkdirAll(folder, 0o700)
		if err == nil {
			if unlock, err = lockedfile.MutexAt(filepath.Join(folder, name)).Lock(); err == nil {
				return unlock, nil
			}
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("no folder for a lock, which keeps runs at the same time apart: %w", errors.Join(errs...))
}

// lockFolders are where locks may be, the first that can be written to.
func lockFolders() []string {
	var out []string
	if cache, err := os.UserCacheDir(); err == nil {
		out = append(out, filepath.Join(cache, "btgen"))
	}
	return append(out, filepath.Join(os.TempDir(), fmt.Sprintf("btgen-%d", os.Getuid())))
}
