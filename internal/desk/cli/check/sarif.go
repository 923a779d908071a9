package check

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/desk/rules"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
)

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

		PartialFingerprints map[string]string `json:"partialFingerprints"`
		Fixes               []sarifFix        `json:"fixes,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifFix struct {
		Description     sarifText     `json:"description"`
		ArtifactChanges []sarifChange `json:"artifactChanges"`
	}
	sarifChange struct {
		ArtifactLocation sarifArtifact      `json:"artifactLocation"`
		Replacements     []sarifReplacement `json:"replacements"`
	}
	sarifReplacement struct {
		DeletedRegion   sarifRegion `json:"deletedRegion"`
		InsertedContent sarifText   `json:"insertedContent"`
	}
	sarifLocation struct {
		PhysicalLocation struct {
			ArtifactLocation sarifArtifact `json:"artifactLocation"`
			Region           sarifRegion   `json:"region"`
		} `json:"physicalLocation"`
		LogicalLocations []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
		EndLine     int `json:"endLine,omitempty"`
		EndColumn   int `json:"endColumn,omitempty"`
	}
	sarifLogical struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
	}
)

// sarifRules are the classes of rules, and the rules with names that found something, in a fixed order.
func (r *checked) sarifRules() []sarifRule {
	out := []sarifRule{
		sarifRuleOf(diagnostic.Input, "The input has only known fields and valid values."),
		sarifRuleOf(diagnostic.Expression, "Expressions compile, and secret data may flow only into the data of Secrets."),
		sarifRuleOf(diagnostic.Type, "Expressions read only fields that the schemas of known kinds have."),
		sarifRuleOf(files.Unreadable, "Files can be read."),
	}
	for _, rule := range rules.All() {
		if slices.ContainsFunc(r.Diagnostics, func(d files.Diagnostic) bool { return string(d.Rule) == rule.Name }) {
			out = append(out, sarifRuleOf(diagnostic.Rule(rule.Name), strings.ReplaceAll(rule.Text, "`", "")))
		}
	}
	return out
}

func sarifRuleOf(rule diagnostic.Rule, text string) sarifRule {
	return sarifRule{string(rule), sarifText{text}, files.Diagnostic{Rule: rule}.Page()}
}

func sarifRegionOf(r document.Range) sarifRegion {
	return sarifRegion{r.Line, r.Column, r.End.Line, r.End.Column}
}

// sarifFixes returns the edits of a diagnostic as one fix.
func sarifFixes(d files.Diagnostic, file sarifArtifact) []sarifFix {
	if len(d.Edits) == 0 {
		return nil
	}
	change := sarifChange{ArtifactLocation: file}
	for _, e := range d.Edits {
		change.Replacements = append(change.Replacements, sarifReplacement{sarifRegionOf(e.Range), sarifText{e.Text}})
	}
	return []sarifFix{{sarifText{d.Message}, []sarifChange{change}}}
}

// printSARIF prints diagnostics for code scanning. A path is relative as it was passed, with characters escaped that
// a URI cannot have.
func (r *checked) printSARIF(w io.Writer) error {
	run := sarifRun{ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	all := r.sarifRules()
	run.Tool.Driver = sarifDriver{Name: "function-export", Version: terminal.VersionText(), InformationURI: "https://github.com/crossplane-contrib/function-export", Rules: all}
	seen := map[string]int{}
	for _, f := range r.Diagnostics {
		var at sarifLocation
		file := sarifArtifact{(&url.URL{Path: filepath.ToSlash(f.File)}).String()}
		at.PhysicalLocation.ArtifactLocation, at.PhysicalLocation.Region = file, sarifRegionOf(f.Range)
		if f.Field != "" {
			at.LogicalLocations = []sarifLogical{{f.Field}}
		}
		hash := fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%q", []string{f.File, f.Step, f.Field, string(f.Rule), f.Message})))[:32]
		seen[hash]++
		run.Results = append(run.Results, sarifResult{
			RuleID: string(f.Rule), RuleIndex: slices.IndexFunc(all, func(r sarifRule) bool { return r.ID == string(f.Rule) }),
			Level: f.Level(), Message: sarifText{f.Message}, Locations: []sarifLocation{at},
			PartialFingerprints: map[string]string{fingerprint: fmt.Sprintf("%s:%d", hash, seen[hash])}, Fixes: sarifFixes(f, file),
		})
	}
	return terminal.WriteJSON(w, sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}

// fingerprint is the name of the fingerprint by which GitHub knows a result again. It is the same if the lines before
// the result change.
const fingerprint = "primaryLocationLineHash"
