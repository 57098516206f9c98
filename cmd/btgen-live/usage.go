package main

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/words"
)

//go:embed usage.txt
var usageText string

// usage returns a command with a usage: what it does, and its help.
func usage(use, text string) *cobra.Command {
	short, long, _ := strings.Cut(text, "\n\n")
	return &cobra.Command{Use: use, Short: short, Long: expanded(long)}
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
			return words.List(dynamic.StatisticNames(), "or")
		}
		return expanded(section(name + "\n"))
	})
}

// formatsText describes the formats of input, one per line.
func formatsText() string {
	var b strings.Builder
	for _, f := range format.Formats((*format.Format).Reads) {
		of := ""
		if f.Extensions != nil {
			of = " (" + strings.Join(f.Extensions, ", ") + ")"
		}
		fmt.Fprintf(&b, "  %-12s %s%s\n", f.Name, f.Title, of)
	}
	return b.String()
}

// addFlags adds the flags of the command, which its usage lists.
func (r *request) addFlags() {
	parameters := r.parameters()
	for line := range strings.Lines(expanded(section("{" + r.command + " flags}\n"))) {
		name, help, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "!" {
			names, why, _ := strings.Cut(help, ": ")
			cli.Exclusive(r.cmd, why, strings.Fields(names)...)
			continue
		}
		name, preset, _ := strings.Cut(strings.TrimPrefix(name, "--"), "=")
		add(r.cmd.Flags(), name, parameters[name], preset, help)
	}
}
