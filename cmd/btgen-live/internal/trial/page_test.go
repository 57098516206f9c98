package trial

import (
	"os"
	"testing"

	"github.com/btgen-dev/btgen/golden/assert"
)

// TestPage checks that the manual lists all assumptions. To update its page, run
//
//	go test ./cmd/btgen-live/internal/trial -run TestPage -update
func TestPage(t *testing.T) {
	const path = "../../../../docs/reference/assumptions.md"
	if *update {
		assert.Must(t, os.WriteFile(path, []byte(Page()), 0o666))
	}
	page, err := os.ReadFile(path)
	assert.Must(t, err)
	assert.Same(t, Page(), string(page), path)
}
