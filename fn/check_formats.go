package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"
)

// printJSON prints findings, and how much was checked, as one object.
func (r *checked) printJSON(w io.Writer) error {
	findings := r.Findings
	if findings == nil {
		findings = []finding{} // not null: who reads it walks a list
	}
	return writeJSON(w, struct {
		Faults []finding `json:"faults"`
		Inputs int       `json:"inputs"`
		Files  int       `json:"files"`
	}{findings, r.Steps, r.Files})
}

func writeJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// printGitHub prints findings as workflow commands, which GitHub Actions shows beside
// the lines of a pull request. See "Workflow commands for GitHub Actions".
func (r *checked) printGitHub(w io.Writer) error {
	message := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	var b bytes.Buffer
	for _, f := range r.Findings {
		title := f.Field
		if title == "" {
			title = f.Rule
		}
		fmt.Fprintf(&b, "::error file=%s,line=%d,col=%d,title=%s::%s\n", property.Replace(filepath.ToSlash(f.File)), f.Line, f.Column, property.Replace(title), message.Replace(f.Message))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// Of the Static Analysis Results Interchange Format, version 2.1.0 of OASIS, what
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

// sarifRules are all rules, in a fixed order.
func sarifRules() []sarifRule {
	return []sarifRule{
		{ruleInput, sarifText{"The input has the fields and values that it can have."}},
		{ruleExpression, sarifText{"Expressions compile, and secret data flows into Secrets only."}},
		{ruleType, sarifText{"Expressions read what the objects that are known have."}},
		{ruleUnreadable, sarifText{"Files can be read."}},
	}
}

// uriOf a path, relative as it was given, with what a URI cannot hold escaped.
func uriOf(path string) string {
	return (&url.URL{Path: filepath.ToSlash(path)}).String()
}

// printSARIF prints findings for code scanning.
func (r *checked) printSARIF(w io.Writer) error {
	run := sarifRun{ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "function-export", Version: version, InformationURI: "https://github.com/crossplane-contrib/function-export", Rules: sarifRules()}
	for _, f := range r.Findings {
		result := sarifResult{RuleID: f.Rule, Level: "error", Message: sarifText{f.Message}}
		for i, rule := range run.Tool.Driver.Rules {
			if rule.ID == f.Rule {
				result.RuleIndex = i
			}
		}
		var at sarifLocation
		at.PhysicalLocation.ArtifactLocation.URI = uriOf(f.File)
		at.PhysicalLocation.Region = sarifRegion{f.Line, f.Column}
		if f.Field != "" {
			at.LogicalLocations = []sarifLogical{{f.Field}}
		}
		result.Locations = []sarifLocation{at}
		run.Results = append(run.Results, result)
	}
	return writeJSON(w, sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}
