package modules_test

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// step matches a command of the workflow for users, with the lines that belong to it.
var step = regexp.MustCompile(`(?m)^      - run: (.*)\n((?:        .*\n)*)`)

// workflow is a clone of a repository with schemas, and the commands that its CI runs.
type workflow struct {
	*shell
	steps []string
}

// fails runs the steps of the workflow, and returns the first that fails, with its output; empty
// if none does.
func (w *workflow) fails(base string) (line, output string) {
	w.t.Helper()
	for _, line := range w.steps {
		if strings.HasPrefix(line, "go test") && !testlong.Enabled() {
			continue // the code of TestManual is tested, too
		}
		if out, err := w.try(line, "BASE="+base, "EXACT=--exact"); err != nil { // as after a push
			return line, out
		}
	}
	return "", ""
}

// TestWorkflow runs the commands of docs/ci/btgen.yml in a repository, after changes that CI has to
// stop, and after some that it has not.
func TestWorkflow(t *testing.T) {
	testlong.Skip(t, "it compiles an application")
	w := &workflow{shell: newShell(t, moduleEnv()...)}
	text, err := os.ReadFile(filepath.Join(w.root, "docs/ci/btgen.yml"))
	assert.Must(t, err)
	for _, m := range step.FindAllStringSubmatch(string(text), -1) {
		w.steps = append(w.steps, m[1])
		if strings.Contains(m[1], "$BASE") && (!strings.Contains(m[2], "BASE: ${{ github.event.pull_request.base.sha || github.event.before }}") || !strings.Contains(string(text), "fetch-depth: 0")) {
			t.Error("a step does not say what it compares with, or does not have it")
		}
	}
	if len(w.steps) != 5 {
		t.Fatalf("%q", w.steps)
	}
	newModule(t, w.root, w.dir, "example.com/app")
	w.write("schemas/event.yaml", workflowSchema)
	w.do("printf '*.sarif\\n*.bak\\n' > .gitignore; go tool btgen generate; git init -q; git add .; git commit -qm first")
	added := "sed -i.bak 's/value: {type: int64}/value: {type: int64}\\n  speed: {type: float64, optional: true}/' schemas/event.yaml; go tool btgen generate; git add .; git commit -qm load"
	for _, tt := range []struct{ name, edit, want, says string }{
		{"nothing", "", "", ""},
		{"a field is added", added, "", ""},
		{"a schema is not formatted", "sed -i.bak 's/bucket: 1d/bucket:   1d/' schemas/event.yaml", "fmt", "event.yaml"},
		{"code is edited", "echo '// x' >> generated/app/btgen.go", "check", "btgen.go"},
		{"a bucket changes", "sed -i.bak 's/bucket: 1d/bucket: 1h/' schemas/event.yaml", "check", "[E04]"},
		{"a bucket changes, and is accepted", "sed -i.bak 's/bucket: 1d/bucket: 1h/' schemas/event.yaml; go tool btgen generate --accept 'E04:events=a test'", "", ""},
		{"the lock is deleted", "git rm -q btgen.lock", "check", "[E24]"},
		{"the lock is deleted with the code, and a bucket changes", "sed -i.bak 's/bucket: 1d/bucket: 1h/' schemas/event.yaml; rm -r btgen.lock generated; go tool btgen generate", "breaking", "E04"},
		{"the lock is deleted with the code", added + "; BASE=$(git rev-parse HEAD); git tag -f base; git revert --no-edit HEAD; rm -r btgen.lock generated; go tool btgen generate", "breaking", "E23"},
		{"a field is reverted", added + "; git tag -f base; git revert --no-edit HEAD", "breaking", "E23"},
		{"a field gets another type by a forced push", added + "; git tag -f base; git reset -q --hard HEAD~1; sed -i.bak 's/value: {type: int64}/value: {type: int64}\\n  speed: {type: string, optional: true}/' schemas/event.yaml; go tool btgen generate", "breaking", "E10"},
		{"the code is wrong", "sed -i.bak 's/^func Test/func XTest/; s/^package/package/' generated/app/*_test.go; printf 'package app\\n\\nimport \"testing\"\\n\\nfunc TestX(t *testing.T) { t.Fatal() }\\n' > generated/app/x_test.go; git checkout -q generated/app/event_btgen_test.go", "go test", "FAIL"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want == "go test" {
				testlong.Skip(t, "compiles generated code")
			}
			w.t = t
			w.do("git checkout -q -f master 2>/dev/null || git checkout -q -f main; git checkout -q -B case; git tag -f base")
			w.do(cmp.Or(tt.edit, "true"))
			w.do("git add .; git commit -q --allow-empty -m edit")
			line, out := w.fails(w.do("git rev-parse base"))
			if !strings.Contains(line, tt.want) || (line == "") != (tt.want == "") || !strings.Contains(out, tt.says) {
				t.Errorf("%q fails; want %q, and %q in\n%s", line, tt.want, tt.says, out)
			}
		})
	}
}

const workflowSchema = `btgen: v1
package: app
name: Event
series: {host: string}
time: {precision: 1m}
fields:
  value: {type: int64}
tables:
  events:
    pattern: bucket_new_cells
    key: {delimiter: "#", segments: [host, bucket]}
    bucket: 1d
    family: m
    ttl: {max_age: 30d}
`
