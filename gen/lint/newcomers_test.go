package lint_test

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/golden/assert"
)

// mostCorrections is the number of times that a newcomer corrects a schema: each time,
// everything that btgen reports.
const mostCorrections = 3

// promised maps the schemas of newcomers to parts of their final form that are not only
// valid, but what their authors intended.
var promised = map[string][]string{
	"iot_temp.yaml":    {"max_age: 14d"},
	"no_series.yaml":   {"series: {station: string}"},
	"trades.yaml":      {"max_age: 2557d", "of: [buy, sell]"},
	"applogs.yaml":     {"max_age: 14d", "of: [debug, info, warn, error]", "[service, host, time]"},
	"smart_meter.yaml": {"max_age: 731d", "bucket: 1mo"},
	"health_hr.yaml":   {"patient: string, device: string", "segments: [patient, device, bucket]", "keep: forever"},
	"ad_clicks.yaml":   {"max_age: 397d", "[campaign, creative, time]"},
	"fleet_gps.yaml":   {"max_age: 366d", "unit: km/h"},
	"billing.yaml":     {"max_age: 3653d"},
	"audit.yaml":       {"keep: forever"},
	"iso_time.yaml":    {"2006-01-02T15:04:05"},
	"query.yaml":       {"by: [garage]"},
	"hash_salt.yaml":   {"hash: [site], buckets: 16"},
	"ttl_list.yaml":    {"max_age: 30d"},
	"ratelimit.yaml":   {"rate: 1/s", "series: 10000"},
}

// edits are corrections that messages describe, but that cannot be pasted.
var edits = map[string]*strings.Replacer{
	"tabs.yaml":            strings.NewReplacer("\t", "  "),                                                                                                                                                                                  // indent with two spaces in place of each tab
	"dup_keys.yaml":        strings.NewReplacer("unit: V}", "unit: V}", "  voltage: {type: float64, unit: mV}\n", "", "    family: q\n", ""),                                                                                                 // remove one
	"indent.yaml":          strings.NewReplacer("  pattern:", "    pattern:", "  key:", "    key:", "  bucket:", "    bucket:", "  family:", "    family:", "  ttl:", "    ttl:"),                                                            // indent the lines of the table by two more spaces
	"multi_tables.yaml":    strings.NewReplacer("  - name: events_by_user", "  events_by_user:", "  - name: events_by_app", "  events_by_app:"),                                                                                              // write "events_by_user:" in place of "- name: events_by_user"
	"reserved.yaml":        strings.NewReplacer("package: type", "package: kinds", "  time: string\n  bucket: string", "  zone: string\n  box: string", "time: timestamp", "at: timestamp", "[time, bucket, bucket]", "[zone, box, bucket]"), // choose another name
	"fields_in_table.yaml": strings.NewReplacer("tables:\n", "fields:\n  altitude: float64\n  speed: float64\ntables:\n", "    fields:\n      altitude: float64\n      speed: float64\n", ""),                                                // move it out of the tables, to the top level
	"two_docs.yaml":        strings.NewReplacer("unit: %", `unit: "%"`, "delimiter: #", `delimiter: "#"`),                                                                                                                                    // quote strings that begin with %; # begins a comment
	"anchor.yaml":          strings.NewReplacer("&s ", "", "*s", "{type: string, example: r12}"),                                                                                                                                             // remove the anchor; write out the value
}

// unguided lists the schemas of newcomers that messages do not lead to a valid one.
var unguided = map[string]string{
	"crypto_ticks.yaml": "its author must choose a pattern for a thousand events a second",
}

// TestNewcomers corrects schemas like a newcomer who pastes the first proposal of each
// finding and knows nothing else. After a few corrections btgen must accept each, with the
// meaning that its author intended.
func TestNewcomers(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/newcomers.txtar")
	must(t, err)
	for _, f := range archive.Files {
		t.Run(strings.TrimSuffix(f.Name, ".yaml"), func(t *testing.T) {
			p, corrections := project{f.Name: f.Data}, 0
			if edit := edits[f.Name]; edit != nil {
				if found, _ := p.find(); !found.HasErrors() {
					t.Error("there is nothing to edit")
				}
				p, corrections = p.with(f.Name, edit.Replace(string(f.Data))), 1
			}
			for ; corrections < mostCorrections; corrections++ {
				if found, _ := p.find(); !found.HasErrors() {
					break
				}
				p = project{f.Name: []byte(corrected(t, string(p[f.Name])))}
			}
			found, _ := p.find()
			if reason := unguided[f.Name]; found.HasErrors() != (reason != "") {
				t.Errorf("after %d corrections (%q):\n%s\n%v", corrections, reason, p[f.Name], found.Err())
			}
			for _, part := range promised[f.Name] {
				assert.Contains(t, part, string(p[f.Name]), p[f.Name])
			}
		})
	}
}

// pasted returns a schema with a proposal applied: where it does no harm or, if it always
// does, in the nearest place. It returns "" if there is none.
func pasted(t *testing.T, text []byte, d diag.Diagnostic, proposal string) string {
	t.Helper()
	if out, ok := follow(t, text, d, proposal); ok {
		return out
	}
	doc := parsed(t, string(text))
	key, _, _ := strings.Cut(strings.TrimPrefix(proposal, "-"), ":")
	p, ok := find(doc, d.Pos, nil)
	if !ok || len(p.mappings(key)) == 0 || !followIn(t, doc, p, p.mappings(key)[0], d, proposal) {
		return ""
	}
	return encode(t, doc)
}

// corrected returns a schema with the first proposal of each error applied, in the order
// of the report.
func corrected(t *testing.T, text string) string {
	t.Helper()
	done := map[string]bool{}
	for {
		found, _ := project{"x.yaml": []byte(text)}.find()
		next, any := "", false
		for _, d := range found {
			key := places.ReplaceAllString(d.Message, "")
			if d.Severity != diag.Error || done[key] {
				continue
			}
			done[key], any = true, true
			if proposals := proposalsOf(d.Hint); len(proposals) > 0 {
				next = pasted(t, []byte(text), d, proposals[0])
			}
			break
		}
		switch {
		case next != "":
			text = next
		case !any:
			return text
		}
	}
}
