package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/document"
	"github.com/btgen-dev/btgen/gen/lint"
	"github.com/btgen-dev/btgen/gen/words"
)

// newExplainRule returns the command explain rule.
func newExplainRule() *cobra.Command {
	return &cobra.Command{
		Use:   "rule [id...]",
		Short: "Show why a rule exists and what to do, or list all rules",
		Long: `Show what a rule such as K01 is about, why, with a source, what to do, how to allow it, and
which edits of schemas it finds. Without an argument, list all rules.

A schema file or folder with the name of this command is ./rule.`,
		RunE: func(cmd *cobra.Command, ids []string) error {
			rules, err := rulesNamed(ids)
			if err != nil {
				return err
			}
			doc := document.New()
			if len(ids) == 0 {
				doc.Sections = append(doc.Sections, listOf(rules))
			}
			for i := range ids {
				doc.Sections = append(doc.Sections, sectionOf(rules[i]))
			}
			out := cmd.OutOrStdout()
			_, err = fmt.Fprint(out, doc.Text(document.TextOptions{Color: cli.Colored(out), Width: cli.Width(out)}))
			return err
		},
	}
}

// rulesNamed returns the rules with the IDs, and all if there are none.
func rulesNamed(ids []string) ([]lint.Rule, error) {
	all := lint.Rules()
	if len(ids) == 0 {
		return all, nil
	}
	var known []string
	for _, r := range all {
		known = append(known, r.ID)
	}
	var out []lint.Rule
	for _, id := range ids {
		i := slices.Index(known, strings.ToUpper(id))
		if i < 0 {
			return nil, noRule(id, known)
		}
		out = append(out, all[i])
	}
	return out, nil
}

// noRule returns the error for an unknown rule.
func noRule(id string, known []string) error {
	way := "btgen explain rule lists all"
	if near, ok := diag.Nearest(strings.ToUpper(id), known); ok {
		way = "did you mean " + near + "?"
	}
	return fmt.Errorf("rule %s is unknown: %s; a schema with this name is ./rule", words.Printable(id), way)
}

// listOf returns a section with a line per rule.
func listOf(rules []lint.Rule) *document.Section {
	s := &document.Section{ID: "rules", Title: "rules"}
	t := s.Table(document.Code.Column("rule"), document.Plain.Column("about"), document.Muted.Column("class"))
	for _, r := range rules {
		t.Row(nil, r.ID, r.Title, r.Class())
	}
	return s
}

// sectionOf returns the description of a rule.
func sectionOf(r lint.Rule) *document.Section {
	s := &document.Section{ID: r.ID, Title: r.ID + ": " + r.Title}
	for _, paragraph := range r.Description() {
		s.Say(paragraph)
	}
	return s
}
