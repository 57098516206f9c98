package names

import (
	"fmt"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/golden/testschema"
)

// schemaOf returns a schema of package app. more is added to its only table.
func schemaOf(name, series, fields, table, ttl string, more ...string) string {
	return fmt.Sprintf(`btgen: v1
package: app
name: %s
series: {%s}
time: {precision: 1s}
fields: {%s}
tables:
  %s:
    pattern: bucket_new_cells
    key: {delimiter: "#", segments: [host, bucket]}
    bucket: 1h
    family: m
    ttl: %s
%s`, name, series, fields, table, ttl, strings.Join(more, "\n"))
}

// checked returns the findings of Check in schemas with the file names a.yaml, b.yaml
// and so on.
func checked(t *testing.T, schemas ...string) []string {
	t.Helper()
	var layouts []*layout.Layout
	for i, text := range schemas {
		_, l := testschema.Parse(t, string(rune('a'+i))+".yaml", text)
		layouts = append(layouts, l)
	}
	var out []string
	for _, d := range Check(layouts) {
		out = append(out, fmt.Sprintf("%s: %s (%s)", d.Pos, d.Message, d.Hint))
	}
	return out
}

// A collision is one finding. It names what the user wrote, the place of the other name
// if that is in another file, and what to rename.
func TestCheck(t *testing.T) {
	const age, classes = "{max_age: 30d}", "{classes: {short: 1h, Short: 3d}}"
	for name, tt := range map[string]struct {
		schemas, want []string
	}{
		"none": {[]string{schemaOf("Event", "host: string", "value: int64", "events", age), schemaOf("Reading", "host: string", "value: int64", "readings", age)}, nil},
		"tables of two files": {
			[]string{schemaOf("Event", "host: string", "value: int64", "event_log_lines", age), schemaOf("EventLog", "host: string", "value: int64", "event_log_lines", age)},
			[]string{`b.yaml:8:3: table "event_log_lines" and table "event_log_lines" at a.yaml:8:3 would have the same name in Go, EventLogLinesKey (rename table "event_log_lines")`},
		},
		"a reader and a constructor": {
			[]string{schemaOf("A", "host: string", "value: int64", "as", age), schemaOf("NewA", "host: string", "value: int64", "news", age)},
			[]string{`b.yaml:3:7: schema NewA and schema A at a.yaml:3:7 would have the same name in Go, NewAWriter (rename schema NewA)`},
		},
		"TTL classes": {
			[]string{schemaOf("Event", "host: string", "value: int64", "events", classes)},
			[]string{`a.yaml:13:21: TTL class "short" and TTL class "Short" would have the same name in Go, EventClassShort (rename TTL class "short")`},
		},
		"types of TTL classes": {
			[]string{schemaOf("Usage", "host: string", "value: int64", "usage", "{classes: {short: 1h}}"), schemaOf("UsageClasses", "host: string", "value: int64", "others", "{classes: {long: 1d}}")},
			[]string{`b.yaml:3:7: the TTL classes of schema UsageClasses and the TTL classes of schema Usage at a.yaml:3:7 would have the same name in Go, UsageClass (rename schema UsageClasses)`},
		},
		"enums of two fields, of which the values collide too": {
			[]string{schemaOf("Event", "host: string", "state: {type: enum, of: [on]}, State: {type: enum, of: [on]}", "events", age)},
			[]string{`a.yaml:6:41: field "State" and field "state" would have the same name in Go, State (rename field "State")`},
		},
		"a query and a method": {
			[]string{schemaOf("Event", "host: string", "value: int64", "events", age, "queries: {Latest: {by: [host]}, ByHost: {by: [host]}, ByHostColumns: {by: [host]}}")},
			[]string{
				`a.yaml:14:11: query Latest and a method of every reader would have the same name in Go, Latest (rename query Latest)`,
				`a.yaml:14:55: query ByHostColumns and query ByHost would have the same name in Go, ByHostColumns (rename query ByHostColumns)`,
			},
		},
		"names of the runtime, which packages do not declare": {
			[]string{schemaOf("Write", "host: string", "error: {type: enum, of: [a]}", "events", age), schemaOf("Read", "host: string", "options: {type: enum, of: [a]}", "others", age)},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := checked(t, tt.schemas...); fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}
