package report

import (
	"net/url"
	"path"
	"path/filepath"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/lint"
)

// languageRule is the rule ID of errors in the schema language.
const languageRule = "language"

// The parts of a SARIF log that btgen writes.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID                   string             `json:"id"`
		ShortDescription     sarifText          `json:"shortDescription"`
		FullDescription      *sarifText         `json:"fullDescription,omitempty"`
		Help                 *sarifText         `json:"help,omitempty"`
		DefaultConfiguration sarifConfiguration `json:"defaultConfiguration"`
	}
	sarifConfiguration struct {
		Level string `json:"level"`
	}
	sarifText struct {
		Text     string `json:"text"`
		Markdown string `json:"markdown,omitempty"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifLocation struct {
		PhysicalLocation sarifPlace `json:"physicalLocation"`
	}
	sarifPlace struct {
		ArtifactLocation sarifArtifact `json:"artifactLocation"`
		Region           *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`             // from 1
		StartColumn int `json:"startColumn,omitempty"` // in characters, from 1
	}
)

// SARIF returns the findings as a SARIF 2.1.0 log for code scanning. The log describes all
// rules. version is that of btgen.
//
// Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
func SARIF(found diag.List, version string) ([]byte, error) {
	rules, index := sarifRules()
	results := make([]sarifResult, len(found))
	for i, d := range found {
		rule := d.Rule
		if rule == "" {
			rule = languageRule
		}
		results[i] = sarifResult{
			RuleID: rule, RuleIndex: index[rule], Level: sarifLevel(d.Severity),
			Message: sarifText{Text: message(d)}, Locations: locate(d.Pos),
		}
	}
	driver := sarifDriver{Name: "btgen", Version: version, InformationURI: "https://github.com/btgen-dev/btgen", Rules: rules}
	return encode(sarifLog{
		Schema:  "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
		Version: "2.1.0",
		Runs:    []sarifRun{{Tool: sarifTool{driver}, ColumnKind: "unicodeCodePoints", Results: results}},
	})
}

// sarifRules returns all rules, and their indexes by ID.
func sarifRules() (rules []sarifRule, index map[string]int) {
	rules = []sarifRule{{
		ID:                   languageRule,
		ShortDescription:     sarifText{Text: "an error in the schema language"},
		DefaultConfiguration: sarifConfiguration{sarifLevel(diag.Error)},
	}}
	for _, rule := range lint.Rules() {
		rules = append(rules, sarifRule{
			ID:                   rule.ID,
			ShortDescription:     sarifText{Text: rule.Title},
			FullDescription:      &sarifText{Text: rule.Reason},
			Help:                 &sarifText{Text: rule.Fix, Markdown: rule.Markdown()},
			DefaultConfiguration: sarifConfiguration{sarifLevel(rule.Severity)},
		})
	}
	index = map[string]int{}
	for i, rule := range rules {
		index[rule.ID] = i
	}
	return rules, index
}

// sarifLevel returns SARIF's name of a severity.
func sarifLevel(s diag.Severity) string {
	return map[diag.Severity]string{diag.Error: "error", diag.Warning: "warning", diag.Advice: "note"}[s]
}

// locate returns the location of a position, or nil if the file is unknown.
func locate(p diag.Pos) []sarifLocation {
	if p.File == "" {
		return nil
	}
	place := sarifPlace{ArtifactLocation: sarifArtifact{uri(p.File)}}
	if p.Line > 0 {
		place.Region = &sarifRegion{p.Line, p.Column}
	}
	return []sarifLocation{{place}}
}

// uri returns the URI of a file: relative to the working directory, or absolute if the file
// is.
func uri(file string) string {
	if filepath.IsAbs(file) {
		return (&url.URL{Scheme: "file", Path: path.Join("/", filepath.ToSlash(file))}).String()
	}
	return (&url.URL{Path: filepath.ToSlash(file)}).String()
}
