package modules_test

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/btgen-dev/btgen/golden/testlong"
)

// releaseVariable is the environment variable with the version that TestRelease releases.
const releaseVariable = "BTGEN_RELEASE"

// released is a clone in which .ci/release has made a version, and a module proxy that serves it.
type released struct {
	t       *testing.T
	root    string // of this repository
	clone   string
	proxy   string // folder with the files of the proxy
	version string
	cache   string // GOMODCACHE
}

// TestRelease prepares a release of a clone, serves both modules by a module proxy of files, and
// installs and uses them as their users would: by version, and as in the README, by "latest".
func TestRelease(t *testing.T) {
	testlong.Skip(t, "builds commands from released modules")
	for _, tool := range []string{"git", "bash"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	r := &released{t: t, root: root, clone: filepath.Join(t.TempDir(), "clone"), proxy: t.TempDir()}
	r.cache = r.sh(root, "go env GOMODCACHE")
	r.sh(root, "git clone -q --no-hardlinks . "+r.clone)
	// Uncommitted files are released, too. The version is that of the files alone, so that the module
	// cache never has another version of the same name.
	r.sh(root, "git ls-files -co --exclude-standard -z | xargs -0 cp --parents -t "+r.clone)
	r.sh(r.clone, "git add -A; git commit -q --allow-empty -m files")
	r.version = cmp.Or(os.Getenv(releaseVariable), "v0.1.0-test."+r.sh(r.clone, "git rev-parse --short=12 HEAD^{tree}")+".x")
	if out, err := r.try(r.clone, ".ci/release 0.1"); err == nil || !strings.Contains(out, "usage") {
		t.Errorf("a wrong version: %v\n%s", err, out)
	}
	out := r.sh(r.clone, ".ci/release "+r.version+" 2030-01-02")
	if !strings.Contains(out, "git push origin HEAD "+r.version+" runtime/beamstore/"+r.version) {
		t.Errorf("it does not say how to publish:\n%s", out)
	}
	if out, err := r.try(r.clone, ".ci/release "+r.version); err == nil || !strings.Contains(out, "tagged already") {
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

// sh runs a command that must succeed.
func (r *released) sh(dir, line string) string {
	r.t.Helper()
	out, err := r.try(dir, line)
	if err != nil {
		r.t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return strings.TrimSpace(out)
}

// try runs a command, with the proxy before all others.
func (r *released) try(dir, line string) (string, error) {
	cmd := exec.Command("bash", "-e", "-c", line)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(),
		"GOPROXY=file://"+r.proxy+",file://"+r.cache+"/cache/download,"+cmp.Or(os.Getenv("GOPROXY"), "https://proxy.golang.org"),
		"GONOSUMDB=github.com/btgen-dev", "GOWORK=off", goFlags(""),
		"GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x@example.com", "GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x@example.com")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// notes checks the tag and the changelog.
func (r *released) notes() {
	tag := r.sh(r.clone, "git tag -l --format='%(contents)' "+r.version)
	if !strings.Contains(tag, "\n### Added\n") || strings.Contains(tag, "[Unreleased]") {
		r.t.Errorf("the notes of the tag are\n%s", tag)
	}
	text, err := os.ReadFile(filepath.Join(r.clone, "CHANGELOG.md"))
	if err != nil {
		r.t.Fatal(err)
	}
	number := strings.TrimPrefix(r.version, "v")
	for _, want := range []string{"## [Unreleased]\n\n## [" + number + "] - 2030-01-02\n", "/compare/" + r.version + "...main\n", "\n[" + number + "]: https://"} {
		if !strings.Contains(string(text), want) {
			r.t.Errorf("CHANGELOG.md lacks %q", want)
		}
	}
}

// serve makes the files of a module, as the proxy of Go does from its tag.
func (r *released) serve(path, folder string) {
	r.t.Helper()
	tag := strings.TrimPrefix(folder+"/"+r.version, "/")
	dir := filepath.Join(r.proxy, path, "@v")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		r.t.Fatal(err)
	}
	var files bytes.Buffer
	m := module.Version{Path: path, Version: r.version}
	if err := zip.CreateFromVCS(&files, m, r.clone, tag, folder); err != nil {
		r.t.Fatal(err)
	}
	mod := r.sh(r.clone, "git show "+tag+":"+strings.TrimPrefix(folder+"/go.mod", "/"))
	for name, content := range map[string]string{
		"list": r.version + "\n", r.version + ".mod": mod + "\n", r.version + ".zip": files.String(),
		r.version + ".info": fmt.Sprintf(`{"Version":%q,"Time":%q}`, r.version, time.Unix(1893553445, 0).UTC().Format(time.RFC3339)),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			r.t.Fatal(err)
		}
	}
	r.t.Cleanup(func() { // nobody else has this version
		for _, cached := range []string{filepath.Join(r.cache, path+"@"+r.version), filepath.Join(r.cache, "cache/download", path, "@v", r.version+".*")} {
			_, _ = r.try(r.root, "chmod -R u+w "+cached+" && rm -rf "+cached)
		}
	})
}

// install installs the commands by their version.
func (r *released) install(self string) {
	bin := r.t.TempDir()
	for _, name := range []string{"btgen", "btgen-live"} {
		r.sh(bin, "GOBIN="+bin+" go install "+self+"/cmd/"+name+"@"+r.version)
		if out := r.sh(bin, "./"+name+" version"); !strings.Contains(out, r.version) {
			r.t.Errorf("%s is version %s", name, out)
		}
	}
}

// readme follows the beginning of the README, which asks for "latest".
func (r *released) readme(self string) {
	dir := r.t.TempDir()
	r.sh(dir, "go mod init example.com/balloons; go get -tool "+self+"/cmd/btgen@latest; go tool btgen init; go tool btgen generate; go get ./...; go test ./generated/weather")
	if mod := r.sh(dir, "cat go.mod"); !strings.Contains(mod, self+" "+r.version) {
		r.t.Errorf("latest is\n%s", mod)
	}
}

// pipeline builds a program with the other module, as in the manual.
func (r *released) pipeline(self string) {
	dir := r.t.TempDir()
	program := "package main\n\nimport _ \"" + self + "/runtime/beamstore\"\n\nfunc main() {}\n"
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o666); err != nil {
		r.t.Fatal(err)
	}
	r.sh(dir, "go mod init example.com/pipeline; go get "+self+"/runtime/beamstore@latest; go build -o /dev/null .")
	if mod := r.sh(dir, "cat go.mod"); !strings.Contains(mod, "beamstore "+r.version) || !strings.Contains(mod, self+" "+r.version) {
		r.t.Errorf("latest is\n%s", mod)
	}
}
