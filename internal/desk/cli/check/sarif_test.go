package check

import (
	"bytes"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
)

// TestSARIF holds what is printed against the standard.
func TestSARIF(t *testing.T) {
	one := files.Diagnostic{File: "apis/composition.yaml", Range: document.Range{Position: document.Position{Line: 3, Column: 1}, End: document.Position{Line: 3, Column: 5}}, Step: "export", Field: "secrets[0].name", Rule: diagnostic.Input, Message: "must be set"}
	with := func(change func(f *files.Diagnostic)) files.Diagnostic {
		f := one
		change(&f)
		return f
	}
	cases := map[string]struct {
		reason      string
		diagnostics []files.Diagnostic
	}{
		"None": {reason: "A run without a result closes the alerts of the last one."},
		"Rules": {
			reason: "A result names its rule, and where the tool has it.",
			diagnostics: []files.Diagnostic{
				one, with(func(f *files.Diagnostic) { f.Rule = diagnostic.Expression }), with(func(f *files.Diagnostic) { f.Rule = diagnostic.Type }),
				with(func(f *files.Diagnostic) { f.Rule, f.Field = files.Unreadable, "" }),
			},
		},
		"Fixes": {
			reason: "A fix replaces and inserts. Two results at the same place with the same message have two fingerprints.",
			diagnostics: []files.Diagnostic{one, one, with(func(f *files.Diagnostic) {
				f.Edits = []document.Edit{{Range: f.Range, Text: "b"}, {Range: document.Range{Position: f.End, End: f.End}, Text: ""}}
			})},
		},
		"Paths": {
			reason: "A path may have letters that a URI cannot hold.",
			diagnostics: []files.Diagnostic{
				with(func(f *files.Diagnostic) { f.File = "a b/c:d,%20#?[x].yaml" }), with(func(f *files.Diagnostic) { f.File = "ä:/𝄞\n.yaml" }),
				with(func(f *files.Diagnostic) { f.File = "/apis/a.yaml" }), with(func(f *files.Diagnostic) { f.File = "<stdin>" }), with(func(f *files.Diagnostic) { f.File = "../a.yaml" }),
			},
		},
		"Warnings": {
			reason:      "A warning has its own level.",
			diagnostics: []files.Diagnostic{one, with(func(f *files.Diagnostic) { f.Warning = true })},
		},
		"Texts": {
			reason:      "A message and a field are any text.",
			diagnostics: []files.Diagnostic{with(func(f *files.Diagnostic) { f.Message, f.Field = "a \"b\" <c> \u2028\x00", "data[a.b/c]" })},
		},
	}
	schema := sarifSchema(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := (&checked{Diagnostics: tc.diagnostics}).printSARIF(&b); err != nil {
				t.Fatal(err)
			}
			if why := sarifError(b.Bytes(), tc.diagnostics); why != "" {
				t.Errorf("%s\n%s\n%s", tc.reason, why, b.String())
			}
			v, err := jsonschema.UnmarshalJSON(&b)
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(v); err != nil {
				t.Errorf("%s\n%v", tc.reason, err)
			}
			delete(v.(map[string]any)["runs"].([]any)[0].(map[string]any), "tool")
			if schema.Validate(v) == nil {
				t.Error("a run without its tool is valid, too: the schema says nothing")
			}
		})
	}
}

// sarifError says what the text lacks of that which code scanning needs.
func sarifError(text []byte, want []files.Diagnostic) string {
	var log sarifLog
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&log); err != nil {
		return err.Error()
	}
	if log.Version != "2.1.0" || len(log.Runs) != 1 || log.Runs[0].Results == nil || log.Runs[0].Tool.Driver.Name == "" {
		return "the log must be of version 2.1.0, with one run that has its tool and its results"
	}
	run, prints := log.Runs[0], map[string]bool{}
	if len(run.Results) != len(want) {
		return "each diagnostic must be a result"
	}
	for i, r := range run.Results {
		rules := run.Tool.Driver.Rules
		if r.RuleIndex >= len(rules) || rules[r.RuleIndex].ID != r.RuleID || r.RuleID != string(want[i].Rule) || rules[r.RuleIndex].ShortDescription.Text == "" {
			return "a result must have its rule"
		}
		if r.Level == "warning" != want[i].Warning || r.Level != "warning" && r.Level != "error" || r.Message.Text != want[i].Message || len(r.Locations) != 1 {
			return "a result must have its level, message and location"
		}
		at := r.Locations[0].PhysicalLocation
		u, err := url.Parse(at.ArtifactLocation.URI)
		if err != nil || u.Scheme != "" || u.Host != "" || filepath.Clean(u.Path) != filepath.Clean(want[i].File) || u.RawQuery+u.Fragment != "" {
			return "a location must be the file, relative to where it was checked"
		}
		if at.Region.StartLine != want[i].Line || at.Region.StartColumn != want[i].Column {
			return "a location must have its line and its column"
		}
		if at.Region.EndLine != want[i].End.Line || at.Region.EndColumn != want[i].End.Column {
			return "a location must have its end"
		}
		hash := r.PartialFingerprints[fingerprint]
		if hash == "" || prints[hash] {
			return "a result must have a fingerprint of its own"
		}
		prints[hash] = true
		if len(r.Fixes) != min(1, len(want[i].Edits)) || len(r.Fixes) > 0 && len(r.Fixes[0].ArtifactChanges[0].Replacements) != len(want[i].Edits) {
			return "a result must have its fix"
		}
	}
	return ""
}

// sarifSchema is a part of the schema that OASIS publishes with the standard, at the address that is its id: the fields
// that this program writes. A field that is not in it is an error.
func sarifSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "sarif-schema-2.1.0.json"))
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("sarif.json", v); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("sarif.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}
