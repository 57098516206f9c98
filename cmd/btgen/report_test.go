package main

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/cmd/btgen/internal/report"
	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/lint"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/golden/assert"
)

// The tests of package report stand here: its reports are those of this command, and a test program takes a second to
// link.

// reported contains a finding of each severity, some without a rule, a place or a hint, and characters that GitHub and
// Markdown interpret.
var reported = diag.List{
	{Pos: diag.Pos{File: "schemas/a b.yaml", Line: 3, Column: 7}, Rule: "K01", Message: "100% of <keys>", Hint: "write\nit: a, b"},
	{Pos: diag.Pos{File: "c:,d.yaml", Line: 1}, Severity: diag.Warning, Message: "doubtful\r\n::error::injected"},
	{Severity: diag.Advice, Rule: "C01", Message: "look"},
	{
		Pos: diag.Pos{File: "a|b`c.yaml", Line: 1}, Class: "DATA", Severity: diag.Error, Rule: "E04",
		Message: "a|b <script> @team `x`", Note: "old\n</details>", Hint: "write\nthis",
	},
}

// TestReports compares reports with a golden file, which has only the results of SARIF: a log also lists all rules. No
// text of a schema becomes markup, or ends a table, a block or a line.
func TestReports(t *testing.T) {
	const file = "testdata/report/reports.txtar"
	inJSON, err := report.JSON(reported)
	must(t, err)
	got := &txtar.Archive{Files: []txtar.File{
		{Name: "github", Data: report.GitHub(reported)}, {Name: "json", Data: inJSON}, {Name: "markdown", Data: report.Markdown("title", reported)},
		{Name: "sarif", Data: sarifResults(t)},
	}}
	if *update {
		must(t, os.WriteFile(file, txtar.Format(got), 0o666))
	}
	want, err := os.ReadFile(file)
	must(t, err)
	assert.Same(t, string(want), string(txtar.Format(got)))
	assert.Same(t, "### nothing\n", string(report.Markdown("nothing", nil)))
	if got, err := report.JSON(nil); err != nil || string(got) != "{\n  \"findings\": []\n}\n" {
		t.Errorf("nothing is %s, %v", got, err)
	}
}

// ruleIndex matches the place of a rule in a log.
var ruleIndex = regexp.MustCompile(`\s*"ruleIndex": \d+,`)

// sarifResults returns the results in a log, which is valid according to SARIF's JSON Schema, and has all rules.
func sarifResults(t *testing.T) []byte {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	schema, err := compiler.Compile("testdata/report/sarif-schema-2.1.0.json")
	must(t, err)
	var out bytes.Buffer
	for _, found := range []diag.List{nil, reported} {
		text, err := report.SARIF(found, "v1.2.3")
		must(t, err)
		log, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		must(t, err)
		assert.Is(t, nil, schema.Validate(log), text)
		var parts struct {
			Runs []struct {
				Tool struct {
					Driver struct {
						Version string
						Rules   []struct{ ID string }
					}
				}
				Results []json.RawMessage
			}
		}
		must(t, json.Unmarshal(text, &parts))
		driver := parts.Runs[0].Tool.Driver
		assert.Same(t, "v1.2.3", driver.Version)
		rules := map[string]bool{}
		for _, r := range driver.Rules {
			rules[r.ID] = true
		}
		for _, r := range lint.Rules() {
			assert.Same(t, true, rules[r.ID], r.ID)
		}
		for _, result := range parts.Runs[0].Results {
			var of struct {
				RuleID    string
				RuleIndex int
			}
			must(t, json.Unmarshal(result, &of))
			assert.Same(t, of.RuleID, driver.Rules[of.RuleIndex].ID)
			out.Write(ruleIndex.ReplaceAll(result, nil)) // which other rules change
			out.WriteByte('\n')
		}
	}
	return out.Bytes()
}

// Whatever the message, a finding is one line, and GitHub interprets no other line.
func TestGitHubLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("a:%,\r\n ☃"))).Draw(t, "text")
		out := string(report.GitHub(diag.List{{Pos: diag.Pos{File: text, Line: 1}, Message: text, Hint: text}}))
		if strings.Count(out, "\n") != 1 || strings.Contains(out, "\r") {
			t.Fatalf("%q is not one line", out)
		}
		data := out[strings.Index(out[2:], "::")+4 : len(out)-1]
		want := text
		if text != "" {
			want += "\nhelp: " + text
		}
		var lines []string
		for line := range strings.SplitSeq(want, "\n") {
			lines = append(lines, string(words.AppendLine(nil, []byte(line))))
		}
		want = strings.Join(lines, "\n")
		assert.Same(t, want, strings.NewReplacer("%0A", "\n", "%25", "%").Replace(data), out)
	})
}
