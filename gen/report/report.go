// Package report writes findings for programs: as JSON, as SARIF for code
// scanning, and as the annotations of GitHub Actions. How a person is shown them
// package diag knows.
package report

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/lint"
	"github.com/btgen-dev/btgen/gen/words"
)

// jsonFinding is a finding as JSON has it. What is not known is left out.
type jsonFinding struct {
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`   // from 1
	Column   int    `json:"column,omitempty"` // in characters, from 1
	Severity string `json:"severity"`         // error, warning or advice
	Rule     string `json:"rule,omitempty"`
	Message  string `json:"message"`
	Help     string `json:"help,omitempty"`
}

// JSON returns an object with the findings, in their order.
func JSON(found diag.List) ([]byte, error) {
	findings := make([]jsonFinding, len(found))
	for i, d := range found {
		findings[i] = jsonFinding{d.Pos.File, d.Pos.Line, d.Pos.Column, d.Severity.String(), d.Rule, d.Message, d.Hint}
	}
	return encode(map[string]any{"findings": findings})
}

// encode returns v as indented JSON, with texts as they are.
func encode(v any) ([]byte, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return words.LogJSON([]byte(b.String())), err
}

// What stands for characters that GitHub's workflow commands end values at.
var (
	githubData     = strings.NewReplacer("%", "%25", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", ":", "%3A", ",", "%2C")
)

// githubText returns what a command says: in lines, without anything that steers who
// shows the log.
func githubText(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, string(words.AppendLine(nil, []byte(line))))
	}
	return githubData.Replace(strings.Join(lines, "\n"))
}

// GitHub returns the findings as workflow commands, a line each, which GitHub
// Actions shows beside the lines of a change.
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

// message is what is wrong and what to do, in one text.
func message(d diag.Diagnostic) string {
	if d.Hint == "" {
		return d.Message
	}
	return d.Message + "\nhelp: " + d.Hint
}

// languageRule is the rule of findings that have none: the language's.
const languageRule = "language"

// SARIF returns the findings as a log of SARIF 2.1.0, with all rules that there
// are. Code scanning takes it.
//
// Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
func SARIF(found diag.List, version string) ([]byte, error) {
	log, err := sarifLog(found, version)
	if err != nil {
		return nil, err
	}
	return encode(log)
}

func sarifLog(found diag.List, version string) (*sarif.Report, error) {
	run := sarif.NewRunWithInformationURI("btgen", "https://github.com/btgen-dev/btgen").WithColumnKind("unicodeCodePoints")
	run.Tool.Driver.WithVersion(version)
	run.AddRule(languageRule).
		WithShortDescription(text("a schema that is not of the language")).
		WithDefaultConfiguration(level(diag.Error))
	for _, rule := range lint.Rules() {
		run.AddRule(rule.ID).
			WithShortDescription(text(rule.Title)).
			WithFullDescription(text(rule.Reason)).
			WithHelp(text(rule.Fix).WithMarkdown(rule.Markdown())).
			WithDefaultConfiguration(level(rule.Severity))
	}
	for _, d := range found {
		rule := d.Rule
		if rule == "" {
			rule = languageRule
		}
		result := run.CreateResultForRule(rule).WithLevel(levelName(d.Severity)).WithMessage(sarif.NewTextMessage(message(d)))
		if location := locate(d.Pos); location != nil {
			result.AddLocation(location)
		}
	}
	log := sarif.NewReport()
	log.AddRun(run)
	return log, nil
}

// text returns a message of plain text.
func text(s string) *sarif.MultiformatMessageString {
	return sarif.NewMultiformatMessageString().WithText(s)
}

// level returns how bad the findings of a rule are by default.
func level(s diag.Severity) *sarif.ReportingConfiguration {
	return sarif.NewReportingConfiguration().WithLevel(levelName(s))
}

// levelName is what SARIF calls a severity.
func levelName(s diag.Severity) string {
	return map[diag.Severity]string{diag.Error: "error", diag.Warning: "warning", diag.Advice: "note"}[s]
}

// locate returns a place; nil for none.
func locate(p diag.Pos) *sarif.Location {
	if p.File == "" {
		return nil
	}
	at := sarif.NewPhysicalLocation().WithArtifactLocation(sarif.NewArtifactLocation().WithURI(uri(p.File)))
	if p.Line > 0 {
		region := sarif.NewRegion().WithStartLine(p.Line)
		if p.Column > 0 {
			region.WithStartColumn(p.Column)
		}
		at.WithRegion(region)
	}
	return sarif.NewLocation().WithPhysicalLocation(at)
}

// uri returns a file as a reference: relative to the folder in which the command
// runs, or absolute as the file is.
func uri(file string) string {
	if filepath.IsAbs(file) {
		return (&url.URL{Scheme: "file", Path: path.Join("/", filepath.ToSlash(file))}).String()
	}
	return (&url.URL{Path: filepath.ToSlash(file)}).String()
}
