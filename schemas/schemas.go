// Package schemas contains the schemas of the project, each of which shows a pattern, for programs that try them.
package schemas

import (
	"embed"
	"strings"
)

//go:embed *.yaml
var files embed.FS

// All returns the texts of the schemas by the names of their files, without the extension.
func All() map[string]string {
	all, _ := files.ReadDir(".") // the root of an embedded file system exists
	out := map[string]string{}
	for _, f := range all {
		text, _ := files.ReadFile(f.Name())
		out[strings.TrimSuffix(f.Name(), ".yaml")] = string(text)
	}
	return out
}
