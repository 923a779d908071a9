package main

import (
	"bytes"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestSARIF holds what is printed against the standard.
func TestSARIF(t *testing.T) {
	one := finding{File: "apis/composition.yaml", Line: 3, Column: 1, Step: "export", Field: "secrets[0].name", Rule: ruleInput, Message: "must be set"}
	with := func(change func(f *finding)) finding {
		f := one
		change(&f)
		return f
	}
	cases := map[string]struct {
		reason   string
		findings []finding
	}{
		"None": {reason: "A run without a result closes the alerts of the last one."},
		"Rules": {
			reason: "A result names its rule, and where the tool has it.",
			findings: []finding{
				one, with(func(f *finding) { f.Rule = ruleExpression }), with(func(f *finding) { f.Rule = ruleType }),
				with(func(f *finding) { f.Rule, f.Field = ruleUnreadable, "" }),
			},
		},
		"Paths": {
			reason: "A path may have letters that a URI cannot hold.",
			findings: []finding{
				with(func(f *finding) { f.File = "a b/c:d,%20#?[x].yaml" }), with(func(f *finding) { f.File = "ä:/𝄞\n.yaml" }),
				with(func(f *finding) { f.File = "/tmp/a.yaml" }), with(func(f *finding) { f.File = "<stdin>" }), with(func(f *finding) { f.File = "../a.yaml" }),
			},
		},
		"Texts": {
			reason:   "A message and a field are any text.",
			findings: []finding{with(func(f *finding) { f.Message, f.Field = "a \"b\" <c> \u2028\x00", "data[a.b/c]" })},
		},
	}
	schema := sarifSchema(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := (&checked{Findings: tc.findings}).printSARIF(&b); err != nil {
				t.Fatal(err)
			}
			if why := sarifFault(b.Bytes(), tc.findings); why != "" {
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

// sarifFault says what the text lacks of that which code scanning needs.
func sarifFault(text []byte, want []finding) string {
	var log sarifLog
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&log); err != nil {
		return err.Error()
	}
	if log.Version != "2.1.0" || len(log.Runs) != 1 || log.Runs[0].Results == nil || log.Runs[0].Tool.Driver.Name == "" {
		return "the log has to be of version 2.1.0, with one run that has its tool and its results"
	}
	run := log.Runs[0]
	if len(run.Results) != len(want) {
		return "each finding has to be a result"
	}
	for i, r := range run.Results {
		rules := run.Tool.Driver.Rules
		if r.RuleIndex >= len(rules) || rules[r.RuleIndex].ID != r.RuleID || r.RuleID != want[i].Rule || rules[r.RuleIndex].ShortDescription.Text == "" {
			return "a result has to have its rule"
		}
		if r.Level != "error" || r.Message.Text != want[i].Message || len(r.Locations) != 1 {
			return "a result has to have its level, message and location"
		}
		at := r.Locations[0].PhysicalLocation
		u, err := url.Parse(at.ArtifactLocation.URI)
		if err != nil || u.Scheme != "" || u.Host != "" || filepath.Clean(u.Path) != filepath.Clean(want[i].File) || u.RawQuery+u.Fragment != "" {
			return "a location has to be the file, relative to where it was checked"
		}
		if at.Region.StartLine != want[i].Line || at.Region.StartColumn != want[i].Column {
			return "a location has to have its line and its column"
		}
	}
	return ""
}

// sarifSchema is the schema that OASIS publishes with the standard, at the address that
// is its id.
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
