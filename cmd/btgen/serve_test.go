package main

import (
	"io"
	"io/fs"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// served is a page of a running command.
type served struct {
	*testing.T
	url, version string
}

var pageVersion = regexp.MustCompile(`data-version="([^"]+)"`)

// waitFor waits for a version of the page that contains a text.
func (s *served) waitFor(text string) string {
	s.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		response, err := http.Get(s.url + "next?after=" + s.version)
		must(s, err)
		page, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		must(s, err)
		if response.StatusCode == http.StatusOK {
			s.version = pageVersion.FindStringSubmatch(string(page))[1]
		}
		if strings.Contains(string(page), text) {
			return string(page)
		}
	}
	s.Fatalf("never %q", text)
	return ""
}

// files lists the files in the working directory.
func files(t *testing.T) []string {
	t.Helper()
	var out []string
	must(t, filepath.WalkDir(".", func(name string, _ fs.DirEntry, err error) error { out = append(out, name); return err }))
	return out
}

// inServed enters a folder for a project, and returns a schema.
func inServed(t *testing.T) string {
	t.Helper()
	memory, percent := debug.SetMemoryLimit(-1), debug.SetGCPercent(100) // the command changes both
	t.Cleanup(func() { debug.SetMemoryLimit(memory); debug.SetGCPercent(percent) })
	t.Chdir(t.TempDir())
	writeFile(t, "go.mod", "module example.com/app\n\nrequire github.com/btgen-dev/btgen v1.0.0\n")
	return strings.Replace(watchedSchema, "    draft: true\n", "", 1)
}

// TestServe edits schemas while they are served.
func TestServe(t *testing.T) {
	schema := inServed(t)
	page := &served{T: t}
	t.Cleanup(func() {
		if _, err := http.Get(page.url); err == nil {
			t.Error("the server has not ended")
		}
	})
	out, failures := begun(t, "explain", "--serve", "--addr", "127.0.0.1:0")
	out.waitFor(t, "/\n", 1)
	page.url = strings.TrimSpace(out.String())
	page.waitFor("schemas does not exist")
	writeFile(t, "schemas/event.yaml", schema)
	page.waitFor("Nothing to compare with")
	page.waitFor("real keys") // counted
	before := files(t)
	writeFile(t, "schemas/event.yaml", strings.Replace(schema, "int64", "int46", 1))
	if got := page.waitFor("int46"); !strings.Contains(got, "Row key") || !strings.Contains(got, "the last version without errors") {
		t.Error("the picture is gone")
	}
	writeFile(t, "schemas/event.yaml", schema)
	page.waitFor("Nothing to compare with")
	assert.Same(t, before, files(t))
	if !testlong.Enabled() {
		return // each version is simulated
	}
	assert.Same(t, 0, run([]string{"generate"}, out, failures))
	page.waitFor("No changes since btgen.lock") // which has appeared
	writeFile(t, "schemas/event.yaml", strings.Replace(schema, "int64", "string", 1))
	page.waitFor("1 change since btgen.lock")
	writeFile(t, "btgen.yaml", "btgen: v1\nprices: {node_hour: 1, ssd_gib_month: 0.5}\n")
	page.waitFor("<th class=\"number\">a month")
	writeFile(t, "btgen.yaml", "btgen: v1\nprices: []\n")
	page.waitFor("btgen.yaml:2:9")
}

// TestServeAgainst changes the version that the page compares with: a folder, and a revision of git.
func TestServeAgainst(t *testing.T) {
	schema := inServed(t)
	git := func(args ...string) {
		t.Helper()
		args = append([]string{"-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "init.defaultBranch=main"}, args...)
		if out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	writeFile(t, "schemas/event.yaml", schema)
	writeFile(t, "before/event.yaml", strings.Replace(schema, "int64", "string", 1))
	for against, c := range map[string]struct {
		first  string
		change func()
	}{
		"before":   {"1 change since before", func() { writeFile(t, "before/event.yaml", schema) }},
		"git:HEAD": {"No comparison with git:HEAD", func() { git("init", "-q"); git("add", "schemas"); git("commit", "-qm", "schemas") }},
	} {
		if against == "before" && !testlong.Enabled() {
			continue // each version is simulated
		}
		t.Run(strings.ReplaceAll(against, ":", "_"), func(t *testing.T) {
			out, _ := begun(t, "explain", "--serve", "--addr", "127.0.0.1:0", "--against", against)
			out.waitFor(t, "/\n", 1)
			page := &served{t, strings.TrimSpace(out.String()), ""}
			page.waitFor(c.first)
			c.change()
			page.waitFor("No changes since " + against)
		})
	}
}

var must = assert.Must
