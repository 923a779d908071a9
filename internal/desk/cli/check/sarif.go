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

// An object is one of the Static Analysis Results Interchange Format (SARIF), version 2.1.0 of OASIS, with the fields
// that code scanning reads.
type object map[string]any

func textOf(text string) object { return object{"text": text} }

// sarifRules are the classes of rules, and the rules with names that found something, in a fixed order.
func (r *checked) sarifRules() (ids []string, out []object) {
	add := func(rule diagnostic.Rule, text string) {
		ids = append(ids, string(rule))
		out = append(out, object{
			"id": rule, "shortDescription": textOf(text), "helpUri": files.Diagnostic{Rule: rule}.Page(),
		})
	}
	add(diagnostic.Input, "The input has only known fields and valid values.")
	add(diagnostic.Expression, "Expressions compile, and secret data may flow only into the data of Secrets.")
	add(diagnostic.Type, "Expressions read only fields that the schemas of known kinds have.")
	add(files.Unreadable, "Files can be read.")
	for _, rule := range rules.All() {
		if slices.ContainsFunc(r.Diagnostics, func(d files.Diagnostic) bool { return string(d.Rule) == rule.Name }) {
			add(diagnostic.Rule(rule.Name), strings.ReplaceAll(rule.Text, "`", ""))
		}
	}
	return ids, out
}

func regionOf(r document.Range) object {
	return object{"startLine": r.Line, "startColumn": r.Column, "endLine": r.End.Line, "endColumn": r.End.Column}
}

// sarifResult returns a diagnostic. A path is relative as it was passed, with characters escaped that a URI cannot
// have.
func sarifResult(d files.Diagnostic, rule int) object {
	file := object{"uri": (&url.URL{Path: filepath.ToSlash(d.File)}).String()}
	location := object{"physicalLocation": object{"artifactLocation": file, "region": regionOf(d.Range)}}
	if d.Field != "" {
		location["logicalLocations"] = []object{{"fullyQualifiedName": d.Field}}
	}
	out := object{
		"ruleId": d.Rule, "ruleIndex": rule, "level": d.Level(), "message": textOf(d.Message),
		"locations": []object{location},
	}
	if len(d.Edits) == 0 {
		return out
	}
	replacements := make([]object, 0, len(d.Edits))
	for _, e := range d.Edits {
		replacements = append(replacements, object{
			"deletedRegion": regionOf(e.Range), "insertedContent": textOf(e.Text),
		})
	}
	out["fixes"] = []object{{
		"description":     textOf(d.Message),
		"artifactChanges": []object{{"artifactLocation": file, "replacements": replacements}},
	}}
	return out
}

// printSARIF prints diagnostics for code scanning.
func (r *checked) printSARIF(w io.Writer) error {
	ids, all := r.sarifRules()
	results, seen := make([]object, 0, len(r.Diagnostics)), map[string]int{}
	for _, d := range r.Diagnostics {
		out := sarifResult(d, slices.Index(ids, string(d.Rule)))
		id := fmt.Appendf(nil, "%q", []string{d.File, d.Step, d.Field, string(d.Rule), d.Message})
		hash := fmt.Sprintf("%x", sha256.Sum256(id))[:32]
		seen[hash]++
		out["partialFingerprints"] = object{fingerprint: fmt.Sprintf("%s:%d", hash, seen[hash])}
		results = append(results, out)
	}
	driver := object{
		"name": "function-export", "version": terminal.VersionText(), "rules": all,
		"informationUri": "https://github.com/crossplane-contrib/function-export",
	}
	run := object{"tool": object{"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
	return terminal.WriteJSON(w, object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": []object{run},
	})
}

// fingerprint is the name of the fingerprint by which GitHub knows a result again. It is the same if the lines before
// the result change.
const fingerprint = "primaryLocationLineHash"
