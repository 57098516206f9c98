// Package templates holds the Go source that generated code needs and that is
// the same for every schema. Each folder is an ordinary package, compiled and
// tested where it stands, and copied as it is into the output of btgen:
//
//   - codec knows keys, cells, buckets, time ranges and time to live. It knows
//     nothing of the Bigtable client, so that the generator itself can use it.
//   - store knows the Bigtable client: writing, reading and set-up.
//   - wire decodes what Bigtable sends to a reader, inside the Bigtable client.
//   - storetest starts an in-memory Bigtable for tests.
//
// The folder starter holds the schemas that btgen init writes.
package templates

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

//go:embed codec/*.go store/*.go storetest/*.go wire/*.go
var sources embed.FS

// importPath is what the packages import each other by, here.
const importPath = "github.com/btgen-dev/btgen/templates"

// Source is one file of a support package.
type Source struct {
	Path    string // such as "codec/key.go"
	Content []byte
}

// Sources returns the files of the support packages, sorted by path, for a
// copy whose packages have import paths below root.
func Sources(root string) ([]Source, error) {
	var out []Source
	err := fs.WalkDir(sources, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(name, "_test.go") {
			return err
		}
		content, err := sources.ReadFile(name)
		if err != nil {
			return err
		}
		for _, pkg := range []string{"codec", "store", "storetest", "wire"} {
			content = bytes.ReplaceAll(content,
				[]byte(`"`+path.Join(importPath, pkg)+`"`), []byte(`"`+path.Join(root, pkg)+`"`))
		}
		out = append(out, Source{Path: name, Content: content})
		return nil
	})
	return out, err
}

//go:embed starter/*.yaml
var starters embed.FS

// DefaultStarter is the pattern that most time series do well with.
const DefaultStarter = "bucket_new_cells"

// Starters returns the patterns that there is a starter schema for, sorted.
func Starters() []string {
	entries, err := starters.ReadDir("starter")
	if err != nil {
		return nil // cannot be: the folder is part of the program
	}
	var out []string
	for _, e := range entries {
		out = append(out, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return out
}

// Starter returns the starter schema of a pattern.
func Starter(pattern string) ([]byte, error) {
	text, err := starters.ReadFile("starter/" + pattern + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("no starter schema for pattern %q; there is one for %s", pattern, strings.Join(Starters(), ", "))
	}
	return text, nil
}
