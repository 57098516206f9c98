package gen_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/btgen-dev/btgen/gen/internal/files"
	"github.com/btgen-dev/btgen/golden/assert"
)

// TestSize reads files around the limit, and refuses others before it has them in memory. The class of faults:
// memory that a limit does not bound, since it is compared after reading.
func TestSize(t *testing.T) {
	const most = 1 << 20
	allocated := func(size int64, refused bool) uint64 {
		t.Helper()
		path := filepath.Join(t.TempDir(), "file")
		assert.Must(t, os.WriteFile(path, bytes.Repeat([]byte("x"), most/2), 0o666))
		if err := os.Truncate(path, size); err != nil { // a sparse file if it becomes larger
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		text, err := files.Read(path, most)
		runtime.ReadMemStats(&after)
		if _, large := errors.AsType[*files.TooLargeError](err); large != refused || !refused && (err != nil || int64(len(text)) != size) {
			t.Errorf("%d bytes: %d, %v", size, len(text), err)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	allocated(0, false)
	allocated(most/2, false)
	read := allocated(most, false)
	if read > 2*most {
		t.Errorf("a file of %d bytes takes %d", most, read)
	}
	for _, size := range []int64{most + 1, 5 << 30} {
		if n := allocated(size, true); n > read/4 {
			t.Errorf("a file of %d bytes that is refused takes %d bytes, and one that is read %d", size, n, read)
		}
	}
}

// TestUnsized reads what has no size, as files of the kernel do.
func TestUnsized(t *testing.T) {
	if text, err := files.Read("/proc/self/status", 1<<20); err == nil && !bytes.Contains(text, []byte("Name:")) {
		t.Errorf("%q", text)
	}
	if _, err := files.Read("/proc/self/status", 8); err == nil {
		t.Error("a file over the limit is read")
	}
}
