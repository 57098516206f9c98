package schema

import (
	"fmt"
	"strings"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// Guidance says when to use a pattern.
func Guidance(p codec.Pattern) string {
	_, guidance := guideOf("a pattern").key(p.String())
	return guidance
}

// aboutPatterns describes the patterns in three sentences.
func aboutPatterns() string {
	var bucketed, single, newest []string
	for _, p := range codec.Patterns() {
		about := p.String() + " " + guideOf("a pattern").keys[p.String()][0]
		if p.NewestOnly() {
			newest = append(newest, about)
		} else if p.Bucketed() {
			bucketed = append(bucketed, about)
		} else {
			single = append(single, about)
		}
	}
	return fmt.Sprintf("Patterns with one row per bucket: %s. Patterns with one row per event: %s. Beside tables with all events: %s.",
		strings.Join(bucketed, "; "), strings.Join(single, "; "), strings.Join(newest, "; "))
}
