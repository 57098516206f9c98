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

// patternNames returns the names of the patterns.
func patternNames() []string {
	var names []string
	for _, p := range codec.Patterns() {
		names = append(names, p.String())
	}
	return names
}

// aboutPatterns describes the patterns in three sentences.
func aboutPatterns() string {
	var bucketed, single, newest []string
	for _, p := range codec.Patterns() {
		text, _ := guideOf("a pattern").key(p.String())
		about := p.String() + " " + text
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
