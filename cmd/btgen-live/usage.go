package main

import (
	_ "embed"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/dynamic"
)

//go:embed usage.txt
var usageText string

// command returns a command that calls run, with its usage.
func command(name string, run func(cmd *cobra.Command, args []string) error) *cobra.Command {
	arguments, text, _ := strings.Cut(section(name+" "), "\n")
	short, long, _ := strings.Cut(text, "\n\n")
	return &cobra.Command{Use: name + " " + arguments, Short: short, Long: expanded(long), RunE: run}
}

// section returns a section of the usage, after its name.
func section(name string) string {
	_, text, _ := strings.Cut(usageText, "\n== "+name)
	text, _, _ = strings.Cut(text, "\n\n== ")
	return strings.TrimSuffix(text, "\n")
}

var reference = regexp.MustCompile(`\{[a-z]+\}`)

// expanded returns a text with others in place of their names.
func expanded(text string) string {
	return reference.ReplaceAllStringFunc(text, func(name string) string {
		switch name {
		case "{paths}":
			return cli.PathsHelp
		case "{formats}":
			return strings.TrimSpace(formatsText())
		case "{statistics}":
			return dynamic.StatisticNames()
		}
		return expanded(section(name + "\n"))
	})
}
