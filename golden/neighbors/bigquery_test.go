package neighbors_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/golden/assert"
)

// definition matches the statement of an external table: its name, location and options.
var definition = regexp.MustCompile("(?s)\nCREATE OR REPLACE EXTERNAL TABLE `([^`]+)`\nOPTIONS \\(\n  format = 'CLOUD_BIGTABLE',\n  uris = \\['([^']+)'\\],\n  bigtable_options = r'''(.*)'''\n\\);\n$")

// location matches the URI of a table in Bigtable.
var location = regexp.MustCompile(`^https://googleapis\.com/bigtable/projects/[^/]+/instances/[^/]+(/appProfiles/[^/]+)?/tables/([^/]+)$`)

// field matches the names of fields in BigQuery.
var field = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// TestBigQuery checks the definitions of external tables against BigQuery's published schema.
func TestBigQuery(t *testing.T) {
	api := facts[struct {
		Options, Family, Column, ProtoConfig map[string]string
		Types, Encodings, EncodingsOfJSON    []string
	}](t, "bigquery")
	definitions := 0
	for _, p := range projects(t) {
		families := map[string][]string{}
		for _, l := range p.layouts {
			for _, table := range l.AllPeriods() {
				for _, f := range table.Families {
					if !slices.Contains(families[table.ID], f.Name) {
						families[table.ID] = append(families[table.ID], f.Name)
					}
				}
			}
		}
		for path, text := range p.files {
			if !strings.HasPrefix(path, "bigquery/") {
				continue
			}
			definitions++
			statement := definition.FindStringSubmatch(text)
			if statement == nil {
				t.Fatalf("%s, %s: no definition\n%s", p.name, path, text)
			}
			for _, line := range strings.Split(strings.TrimSuffix(text[:strings.Index(text, "CREATE")], "\n"), "\n") {
				if line != "" && !strings.HasPrefix(line, "--") {
					t.Errorf("%s: %q is no comment", path, line)
				}
			}
			if names := strings.Split(statement[1], "."); !field.MatchString(names[len(names)-1]) {
				t.Errorf("%s: name %s", path, statement[1])
			}
			at := location.FindStringSubmatch(statement[2])
			if at == nil || "bigquery/"+at[2]+".sql" != path || strings.Contains(statement[3], "'") {
				t.Fatalf("%s: location %s", path, statement[2])
			}
			var options map[string]any
			assert.Must(t, json.Unmarshal([]byte(statement[3]), &options), path)
			check := func(what string, have any, allowed map[string]string) map[string]any {
				object, _ := have.(map[string]any)
				for key, value := range object {
					if typ := typeOf(value); allowed[key] != typ {
						t.Errorf("%s, %s: %s is %s, want %q", path, what, key, typ, allowed[key])
					}
				}
				return object
			}
			decoding := func(what string, object map[string]any) {
				typ, encoding := object["type"], object["encoding"]
				switch {
				case !slices.Contains(api.Types, typ.(string)),
					encoding != nil && !slices.Contains(api.Encodings, encoding.(string)),
					typ == "JSON" && !slices.Contains(api.EncodingsOfJSON, encoding.(string)),
					(encoding == "PROTO_BINARY") != (object["protoConfig"] != nil),
					encoding == nil && typ != "BYTES" && typ != "STRING":
					t.Errorf("%s, %s: type %v, encoding %v", path, what, typ, encoding)
				}
				for _, key := range []string{"schemaBundleId", "protoMessageName"} {
					if c := check(what, object["protoConfig"], api.ProtoConfig); c != nil && c[key] == nil {
						t.Errorf("%s, %s: no %s", path, what, key)
					}
				}
			}
			check("options", options, api.Options)
			var have []string
			for _, each := range options["columnFamilies"].([]any) {
				family := check("family", each, api.Family)
				decoding("family", family)
				have = append(have, family["familyId"].(string))
				names := map[string]bool{}
				columns, _ := family["columns"].([]any)
				for _, each := range columns {
					column := check("column", each, api.Column)
					decoding("column", column)
					if (column["qualifierString"] == nil) == (column["qualifierEncoded"] == nil) {
						t.Errorf("%s: qualifiers of %v", path, column)
					}
					name, _ := column["fieldName"].(string)
					if name == "" {
						name = column["qualifierString"].(string)
					}
					if name = strings.ToLower(name); names[name] || !field.MatchString(name) {
						t.Errorf("%s: field %q", path, name)
					}
					names[name] = true
				}
			}
			if !slices.Equal(slices.Sorted(slices.Values(have)), slices.Sorted(slices.Values(families[at[2]]))) {
				t.Errorf("%s: families %v, want %v", path, have, families[at[2]])
			}
		}
	}
	if definitions < 25 {
		t.Errorf("only %d definitions", definitions)
	}
}

// typeOf returns the type of a JSON value.
func typeOf(v any) string {
	return map[string]string{"string": "string", "bool": "boolean", "[]interface {}": "array", "map[string]interface {}": "object"}[fmt.Sprintf("%T", v)]
}
