package check

import (
	"cmp"
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
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
)

// printJSON prints diagnostics, and the number of inputs and files, as one object.
func (r *checked) printJSON(w io.Writer) error {
	return terminal.WriteJSON(w, struct {
		Diagnostics []files.Diagnostic `json:"diagnostics"`
		Inputs      int                `json:"inputs"`
		Files       int                `json:"files"`
	}{r.Diagnostics, len(r.Steps), len(r.Files)})
}

// printJUnit prints one test for each file.
func (r *checked) printJUnit(w io.Writer) error {
	var cases []terminal.JUnitCase
	test := func(file string) *terminal.JUnitCase {
		i := slices.IndexFunc(cases, func(c terminal.JUnitCase) bool { return c.File == file })
		if i < 0 {
			i, cases = len(cases), append(cases, terminal.JUnitCase{Name: "check", Class: file, File: file,
				Time: terminal.Seconds(0)})
		}
		return &cases[i]
	}
	for _, s := range r.Steps {
		test(s.File)
	}
	for _, d := range r.Diagnostics {
		var text strings.Builder
		_ = terminal.PrintText(&text, []files.Diagnostic{d}) // a builder does not fail
		one, said := test(d.File), &terminal.JUnitText{Message: d.Message, Text: text.String()}
		switch {
		case isUnreadable(d) && one.Error == nil:
			one.Error, one.Line = said, d.Line
		case !d.Warning && one.Failure == nil:
			one.Failure, one.Line = said, d.Line
		case one.Failure != nil:
			one.Failure.Text += said.Text
		default:
			one.Out += said.Text
		}
	}
	return terminal.WriteJUnit(w, cases, 0)
}

// printGitHub prints diagnostics as workflow commands.
func (r *checked) printGitHub(w io.Writer) error {
	var b strings.Builder
	for _, f := range r.Diagnostics {
		title := cmp.Or(f.Field, string(f.Rule))
		b.WriteString(terminal.GitHub(f.Level(), f.File, f.Line, f.Column, title, f.Message))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// An object is one of the Static Analysis Results Interchange Format (SARIF), version 2.1.0 of OASIS, with the fields
// that code scanning reads.
type object map[string]any

func textOf(text string) object { return object{"text": text} }

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
	results, seen := make([]object, 0, len(r.Diagnostics)), map[string]int{}
	ids, all := []diagnostic.Rule{}, []object{} // the rules that found something
	for _, d := range r.Diagnostics {
		if !slices.Contains(ids, d.Rule) {
			text, page := d.Describe()
			ids = append(ids, d.Rule)
			all = append(all, object{"id": d.Rule, "shortDescription": textOf(text), "helpUri": page})
		}
		out := sarifResult(d, slices.Index(ids, d.Rule))
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
