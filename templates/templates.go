// Package templates contains files that btgen writes for users to edit: the folder
// starter contains the schemas of btgen init.
package templates

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed starter/*.yaml
var starters embed.FS

// DefaultStarter is the pattern that suits most time series.
const DefaultStarter = "bucket_new_cells"

// Starters returns the patterns that have a starter schema, sorted.
func Starters() []string {
	entries, err := starters.ReadDir("starter")
	if err != nil {
		return nil // impossible: the folder is embedded
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
