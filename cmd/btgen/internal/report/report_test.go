package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/lint"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/golden/assert"
)

// sample contains a finding of each severity, some without a rule, a place or a hint,
// and characters that GitHub interprets.
var sample = diag.List{
	{Pos: diag.Pos{File: "schemas/a b.yaml", Line: 3, Column: 7}, Rule: "K01", Message: "100% of <keys>", Hint: "write\nit: a, b"},
	{Pos: diag.Pos{File: "c:,d.yaml", Line: 1}, Severity: diag.Warning, Message: "doubtful\r\n::error::injected"},
	{Severity: diag.Advice, Rule: "C01", Message: "look"},
}

func TestGitHub(t *testing.T) {
	const want = `::error file=schemas/a b.yaml,line=3,col=7,title=btgen K01::100%25 of <keys>%0Ahelp: write%0Ait: a, b
::warning file=c%3A%2Cd.yaml,line=1,title=btgen::doubtful\u000d%0A:\:error::injected
::notice title=btgen C01::look
`
	assert.Same(t, want, string(GitHub(sample)))
}

// Whatever the message, a finding is one line, and GitHub interprets no other line.
func TestGitHubLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("a:%,\r\n ☃"))).Draw(t, "text")
		out := string(GitHub(diag.List{{Pos: diag.Pos{File: text, Line: 1}, Message: text, Hint: text}}))
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
		if got := strings.NewReplacer("%0A", "\n", "%25", "%").Replace(data); got != want {
			t.Fatalf("%q is read as %q, want %q", out, got, want)
		}
	})
}

func TestJSON(t *testing.T) {
	got, err := JSON(sample)
	must(t, err)
	const want = `{
  "findings": [
    {
      "file": "schemas/a b.yaml",
      "line": 3,
      "column": 7,
      "severity": "error",
      "rule": "K01",
      "message": "100% of <keys>",
      "help": "write\nit: a, b"
    },
    {
      "file": "c:,d.yaml",
      "line": 1,
      "severity": "warning",
      "message": "doubtful\r\n\u003a\u003aerror\u003a\u003ainjected"
    },
    {
      "severity": "advice",
      "rule": "C01",
      "message": "look"
    }
  ]
}
`
	assert.Same(t, want, string(got))
	if got, err := JSON(nil); err != nil || string(got) != "{\n  \"findings\": []\n}\n" {
		t.Errorf("nothing is %s, %v", got, err)
	}
}

// A log is valid according to SARIF's JSON Schema, and contains every finding and every
// rule.
func TestSARIF(t *testing.T) {
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	schema, err := compiler.Compile("testdata/sarif-schema-2.1.0.json")
	must(t, err)
	for _, found := range []diag.List{nil, sample} {
		text, err := SARIF(found, "v1.2.3")
		must(t, err)
		log, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		must(t, err)
		assert.Is(t, nil, schema.Validate(log), text)
	}
	text, err := SARIF(sample, "v1.2.3")
	must(t, err)
	var log struct {
		Runs []struct {
			Tool struct {
				Driver struct {
					Name, Version string
					Rules         []struct{ ID string }
				}
			}
			Results []struct {
				RuleID    string
				RuleIndex int
				Level     string
				Message   struct{ Text string }
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           struct{ StartLine, StartColumn int }
					}
				}
			}
		}
	}
	must(t, json.Unmarshal(text, &log))
	run := log.Runs[0]
	if got, want := len(run.Tool.Driver.Rules), len(lint.Rules())+1; got != want || run.Tool.Driver.Version != "v1.2.3" {
		t.Errorf("%d rules of version %q, want %d", got, run.Tool.Driver.Version, want)
	}
	for i, want := range []struct {
		rule, level, message, uri string
		line, column              int
	}{
		{"K01", "error", "100% of <keys>\nhelp: write\nit: a, b", "schemas/a%20b.yaml", 3, 7},
		{languageRule, "warning", "doubtful\r\n::error::injected", "./c:,d.yaml", 1, 0},
		{"C01", "note", "look", "", 0, 0},
	} {
		got := run.Results[i]
		if run.Tool.Driver.Rules[got.RuleIndex].ID != got.RuleID || got.RuleID != want.rule || got.Level != want.level || got.Message.Text != want.message {
			t.Errorf("result %d is %+v, want %+v", i, got, want)
		}
		if (len(got.Locations) == 0) != (want.uri == "") {
			t.Errorf("result %d has %d places", i, len(got.Locations))
			continue
		}
		if want.uri == "" {
			continue
		}
		at := got.Locations[0].PhysicalLocation
		if at.ArtifactLocation.URI != want.uri || at.Region.StartLine != want.line || at.Region.StartColumn != want.column {
			t.Errorf("result %d is at %+v, want %+v", i, at, want)
		}
	}
}

// TestMarkdown checks that texts of schemas cannot become markup or end a table or a block.
func TestMarkdown(t *testing.T) {
	got := string(Markdown("title", diag.List{
		{Pos: diag.Pos{File: "a|b`c.yaml", Line: 1}, Class: "DATA", Severity: diag.Error, Rule: "E04", Message: "a|b <script> @team `x`", Note: "old\n</details>", Hint: "write\nthis"},
		{Severity: diag.Advice, Message: "plain"},
	}))
	const want = "### title\n\n| class | rule | place | change |\n|---|---|---|---|\n" +
		"| DATA | E04 | `a\\|b'c.yaml:1` | a\\|b &lt;script&gt; &#64;team \\`x\\` |\n| advice |  |  | plain |\n" +
		"\n<details><summary>E04 a|b`c.yaml:1</summary>\n\n    old\n    </details>\n    write\n    this\n\n</details>\n"
	assert.Same(t, want, got)
	assert.Same(t, "### nothing\n", string(Markdown("nothing", nil)))
}

var must = assert.Must
