package neighbor

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// terraformAbout introduces the file for Terraform.
const terraformAbout = `# The tables of the schemas with their families and garbage collection rules, as setup creates them.
# To use them, refer to this folder as a module:
#
#   module "bigtable" {
#     source   = "./generated/terraform"
#     instance = google_bigtable_instance.events.name
#   }
#
# Terraform deletes a column family, with all its data, as soon as its block is missing here.
# It does so in place, so prevent_destroy does not stop it. Only deletion_protection does.

variable "instance" {
  description = "The name of the Bigtable instance."
  type        = string
}

variable "project" {
  description = "The project of the instance; null for that of the provider."
  type        = string
  default     = null
}

variable "table_prefix" {
  description = "What the names of all tables begin with, like TablePrefix in Go."
  type        = string
  default     = ""
}
`

// terraform renders all tables for Terraform's Google provider.
func (r *renderer) terraform() {
	live := r.live()
	names := r.unique(live, "Terraform", words.Identifier)
	resources := map[string]string{} // of garbage collection rules, by name
	var b strings.Builder
	b.WriteString(terraformAbout)
	for _, t := range r.tables {
		if t.Draft {
			b.WriteString("\n" + comment("#", "Table %s is a draft, which setup creates only in an emulator.", t.ID))
			continue
		}
		b.WriteString("\n" + terraformTable(&t, names[t.ID]))
		for i := range t.Families {
			f := &t.Families[i]
			rule := f.GC.Normalize()
			if rule.Kind == codec.GCNone {
				continue // a new family keeps everything
			}
			name := names[t.ID] + "_" + words.Identifier(f.Name)
			if other, taken := resources[name]; taken && !r.found.HasErrors() {
				r.found.Errorf(f.Pos, "in Terraform, the rules of family %q of table %q and of %s would both be %s", f.Name, t.ID, other, name).Hint = "rename the family"
			}
			resources[name] = fmt.Sprintf("family %q of table %q", f.Name, t.ID)
			b.WriteString("\n" + terraformRule(names[t.ID], name, f.Name, rule))
		}
	}
	r.add("terraform/tables.tf", recordOf(r.tables...).Head(), b.String())
}

// terraformTable renders a table.
func terraformTable(t *layout.StoredTable, name string) string {
	var b strings.Builder
	b.WriteString(comment("#", "%s", tableAbout(t)))
	fmt.Fprintf(&b, "resource \"google_bigtable_table\" %q {\n", name)
	attributes := [][2]string{{"name", `"${var.table_prefix}` + t.ID + `"`}, {"instance_name", "var.instance"}, {"project", "var.project"}}
	if t.Protected != nil {
		attributes = append(attributes, [2]string{"deletion_protection", map[bool]string{true: `"PROTECTED"`, false: `"UNPROTECTED"`}[*t.Protected]})
	}
	b.WriteString(aligned("  ", attributes))
	b.WriteString(terraformTier(t))
	if t.Bundle.ID != "" && !t.Bundle.Drop {
		b.WriteString("\n" + indent(comment("#", "Setup also uploads schema bundle %s, with the messages of the events.", t.Bundle.ID)))
	}
	if slices.ContainsFunc(t.Layouts, func(l layout.StoredLayout) bool { return len(l.Table.Views) > 0 }) {
		b.WriteString("\n" + indent(comment("#", "The folder materialized_views has queries for views of this table.")))
	}
	splits, fits := terraformSplits(t.Splits)
	switch {
	case !fits:
		b.WriteString("\n" + indent(comment("#", "Setup also splits a new table, at row keys that are no text: Terraform cannot represent them.")))
	case splits != "":
		b.WriteString("\n" + splits)
	}
	for _, f := range t.Families {
		b.WriteString("\n" + indent(familyAbout(t, &f)))
		attributes := [][2]string{{"family", quoted(f.Name)}}
		if f.Sums {
			attributes = append(attributes, [2]string{"type", `"intsum"`})
		}
		fmt.Fprintf(&b, "  column_family {\n%s  }\n", aligned("    ", attributes))
	}
	if t.KeyFields != nil {
		b.WriteString("\n" + terraformKeySchema(t))
	}
	b.WriteString(terraformLifecycle(t, splits != "") + "}\n")
	return b.String()
}

// terraformTier says that Terraform leaves the tier of a table alone. The resource of the Google
// provider had no argument for it on 2026-11-25.
func terraformTier(t *layout.StoredTable) string {
	after, moves := t.Tier.After()
	if !moves {
		return ""
	}
	return "\n" + indent(comment("#", "Setup also moves cells to the infrequent access tier after %s: the resource has no argument for it.", schema.FormatDuration(after)))
}

// tableAbout describes a table.
func tableAbout(t *layout.StoredTable) string {
	var parts []string
	for _, l := range t.Layouts {
		part := "the events of " + l.Schema.Name
		if period := l.Table.Period(); period != "" {
			part += " " + period
		}
		parts = append(parts, part)
	}
	return fmt.Sprintf("Table %s contains %s.", t.ID, words.List(parts, "and"))
}

// familyAbout is a comment about a family that has a rollup or sums, or that only earlier layouts use; empty for others.
func familyAbout(t *layout.StoredTable, f *layout.Family) string {
	if f.Sums {
		return comment("#", "Family %s has sums which tell in which rows the newest event had several versions.", f.Name)
	}
	if onlyRollup(t, f.Name) {
		return comment("#", "Family %s has windows of the events, which outlive them.", f.Name)
	}
	for _, l := range t.Layouts {
		if !l.Table.Until.IsZero() {
			continue
		}
		for _, own := range l.Table.Families {
			if own.Name == f.Name {
				return ""
			}
		}
	}
	return comment("#", "Only earlier layouts have this family. It must stay until their events have expired.")
}

