package neighbors_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
)

// argument and resource describe what a configuration may contain.
type argument struct {
	Type     string
	Required bool
	Replaces bool // a change makes Terraform replace the resource
	Pattern  string
	Words    []string
}

type resource struct {
	Arguments map[string]argument
	Blocks    map[string]resource
}

// configured is a table as Terraform would create it.
type configured struct {
	families  map[string]codec.GCRule
	sums      map[string]bool // families of sums
	protected bool
	kept      bool // lifecycle has prevent_destroy
	splits    []string
	keySchema string
}

// TestTerraform checks the files for Terraform: its provider accepts them, they are formatted,
// and Terraform would create exactly what setup creates.
func TestTerraform(t *testing.T) {
	provider := facts[struct{ Resources map[string]resource }](t, "terraform").Resources
	for _, p := range projects(t) {
		if p.files["terraform/tables.tf"] == "" {
			continue // its btgen.yaml does not request it
		}
		text := p.files["terraform/tables.tf"]
		if formatted := string(hclwrite.Format([]byte(text))); formatted != text {
			t.Errorf("%s: terraform fmt would change\n%s", p.name, cmp.Diff(text, formatted))
		}
		got := configure(t, provider, text, "test_")
		plans := plansOf(p)
		if diff := cmp.Diff(slices.Sorted(maps.Keys(plans)), slices.Sorted(maps.Keys(got))); diff != "" {
			t.Fatalf("%s: tables (-setup +terraform)\n%s", p.name, diff)
		}
		for id, table := range got {
			plan := plans[id]
			families, sums := map[string]codec.GCRule{}, map[string]bool{}
			for _, f := range plan.Families {
				families[f.Name] = f.GC
				if f.Sums {
					sums[f.Name] = true
				}
			}
			if diff := cmp.Diff(families, table.families, cmp.Comparer(codec.GCRule.Equal)); diff != "" {
				t.Errorf("%s, table %s: families (-setup +terraform)\n%s", p.name, id, diff)
			}
			if !maps.Equal(sums, table.sums) {
				t.Errorf("%s, table %s: families of sums %v, setup has %v", p.name, id, table.sums, sums)
			}
			if protected := plan.DeletionProtection == bigtable.Protected; table.protected != protected {
				t.Errorf("%s, table %s: protected %v, setup has %v", p.name, id, table.protected, protected)
			}
			if unprotected := plan.DeletionProtection == bigtable.Unprotected; table.kept == unprotected {
				t.Errorf("%s, table %s: prevent_destroy is %v", p.name, id, table.kept)
			}
			if text := strings.Join(plan.Splits, ""); table.splits != nil && !slices.Equal(table.splits, plan.Splits) || table.splits == nil && text != "" && isASCII(text) {
				t.Errorf("%s, table %s: splits %q, setup has %q", p.name, id, table.splits, plan.Splits)
			}
			checkKeySchema(t, p.name+", table "+id, table.keySchema, plan.KeySchema)
		}
	}
}

