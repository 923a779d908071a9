package check

import (
	"bytes"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/desk/rules"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
)

// printJSON prints diagnostics, and the number of inputs and files, as one object.
func (r *checked) printJSON(w io.Writer) error {
	diagnostics := r.Diagnostics
	if diagnostics == nil {
		diagnostics = []files.Diagnostic{} // not null: readers iterate over a list
	}
	return terminal.WriteJSON(w, struct {
		Diagnostics []files.Diagnostic `json:"diagnostics"`
		Inputs      int                `json:"inputs"`
		Files       int                `json:"files"`
	}{diagnostics, r.Steps, r.Files})
}

// printGitHub prints diagnostics as workflow commands.
func (r *checked) printGitHub(w io.Writer) error {
	var b bytes.Buffer
	for _, f := range r.Diagnostics {
		title := f.Field
		if title == "" {
			title = string(f.Rule)
		}
		b.WriteString(terminal.GitHub(f.Level(), f.File, f.Line, f.Column, title, f.Message))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// The parts of the Static Analysis Results Interchange Format (SARIF), version 2.1.0 of OASIS, that
// code scanning reads.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool struct {
			Driver sarifDriver `json:"driver"`
		} `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version,omitempty"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string    `json:"id"`
		ShortDescription sarifText `json:"shortDescription"`
		HelpURI          string    `json:"helpUri,omitempty"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifLocation struct {
		PhysicalLocation struct {
			ArtifactLocation struct {
				URI string `json:"uri"`
			} `json:"artifactLocation"`
			Region sarifRegion `json:"region"`
		} `json:"physicalLocation"`
		LogicalLocations []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
	}
	sarifLogical struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
	}
)

// pageOfRules describes each rule with a name.
const pageOfRules = "https://github.com/crossplane-contrib/function-export/blob/main/fn/RULES.md"

// sarifRules are the classes of rules, and the rules with names that found something, in a fixed order.
func (r *checked) sarifRules() []sarifRule {
	out := []sarifRule{
		{string(diagnostic.Input), sarifText{"The input has only known fields and valid values."}, ""},
		{string(diagnostic.Expression), sarifText{"Expressions compile, and secret data may flow only into the data of Secrets."}, ""},
		{string(diagnostic.Type), sarifText{"Expressions read only fields that the schemas of known kinds have."}, ""},
		{string(files.Unreadable), sarifText{"Files can be read."}, ""},
	}
	for _, rule := range rules.All() {
		if slices.ContainsFunc(r.Diagnostics, func(d files.Diagnostic) bool { return string(d.Rule) == rule.Name }) {
			out = append(out, sarifRule{rule.Name, sarifText{strings.ReplaceAll(rule.Text, "`", "")}, pageOfRules + "#" + rule.Name})
		}
	}
	return out
}

// printSARIF prints diagnostics for code scanning. A path is relative as it was passed, with characters escaped that
// a URI cannot have.
func (r *checked) printSARIF(w io.Writer) error {
	run := sarifRun{ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	all := r.sarifRules()
	run.Tool.Driver = sarifDriver{Name: "function-export", Version: terminal.VersionText(), InformationURI: "https://github.com/crossplane-contrib/function-export", Rules: all}
	for _, f := range r.Diagnostics {
		var at sarifLocation
		at.PhysicalLocation.ArtifactLocation.URI = (&url.URL{Path: filepath.ToSlash(f.File)}).String()
		at.PhysicalLocation.Region = sarifRegion{f.Line, f.Column}
		if f.Field != "" {
			at.LogicalLocations = []sarifLogical{{f.Field}}
		}
		rule := slices.IndexFunc(all, func(r sarifRule) bool { return r.ID == string(f.Rule) })
		run.Results = append(run.Results, sarifResult{string(f.Rule), rule, f.Level(), sarifText{f.Message}, []sarifLocation{at}})
	}
	return terminal.WriteJSON(w, sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}