// onlyRollup reports whether a family has no events, but a rollup.
func onlyRollup(t *layout.StoredTable, family string) bool {
	return !slices.ContainsFunc(t.Layouts, func(l layout.StoredLayout) bool {
		return slices.ContainsFunc(l.Table.Families, func(f layout.Family) bool { return f.Name == family })
	})
}

// terraformSplits renders the split keys of a new table. It reports false if Terraform cannot
// represent them: its strings are normalized Unicode.
func terraformSplits(splits []string) (text string, fits bool) {
	if len(splits) == 0 {
		return "", true
	}
	var items []string
	for _, split := range splits {
		for _, c := range []byte(split) {
			if c < ' ' || c > '~' {
				return "", false
			}
		}
		items = append(items, "    "+quoted(split)+",\n")
	}
	return "  split_keys = [\n" + strings.Join(items, "") + "  ]\n", true
}

// terraformKeySchema renders a row key schema, as JSON of google.bigtable.admin.v2.Type.
func terraformKeySchema(t *layout.StoredTable) string {
	var b strings.Builder
	b.WriteString(indent(comment("#", "Bigtable cannot change a row key schema: apply once without it, and then with the new one.")))
	b.WriteString("  row_key_schema = jsonencode({\n    structType = {\n      fields = [\n")
	for _, f := range t.KeyFields {
		typ := "stringType = { encoding = { utf8Bytes = {} } }"
		if f.Bytes {
			typ = "bytesType = { encoding = { raw = {} } }"
		}
		fmt.Fprintf(&b, "        { fieldName = %s, type = { %s } },\n", quoted(f.Name), typ)
	}
	encoding := "orderedCodeBytes = {}"
	if t.Delimiter != "" {
		encoding = fmt.Sprintf("delimitedBytes = { delimiter = %q }", base64.StdEncoding.EncodeToString([]byte(t.Delimiter)))
	}
	fmt.Fprintf(&b, "      ]\n      encoding = { %s }\n    }\n  })\n", encoding)
	return b.String()
}

// terraformLifecycle renders the lifecycle of a table: it is never replaced because of its
// splits, and never destroyed unless the schema allows that.
func terraformLifecycle(t *layout.StoredTable, splits bool) string {
	var attributes [][2]string
	if t.Protected == nil || *t.Protected {
		attributes = append(attributes, [2]string{"prevent_destroy", "true"})
	}
	about := ""
	if splits {
		about = "    # Terraform would replace the table, and delete all data, to change its splits.\n"
		attributes = append(attributes, [2]string{"ignore_changes", "[split_keys]"})
	}
	if len(attributes) == 0 {
		return ""
	}
	return "\n  lifecycle {\n" + about + aligned("    ", attributes) + "  }\n"
}

// terraformRule renders the garbage collection rule of a family. Removing it makes Bigtable keep
// everything, because it does not abandon the rule.
func terraformRule(table, name, family string, rule codec.GCRule) string {
	return fmt.Sprintf("resource \"google_bigtable_gc_policy\" %q {\n", name) + aligned("  ", [][2]string{
		{"instance_name", "var.instance"}, {"project", "var.project"},
		{"table", "google_bigtable_table." + table + ".name"},
		{"column_family", quoted(family)},
		{"gc_rules", "jsonencode(" + topRule(rule) + ")"},
	}) + "}\n"
}

// topRule renders a rule as the provider expects it at the top: in a list of one, unless it
// combines others.
func topRule(rule codec.GCRule) string {
	if rule.Kind == codec.GCUnion || rule.Kind == codec.GCIntersection {
		return gcRule(rule)
	}
	return "{ rules = [" + gcRule(rule) + "] }"
}

// gcRule renders a rule as the provider expects it within others.
func gcRule(rule codec.GCRule) string {
	switch rule.Kind {
	case codec.GCMaxAge:
		return fmt.Sprintf("{ max_age = %q }", age(rule.MaxAge))
	case codec.GCMaxVersions:
		return fmt.Sprintf("{ max_version = %d }", rule.MaxVersions)
	}
	mode := "union"
	if rule.Kind == codec.GCIntersection {
		mode = "intersection"
	}
	var rules []string
	for _, each := range rule.Rules {
		rules = append(rules, gcRule(each))
	}
	return fmt.Sprintf("{ mode = %q, rules = [%s] }", mode, strings.Join(rules, ", "))
}

// age formats an age in the largest unit that divides it.
func age(d time.Duration) string {
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}, {time.Millisecond, "ms"}} {
		if d%unit.of == 0 {
			return fmt.Sprintf("%d%s", d/unit.of, unit.name)
		}
	}
	return fmt.Sprintf("%dns", d)
}

// aligned renders attributes as terraform fmt does.
func aligned(indent string, attributes [][2]string) string {
	width := 0
	for _, a := range attributes {
		width = max(width, len(a[0]))
	}
	var b strings.Builder
	for _, a := range attributes {
		fmt.Fprintf(&b, "%s%-*s = %s\n", indent, width, a[0], a[1])
	}
	return b.String()
}

// quoted returns a string literal of printable ASCII in Terraform's language.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "${", "$${", "%{", "%%{").Replace(s) + `"`
}

// indent indents comment lines by one block.
func indent(lines string) string {
	if lines == "" {
		return ""
	}
	return "  " + strings.ReplaceAll(strings.TrimSuffix(lines, "\n"), "\n", "\n  ") + "\n"
}