// configure returns the tables of a configuration, by name.
func configure(t *testing.T, provider map[string]resource, text, prefix string) map[string]configured {
	t.Helper()
	file, found := hclsyntax.ParseConfig([]byte(text), "tables.tf", hcl.InitialPos)
	if found.HasErrors() {
		t.Fatal(found)
	}
	tables, labels := map[string]configured{}, map[string]cty.Value{}
	env := &hcl.EvalContext{
		Variables: map[string]cty.Value{"var": cty.ObjectVal(map[string]cty.Value{
			"instance": cty.StringVal("events"), "project": cty.NullVal(cty.String), "table_prefix": cty.StringVal(prefix)})},
		Functions: map[string]function.Function{"jsonencode": stdlib.JSONEncodeFunc},
	}
	variables := map[string]bool{}
	for _, block := range file.Body.(*hclsyntax.Body).Blocks {
		if block.Type == "variable" {
			variables[block.Labels[0]] = true
			continue
		}
		if block.Type != "resource" || len(block.Labels) != 2 {
			t.Fatalf("block %s %q", block.Type, block.Labels)
		}
		if !regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`).MatchString(block.Labels[1]) {
			t.Errorf("invalid name %q", block.Labels[1])
		}
		lifecycle := map[string]bool{}
		values := evaluate(t, env, provider[block.Labels[0]], block.Body, strings.Join(block.Labels, "."), lifecycle)
		switch block.Labels[0] {
		case "google_bigtable_table":
			table := configured{families: map[string]codec.GCRule{}, sums: map[string]bool{}, kept: lifecycle["prevent_destroy"], protected: stringOf(values["deletion_protection"]) == "PROTECTED", keySchema: stringOf(values["row_key_schema"])}
			for _, family := range block.Body.Blocks {
				if family.Type == "column_family" {
					values := evaluate(t, env, provider[block.Labels[0]].Blocks["column_family"], family.Body, "column_family", nil)
					name := stringOf(values["family"])
					table.families[name] = codec.GCRule{}
					if stringOf(values["type"]) == "intsum" { // the only one, to the provider
						table.sums[name] = true
					}
				}
			}
			if splits, has := values["split_keys"]; has {
				if !lifecycle["split_keys"] {
					t.Errorf("table %s would be replaced to change its splits", block.Labels[1])
				}
				for it := splits.ElementIterator(); it.Next(); {
					_, split := it.Element()
					table.splits = append(table.splits, split.AsString())
				}
			}
			name := stringOf(values["name"])
			if _, twice := tables[name]; twice {
				t.Errorf("table %s twice", name)
			}
			tables[name] = table
			labels[block.Labels[1]] = cty.ObjectVal(map[string]cty.Value{"name": values["name"]})
			env.Variables["google_bigtable_table"] = cty.ObjectVal(labels)
		case "google_bigtable_gc_policy":
			table, family := stringOf(values["table"]), stringOf(values["column_family"])
			rule, has := tables[table].families[family]
			if !has || rule.Kind != codec.GCNone {
				t.Errorf("a rule for family %s of table %s: %v", family, table, rule)
			}
			tables[table].families[family] = policy(t, stringOf(values["gc_rules"]))
		}
	}
	if len(variables) != 3 {
		t.Errorf("variables %v", variables)
	}
	return tables
}

// evaluate returns the arguments of a block, and checks them against a schema.
func evaluate(t *testing.T, env *hcl.EvalContext, allowed resource, body *hclsyntax.Body, name string, lifecycle map[string]bool) map[string]cty.Value {
	t.Helper()
	values := map[string]cty.Value{}
	for key, a := range body.Attributes {
		rule, known := allowed.Arguments[key]
		if !known {
			t.Errorf("%s: unknown argument %s", name, key)
			continue
		}
		value, found := a.Expr.Value(env)
		if found.HasErrors() {
			t.Fatal(found)
		}
		values[key] = value
		switch {
		case value.IsNull() && !rule.Required:
		case rule.Type == "list" && value.Type().IsTupleType():
		case rule.Type != "string" || value.Type() != cty.String,
			rule.Words != nil && !slices.Contains(rule.Words, value.AsString()),
			rule.Pattern != "" && !regexp.MustCompile(rule.Pattern).MatchString(value.AsString()):
			t.Errorf("%s: invalid %s: %#v", name, key, value)
		}
	}
	for key, rule := range allowed.Arguments {
		if _, has := values[key]; rule.Required && !has {
			t.Errorf("%s: no %s", name, key)
		}
	}
	for _, block := range body.Blocks {
		if block.Type == "lifecycle" && lifecycle != nil {
			for key, a := range block.Body.Attributes {
				lifecycle[key] = true
				for _, ignored := range a.Expr.Variables() {
					lifecycle[ignored.RootName()] = true
				}
			}
		} else if _, known := allowed.Blocks[block.Type]; !known {
			t.Errorf("%s: unknown block %s", name, block.Type)
		}
	}
	return values
}

// stringOf returns a string; empty if there is none.
func stringOf(v cty.Value) string {
	if v == cty.NilVal || v.IsNull() {
		return ""
	}
	return v.AsString()
}

// policy returns the rule that the provider creates of gc_rules.
func policy(t *testing.T, text string) codec.GCRule {
	t.Helper()
	var top map[string]any
	assert.Must(t, json.Unmarshal([]byte(text), &top), text)
	rule, err := policyOf(top, true)
	assert.Must(t, err, text)
	return rule
}

// policyOf interprets a rule like the provider: one with a mode has several others, and the
// one at the top is a list of one without.
func policyOf(p map[string]any, top bool) (codec.GCRule, error) {
	mode, combined := p["mode"].(string)
	var rules []codec.GCRule
	list, _ := p["rules"].([]any)
	for _, each := range list {
		inner, ok := each.(map[string]any)
		if !ok {
			return codec.GCRule{}, fmt.Errorf("%v is no rule", each)
		}
		rule, err := policyOf(inner, false)
		if err != nil {
			return codec.GCRule{}, err
		}
		rules = append(rules, rule)
	}
	kinds := map[string]codec.GCKind{"union": codec.GCUnion, "intersection": codec.GCIntersection}
	switch {
	case combined && len(p) == 2 && len(rules) >= 2 && kinds[mode] != 0:
		return codec.GCRule{Kind: kinds[mode], Rules: rules}, nil
	case top && len(p) == 1 && len(rules) == 1:
		return rules[0], nil
	case top || len(p) != 1:
		return codec.GCRule{}, fmt.Errorf("%v", p)
	}
	if age, is := p["max_age"].(string); is {
		d, err := time.ParseDuration(age)
		return codec.GCRule{Kind: codec.GCMaxAge, MaxAge: d}, err
	}
	versions, is := p["max_version"].(float64)
	if !is || versions != float64(int(versions)) || versions < 1 {
		return codec.GCRule{}, fmt.Errorf("%v", p)
	}
	return codec.GCRule{Kind: codec.GCMaxVersions, MaxVersions: int(versions)}, nil
}

// plansOf returns the tables that setup creates of a project, by name.
func plansOf(p project) map[string]store.Table {
	plans := map[string]store.Table{}
	for _, l := range p.layouts {
		for _, table := range dynamic.New(l).Tables() {
			id := "test_" + table.ID
			if have, shared := plans[id]; shared {
				for _, f := range have.Families {
					if !slices.ContainsFunc(table.Families, func(other store.Family) bool { return other.Name == f.Name }) {
						table.Families = append(table.Families, f)
					}
				}
				table.Splits = slices.Compact(slices.Sorted(slices.Values(append(table.Splits, have.Splits...))))
				table.DeletionProtection = max(table.DeletionProtection, have.DeletionProtection)
			}
			plans[id] = table
		}
	}
	return plans
}

// checkKeySchema compares a row key schema, as the provider parses it, with that of setup.
func checkKeySchema(t *testing.T, name, text string, want *store.KeySchema) {
	t.Helper()
	if text == "" || want == nil {
		if text != "" || want != nil {
			t.Errorf("%s: row key schema %q, setup has %v", name, text, want)
		}
		return
	}
	got, err := bigtable.UnmarshalJSON([]byte(text))
	assert.Must(t, err, name)
	key := bigtable.StructType{Encoding: bigtable.StructSingletonEncoding{}}
	if want.Delimiter != "" {
		key.Encoding = bigtable.StructDelimitedBytesEncoding{Delimiter: []byte(want.Delimiter)}
	}
	for _, f := range want.Fields {
		var typ bigtable.Type = bigtable.StringType{Encoding: bigtable.StringUtf8BytesEncoding{}}
		if f.Bytes {
			typ = bigtable.BytesType{Encoding: bigtable.RawBytesEncoding{}}
		}
		key.Fields = append(key.Fields, bigtable.StructField{FieldName: f.Name, FieldType: typ})
	}
	if !bigtable.Equal(got, key) {
		t.Errorf("%s: row key schema %v, setup has %v", name, got, want)
	}
}

func isASCII(s string) bool {
	return !slices.ContainsFunc([]byte(s), func(c byte) bool { return c < ' ' || c > '~' })
}
