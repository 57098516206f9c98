package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/golden/assert"
)

// lines is a buffer for concurrent use.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// waitFor waits until the output contains a text n times.
func (l *lines) waitFor(t *testing.T, text string, n int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); strings.Count(l.String(), text) < n; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%q was not printed %d times:\n%s", text, n, l)
		}
	}
}

// begun runs a command until the end of the test.
func begun(t *testing.T, args ...string) (out, failures *lines) {
	t.Helper()
	out, failures = new(lines), new(lines)
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(failures)
	root.SilenceErrors, root.SilenceUsage = true, true
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- root.ExecuteContext(ctx) }()
	t.Cleanup(func() {
		cancel()
		assert.Is(t, nil, <-ended)
	})
	return out, failures
}

// writeFile writes a file in a folder that may not exist.
func writeFile(t *testing.T, name, text string) {
	t.Helper()
	must(t, errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(text), 0o666)))
}

// watchedSchema is a schema that is edited.
const watchedSchema = `btgen: v1
package: app
name: Event
series: {host: string}
time: {precision: 1s}
fields: {value: int64}
tables:
  events:
    draft: true
    pattern: bucket_new_cells
    key: {delimiter: "#", segments: [host, bucket]}
    bucket: 1h
    family: m
    ttl: {max_age: 30d}
`

// TestWatch checks that the code is generated at first and after each change, including
// those that correct an error.
func TestWatch(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "go.mod", "module example.com/app\n\nrequire github.com/btgen-dev/btgen v1.0.0\n")
	out, failures := begun(t, "generate", "--watch")
	failures.waitFor(t, "schemas does not exist", 1)
	writeFile(t, "schemas/event.yaml", watchedSchema)
	out.waitFor(t, "1 schema: 4 of 4 files created, 0 updated, 0 removed", 1)
	writeFile(t, "schemas/event.yaml", strings.Replace(watchedSchema, "int64", "int46", 1))
	out.waitFor(t, "int46", 1)
	writeFile(t, "schemas/event.yaml", strings.Replace(watchedSchema, "int64", "string", 1))
	out.waitFor(t, " 0 removed", 2)
	writeFile(t, "btgen.yaml", "btgen: v1\nout: elsewhere\n")
	out.waitFor(t, "4 of 4 files created", 2)
	writeFile(t, "btgen.yaml", "btgen: v1\nout: [elsewhere]\n")
	out.waitFor(t, "btgen.yaml:2:6", 1)
	if text, err := os.ReadFile("elsewhere/app/event_btgen.go"); err != nil || !bytes.Contains(text, []byte("Value string")) {
		t.Errorf("%v\n%s", err, text)
	}
	assert.Same(t, 1, strings.Count(failures.String(), "watching the schemas"))
}
