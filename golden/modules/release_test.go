package modules_test

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// releaseVariable is the environment variable with the version that TestRelease releases.
const releaseVariable = "BTGEN_RELEASE"

// released is a clone in which .ci/release has made a version, and a module proxy that serves it.
type released struct {
	*shell         // in the clone
	proxy   string // folder with the files of the proxy
	version string
	cache   string // GOMODCACHE
}

// TestRelease prepares a release of a clone, serves both modules by a module proxy of files, and
// installs and uses them as their users would: by version, and as in the README, by "latest".
func TestRelease(t *testing.T) {
	testlong.Skip(t, "builds commands from released modules")
	r := &released{shell: newShell(t), proxy: t.TempDir()}
	r.shell = r.in(filepath.Join(t.TempDir(), "clone"))
	root := r.in(r.root)
	r.cache = root.do("go env GOMODCACHE")
	r.env = append(r.env, "GOPROXY=file://"+r.proxy+",file://"+r.cache+"/cache/download,"+cmp.Or(os.Getenv("GOPROXY"), "https://proxy.golang.org"),
		"GONOSUMDB=github.com/btgen-dev", "GOWORK=off", goFlags("")) // the proxy comes before all others
	root.do("git clone -q --no-hardlinks . " + r.dir)
	// Uncommitted files are released, too. The version is that of the files alone, so that the module
	// cache never has another version of the same name.
	root.do("git ls-files -co --exclude-standard -z | xargs -0 cp --parents -t " + r.dir)
	r.do("git add -A; git commit -q --allow-empty -m files")
	r.version = cmp.Or(os.Getenv(releaseVariable), "v0.1.0-test."+r.do("git rev-parse --short=12 HEAD^{tree}")+".x")
	if out, err := r.try(".ci/release 0.1"); err == nil || !strings.Contains(out, "usage") {
		t.Errorf("a wrong version: %v\n%s", err, out)
	}
	out := r.do(".ci/release " + r.version + " 2030-01-02")
	assert.Contains(t, "git push origin HEAD "+r.version+" runtime/beamstore/"+r.version, out, "how to publish")
	if out, err := r.try(".ci/release " + r.version); err == nil || !strings.Contains(out, "tagged already") {
		t.Errorf("the same version again: %v\n%s", err, out)
	}
	r.notes()
	const self = "github.com/btgen-dev/btgen"
	r.serve(self, "")
	r.serve(self+"/runtime/beamstore", "runtime/beamstore")
	r.install(self)
	r.readme(self)
	r.pipeline(self)
}

// notes checks the tag and the changelog.
func (r *released) notes() {
	tag := r.do("git tag -l --format='%(contents)' " + r.version)
	if !strings.Contains(tag, "\n### Added\n") || strings.Contains(tag, "[Unreleased]") {
		r.t.Errorf("the notes of the tag are\n%s", tag)
	}
	text, err := os.ReadFile(filepath.Join(r.dir, "CHANGELOG.md"))
	assert.Must(r.t, err)
	number := strings.TrimPrefix(r.version, "v")
	for _, want := range []string{"## [Unreleased]\n\n## [" + number + "] - 2030-01-02\n", "/compare/" + r.version + "...main\n", "\n[" + number + "]: https://"} {
		assert.Contains(r.t, want, string(text), "CHANGELOG.md")
	}
}

// serve makes the files of a module, as the proxy of Go does from its tag.
func (r *released) serve(path, folder string) {
	r.t.Helper()
	tag := strings.TrimPrefix(folder+"/"+r.version, "/")
	served := r.in(filepath.Join(r.proxy, path, "@v"))
	var files bytes.Buffer
	assert.Must(r.t, zip.CreateFromVCS(&files, module.Version{Path: path, Version: r.version}, r.dir, tag, folder))
	mod := r.do("git show " + tag + ":" + strings.TrimPrefix(folder+"/go.mod", "/"))
	for name, content := range map[string]string{
		"list": r.version + "\n", r.version + ".mod": mod + "\n", r.version + ".zip": files.String(),
		r.version + ".info": fmt.Sprintf(`{"Version":%q,"Time":%q}`, r.version, time.Unix(1893553445, 0).UTC().Format(time.RFC3339)),
	} {
		served.write(name, content)
	}
	r.t.Cleanup(func() { // nobody else has this version
		for _, cached := range []string{filepath.Join(r.cache, path+"@"+r.version), filepath.Join(r.cache, "cache/download", path, "@v", r.version+".*")} {
			_, _ = r.try("chmod -R u+w " + cached + " && rm -rf " + cached)
		}
	})
}

// install installs the commands by their version.
func (r *released) install(self string) {
	bin := r.in(r.t.TempDir())
	for _, name := range []string{"btgen", "btgen-live"} {
		bin.do("GOBIN=$PWD go install " + self + "/cmd/" + name + "@" + r.version)
		assert.Contains(r.t, r.version, bin.do("./"+name+" version"), name)
	}
}

// readme follows the beginning of the README, which asks for "latest".
func (r *released) readme(self string) {
	user := r.in(r.t.TempDir())
	user.do("go mod init example.com/balloons; go get -tool " + self + "/cmd/btgen@latest; go tool btgen init; go tool btgen generate; go get ./...; go test ./generated/weather")
	assert.Contains(r.t, self+" "+r.version, user.do("cat go.mod"), "latest")
}

// pipeline builds a program with the other module, as in the manual.
func (r *released) pipeline(self string) {
	user := r.in(r.t.TempDir())
	user.write("main.go", "package main\n\nimport _ \""+self+"/runtime/beamstore\"\n\nfunc main() {}\n")
	user.do("go mod init example.com/pipeline; go get " + self + "/runtime/beamstore@latest; go build -o /dev/null .")
	for _, want := range []string{"beamstore " + r.version, self + " " + r.version} {
		assert.Contains(r.t, want, user.do("cat go.mod"), "latest")
	}
}
