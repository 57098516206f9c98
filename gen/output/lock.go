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

// Lock acquires the lock of a folder, which only one btgen process on this machine can hold.
// It waits until the lock is free. The lock is held until unlock is called or the process
// ends. Its file is in the user's cache folder or the folder for temporary files.
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
	return nil, fmt.Errorf("cannot create a lock file, which prevents concurrent runs: %w", errors.Join(errs...))
}

// lockFolders returns the candidates for the folder of lock files. The first writable one is
// used.
func lockFolders() []string {
	var out []string
	if cache, err := os.UserCacheDir(); err == nil {
		out = append(out, filepath.Join(cache, "btgen"))
	}
	return append(out, filepath.Join(os.TempDir(), fmt.Sprintf("btgen-%d", os.Getuid())))
}
