package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestVersion checks that results depend on the lock, also that of a folder above, and on none of another module.
func TestVersion(t *testing.T) {
	dir := t.TempDir()
	module := filepath.Join(dir, "module")
	must(t, os.MkdirAll(filepath.Join(module, "cmd"), 0o777))
	of := func() string {
		text, err := version(filepath.Join(module, "cmd"))
		must(t, err)
		return text
	}
	first := of()
	must(t, os.WriteFile(filepath.Join(module, "btgen.lock"), []byte("a"), 0o666))
	if second := of(); second == first {
		t.Error("a lock changes nothing")
	}
	must(t, os.Remove(filepath.Join(module, "btgen.lock")))
	must(t, os.WriteFile(filepath.Join(module, "go.mod"), nil, 0o666))
	must(t, os.WriteFile(filepath.Join(dir, "btgen.lock"), []byte("a"), 0o666))
	if third := of(); third != first {
		t.Error("the lock of another module matters")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
