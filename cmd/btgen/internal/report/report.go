// Package report formats findings for programs: as JSON, as SARIF for code scanning, as
// annotations for GitHub Actions, and as Markdown for pull request comments. Package diag
// formats them for people.
package report

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/words"
)

// jsonFinding is a finding in JSON, without unknown properties.
type jsonFinding struct {
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`   // from 1
	Column   int    `json:"column,omitempty"` // in characters, from 1
	Severity string `json:"severity"`         // error, warning or advice
	Class    string `json:"class,omitempty"`  // of a change: DATA, ROLLOUT, SOURCE or SAFE
	Rule     string `json:"rule,omitempty"`
	Message  string `json:"message"`
	Note     string `json:"note,omitempty"`
	Help     string `json:"help,omitempty"`
}

// JSON returns a JSON object with the findings, in their order.
func JSON(found diag.List) ([]byte, error) {
	findings := make([]jsonFinding, len(found))
	for i, d := range found {
		findings[i] = jsonFinding{d.Pos.File, d.Pos.Line, d.Pos.Column, d.Severity.String(), d.Class, d.Rule, d.Message, d.Note, d.Hint}
	}
	return encode(map[string]any{"findings": findings})
}

// encode returns v as indented JSON without HTML escapes.
func encode(v any) ([]byte, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return words.LogJSON([]byte(b.String())), err
}

// Escapes of the characters that end a value in GitHub's workflow commands.
var (
	githubData     = strings.NewReplacer("%", "%25", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", ":", "%3A", ",", "%2C")
)

// githubText returns the message of a command, without text that a CI system could
// interpret.
func githubText(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, string(words.AppendLine(nil, []byte(line))))
	}
	return githubData.Replace(strings.Join(lines, "\n"))
}

// GitHub returns the findings as workflow commands, one per line. GitHub Actions shows them
// as annotations of a change.
//
// Source: https://docs.github.com/actions/reference/workflow-commands-for-github-actions
func GitHub(found diag.List) []byte {
	var b strings.Builder
	for _, d := range found {
		command := map[diag.Severity]string{diag.Error: "error", diag.Warning: "warning", diag.Advice: "notice"}[d.Severity]
		var properties []string
		add := func(name, value string) {
			properties = append(properties, name+"="+githubProperty.Replace(words.Printable(value)))
		}
		if d.Pos.File != "" {
			add("file", d.Pos.File)
		}
		if d.Pos.Line > 0 {
			add("line", fmt.Sprint(d.Pos.Line))
		}
		if d.Pos.Column > 0 {
			add("col", fmt.Sprint(d.Pos.Column))
		}
		title := "btgen"
		if d.Rule != "" {
			title = "btgen " + d.Rule
		}
		add("title", title)
		fmt.Fprintf(&b, "::%s %s::%s\n", command, strings.Join(properties, ","), githubText(message(d)))
	}
	return []byte(b.String())
}

// message returns the message with the class, the note and the hint, if any.
func message(d diag.Diagnostic) string {
	text := d.Message
	if d.Class != "" {
		text = d.Class + ": " + text
	}
	if d.Note != "" {
		text += "\n" + d.Note
	}
	if d.Hint != "" {
		text += "\nhelp: " + d.Hint
	}
	return text
}
