// Package runtime embeds the source of the packages that generated code imports, so
// that btgen can copy them into a project that does not want to depend on this module
// ("runtime: vendored" in btgen.yaml). Otherwise, generated code imports these
// packages:
//
//   - codec encodes and decodes row keys, cells, buckets, time ranges and times to live. It does
//     not import the Bigtable client, so the generator can use it, too.
//   - facts compares what decides where and how events are stored with what was recorded.
//   - scan plans reads: the row ranges and filters of their requests. It does not import the
//     Bigtable client either.
//   - store writes and reads events with the Bigtable client.
//   - setup reconciles live tables with schemas.
//   - storetest starts an in-memory Bigtable for tests.
//   - internal/wire decodes rows and encodes mutations inside the Bigtable client.
//   - rollup says what the cells of rollups mean.
//   - window summarizes events by windows of time.
//   - internal/batch divides the mutations of events among requests.
//   - internal/call has what the calls of store and setup have in common.
//   - internal/checkpoint keeps the progress of long calls in files.
//   - internal/frame groups the cells of rows, and aligns them as events.
//   - internal/job runs long calls in this process.
//   - internal/request sends the requests of reads, and yields their rows.
package runtime

import (
	"bytes"
	"embed"
	"io/fs"
	"path"
	"strings"
)

//go:embed codec/*.go facts/*.go rollup/*.go scan/*.go setup/*.go store/*.go storetest/*.go window/*.go
//go:embed internal/batch/*.go internal/call/*.go internal/checkpoint/*.go internal/frame/*.go internal/job/*.go internal/request/*.go internal/wire/*.go
var sources embed.FS

// Module is the path of the module that contains the runtime.
const Module = "github.com/btgen-dev/btgen"

// ImportPath is the import path of this package and the prefix of the import paths of
// the packages below it, such as ImportPath + "/store".
const ImportPath = Module + "/runtime"

// BeamModule is the path of the module for Apache Beam pipelines, which is separate, so that
// others do not depend on Beam.
const BeamModule = ImportPath + "/beamstore"

// packages are the directories of the packages, which their copies have, too.
var packages = []string{
	"codec", "facts", "internal/batch", "internal/call", "internal/checkpoint", "internal/frame", "internal/job", "internal/request", "internal/wire",
	"rollup", "scan", "setup", "store", "storetest", "window",
}

// Source is a source file of the runtime.
type Source struct {
	Path    string // relative to the copies, such as "codec/key.go"
	Content []byte
}

// Sources returns the files of the runtime without tests, sorted by path, for copies
// whose import paths are below root. Their imports refer to the copies.
func Sources(root string) ([]Source, error) {
	var out []Source
	for _, dir := range packages {
		entries, err := fs.ReadDir(sources, dir)
		if err != nil {
			return nil, err
		}
		for _, d := range entries {
			if strings.HasSuffix(d.Name(), "_test.go") {
				continue
			}
			content, err := sources.ReadFile(path.Join(dir, d.Name()))
			if err != nil {
				return nil, err
			}
			out = append(out, Source{Path: path.Join(dir, d.Name()), Content: relocate(content, root)})
		}
	}
	return out, nil
}

// relocate replaces import paths of the packages by those of their copies.
func relocate(content []byte, root string) []byte {
	for _, dir := range packages {
		content = bytes.ReplaceAll(content, []byte(`"`+path.Join(ImportPath, dir)+`"`), []byte(`"`+path.Join(root, dir)+`"`))
	}
	return content
}
