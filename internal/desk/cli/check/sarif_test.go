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
	at := document.Range{Position: document.Position{Line: 3, Column: 1}, End: document.Position{Line: 3, Column: 5}}
	one := files.Diagnostic{
		File: "apis/composition.yaml", Range: at, Step: "export", Field: "secrets[0].name", Rule: diagnostic.Input,
		Message: "must be set",
	}
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
				one, with(func(f *files.Diagnostic) { f.Rule = diagnostic.Type }),
				with(func(f *files.Diagnostic) { f.Rule, f.Field = files.Unreadable, "" }),
			},
		},
		"Fixes": {
			reason: "A fix replaces and inserts. Two results at the same place with the same message have two fingerprints.",
			diagnostics: []files.Diagnostic{one, one, with(func(f *files.Diagnostic) {
				f.Edits = []document.Edit{{Range: f.Range, Text: "b"}, {Range: document.Range{Position: f.End,
					End: f.End}, Text: ""}}
			})},
		},
		"Paths": {
			reason: "A path may have letters that a URI cannot hold.",
			diagnostics: []files.Diagnostic{
				with(func(f *files.Diagnostic) { f.File = "a b/c:d,%20#?[x].yaml" }),
				with(func(f *files.Diagnostic) { f.File = "ä:/𝄞\n.yaml" }),
				with(func(f *files.Diagnostic) { f.File = "<stdin>" }),
			},
		},
		"Texts": {
			reason: "A message and a field are any text. A warning has its own level.",
			diagnostics: []files.Diagnostic{one, with(func(f *files.Diagnostic) {
				f.Message, f.Field, f.Warning = "a \"b\" <c> \u2028\x00", "data[a.b/c]", true
			})},
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
	type region struct{ StartLine, StartColumn, EndLine, EndColumn int }
	var log struct {
		Runs []struct {
			Tool struct {
				Driver struct{ Rules []struct{ ID string } }
			}
			Results []struct {
				RuleID, Level string
				RuleIndex     int
				Locations     []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           region
					}
				}
				PartialFingerprints map[string]string
				Fixes               []struct {
					ArtifactChanges []struct{ Replacements []any }
				}
			}
		}
	}
	if err := json.Unmarshal(text, &log); err != nil || len(log.Runs) != 1 || len(log.Runs[0].Results) != len(want) {
		return "there must be one run with a result for each diagnostic"
	}
	prints := map[string]bool{}
	for i, r := range log.Runs[0].Results {
		w, at := want[i], r.Locations[0].PhysicalLocation
		u, err := url.Parse(at.ArtifactLocation.URI)
		hash := r.PartialFingerprints[fingerprint]
		switch {
		case log.Runs[0].Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID || r.RuleID != string(w.Rule):
			return "a result must have its rule"
		case r.Level != w.Level():
			return "a result must have its level"
		case err != nil || u.Scheme+u.Host+u.RawQuery+u.Fragment != "" || filepath.Clean(u.Path) != filepath.Clean(w.File):
			return "a location must be the file, relative to where it was checked"
		case at.Region != region{w.Line, w.Column, w.End.Line, w.End.Column}:
			return "a location must have its range"
		case hash == "" || prints[hash]:
			return "a result must have a fingerprint of its own"
		case len(w.Edits) > 0 && len(r.Fixes[0].ArtifactChanges[0].Replacements) != len(w.Edits):
			return "a result must have its fix"
		}
		prints[hash] = true
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
