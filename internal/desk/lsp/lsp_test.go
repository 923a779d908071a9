package lsp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/crossplane-contrib/function-export/internal/desk/files"
)

// cursor marks the place of the cursor in the text of a case.
const cursor = "¦"

// head is the Composition of each case, whose input is below it.
const head = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata:
  name: app
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: App}
  mode: Pipeline
  pipeline:
  - step: compose
    functionRef: {name: function-patch-and-transform}
    input:
      apiVersion: pt.fn.crossplane.io/v1beta1
      kind: Resources
      resources:
      - name: db
        base:
          apiVersion: db.example.org/v1
          kind: Instance
          metadata: {labels: {example.org/tier: gold}}
  - step: export
    functionRef: {name: function-export}
    input:
      apiVersion: export.fn.crossplane.io/v1beta1
      kind: Exports
`

const definitions = `apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: apps.example.org}
spec:
  group: example.org
  names: {kind: App, plural: apps}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              replicas: {type: integer, description: How many there are.}
              stage: {type: string, enum: [blue, green]}
              users: {type: array, items: {type: object, properties: {name: {type: string}}}}
          status:
            type: object
            properties:
              endpoint: {type: string}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: instances.db.example.org}
spec:
  group: db.example.org
  names: {kind: Instance, plural: instances}
  scope: Namespaced
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        type: object
        properties:
          status:
            type: object
            properties:
              atProvider:
                type: object
                properties:
                  endpoint: {type: string, description: Where it listens.}
                  port: {type: integer}
`

const settings = `connectionKeys:
  db.example.org/v1/Instance: [username, password, ca.crt]
`

// A client has a file open, with the cursor at a place of it.
type client struct {
	t      testing.TB
	server *Server
	at     Position
}

// The beginnings of inputs, before an expression.
const (
	status = "status:\n- fieldPath: endpoint\n  value: "
	fromDB = "secrets:\n- name: x\n  from: db\n  data:\n  - key: a\n    value: "

	declared = "variables:\n- {name: host, value: resources.db.status.atProvider.endpoint}\n" +
		"generators:\n- {name: admin, password: {}}\n"
)

const uriOfCase = "file:///composition.yaml"

// newClient opens a file with the input, which has the cursor.
func newClient(t testing.TB, input string) *client {
	t.Helper()
	text := head
	for line := range strings.Lines(input) {
		text += "      " + line
	}
	before, after, _ := strings.Cut(text, cursor)
	server, err := NewServer(&files.System{FS: fstest.MapFS{
		"definitions.yaml": {Data: []byte(definitions)}, ".function-export.yaml": {Data: []byte(settings)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t, server, newText(before + after).position(len(before))}
	c.call("initialize", map[string]any{"rootUri": "file:///", "capabilities": json.RawMessage(
		`{"textDocument":{"completion":{"completionItem":{"snippetSupport":true}}}}`)})
	c.call("textDocument/didOpen",
		map[string]any{"textDocument": map[string]any{"uri": uriOfCase, "text": before + after}})
	return c
}

// call returns the result of a method in the form that the client gets it.
func (c *client) call(method string, params map[string]any) any {
	c.t.Helper()
	result, _, err := c.try(method, params)
	if err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	return result
}

func (c *client) try(method string, params map[string]any) (any, []Message, error) {
	c.t.Helper()
	raw, err := json.Marshal(params)
	if err != nil {
		c.t.Fatal(err)
	}
	result, messages, err := c.server.Handle(c.t.Context(), method, raw)
	return result, messages, err
}

// ask calls a method about the cursor.
func (c *client) ask(method string) any {
	c.t.Helper()
	return c.call("textDocument/"+method,
		map[string]any{"textDocument": map[string]any{"uri": uriOfCase}, "position": c.at})
}

func (c *client) text() text { return c.server.open[uriOfCase].text }

// in returns the text of a range.
func (c *client) in(r Range) string {
	return c.text().string[c.text().offset(r.Start):c.text().offset(r.End)]
}

// apply returns the text of the file after edits.
func (c *client) apply(edits []TextEdit) string {
	edits = slices.Clone(edits)
	at := func(e TextEdit) int { return c.text().offset(e.Range.Start) }
	slices.SortFunc(edits, func(a, b TextEdit) int { return at(b) - at(a) })
	t := c.text()
	for _, e := range edits {
		t = t.replace(e.Range, e.NewText)
	}
	return t.string
}

// In each case, some completions are offered, and others are not.
func TestCompletion(t *testing.T) {
	for name, c := range map[string]struct{ input, want, no string }{
		"variables":  {status + "¦\n", "composite resources cel.bind( json.decode( has(", "item zz_cursor"},
		"begun":      {status + "res¦\n", "resource resources", ""},
		"resources":  {status + "resources.¦\n", "db", "app"},
		"quoted":     {status + "resources['¦\n", "db", "composite"},
		"field":      {status + "resources.db.status.atProvider.¦\n", "endpoint port", "composite"},
		"half":       {status + "resources.db.status.atProvider.en¦ + 'x'\n", "endpoint", ""},
		"xrd":        {status + "composite.spec.¦\n", "replicas stage", ""},
		"optional":   {status + "composite.?spec.?¦\n", "replicas stage", ""},
		"keys":       {fromDB + "secret.¦\n", "username password ['ca.crt']", ""},
		"other keys": {"secrets:\n- name: x\n  data:\n  - key: a\n    value: secrets.db.¦\n", "username", ""},
		"methods":    {fromDB + "secret.username.¦\n", "split( upperAscii(", "flatten( username"},
		"of a list":  {status + "composite.spec.users.¦\n", "map( filter( join(", "upperAscii("},
		"of numbers": {status + "composite.spec.replicas.¦\n", "", "upperAscii( map("},
		"namespace":  {status + "json.¦\n", "decode( encode(", "upperAscii("},
		"local":      {status + "composite.spec.users.map(u, u.¦\n", "name", ""},
		"bind":       {status + "cel.bind(p, resources.db.status.atProvider, p.¦)\n", "endpoint port", ""},
		"condition":  {status + "has(composite.spec.stage) ? composite.spec.¦\n", "replicas", ""},
		"my variable": {"variables:\n- {name: host, value: \"'a'\"}\nstatus:\n- fieldPath: endpoint\n  value: " +
			"variables.¦\n", "host", ""},
		"generator": {"generators:\n- {name: admin, password: {}}\nsecrets:\n- name: x\n  data:\n  - key: a\n    " +
			"value: generated.admin.¦\n", "password", ""},
		"revisions": {"secrets:\n- name: x\n  from: db\n  data: [{key: a, value: secret.username}]\nstatus:\n- " +
			"{fieldPath: endpoint, value: revisions.¦}\n", "x", ""},
		"labels":      {status + "resources.db.metadata.labels['¦\n", "example.org/tier crossplane.io/claim-name", ""},
		"block":       {status + "|-\n    'a' +\n    composite.spec.¦\n", "replicas", ""},
		"new line":    {status + "|-\n    'a' +\n    ¦\n", "composite", ""},
		"after blank": {status + "composite.spec.stage + ¦\n", "composite", ""},
		"double":      {status + "\"composite.spec.¦\n", "replicas", ""},
		"double, key": {status + "\"resources['¦\n", "db", "composite"},
		"in flow":     {"status:\n- {fieldPath: endpoint, value: composite.spec.¦}\n", "replicas", ""},
		"broken":      {status + "'a: b\nvariables:\n- name: x\n  value: composite.spec.¦\n", "replicas", ""},
		"in a text":   {status + "\"'composite.¦'\"\n", "", "spec composite"},
		"comment":     {status + "|-\n    'a' // composite.¦\n", "", "spec composite"},
		"unknown":     {"metdata: {}\nstatus:\n- fieldPath: endpoint\n  value: composite.spec.¦\n", "replicas", ""},
		"item": {"secrets:\n- name: x\n  forEachExpression: composite.spec.users\n  keyExpression: " +
			"item.name\n  data:\n  - key: a\n    value: item.¦\n", "name", ""},

		"top":        {"¦\n", "secrets variables", "apiVersion value"},
		"top, begun": {"sec¦\n", "secrets variables", "apiVersion value"},
		"fields":     {"secrets:\n- name: x\n  ¦\n", "from data metadata", "name secrets"},
		"item field": {"secrets:\n- name: x\n  data:\n  - key: a\n    ¦\n", "value optional", "key from"},
		"first":      {"secrets:\n- name: x\n  data:\n  - ¦\n", "key value", "from"},
		"nested":     {"secrets:\n- name: x\n  metadata:\n    ¦\n", "labels nameExpression", "data"},
		"enum":       {"secrets:\n- name: x\n  conflictPolicy: ¦\n", "Error LastWins", ""},
		"from":       {"secrets:\n- name: x\n  from: ¦\n", "db", ""},
		"extract":    {"secrets:\n- name: x\n  dataFrom:\n  - extract:\n      key: ¦\n", "db", ""},
		"boolean":    {"secrets:\n- name: x\n  connectionDetails: ¦\n", "true false", ""},
		"my labels": {"secrets:\n- name: x\n  metadata:\n    labels:\n      ¦\n",
			"example.org/tier app.kubernetes.io/name", ""},
		"key": {"secrets:\n- name: x\n  from: db\n  data:\n  - key: us¦\n", "username", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, i := range newClient(t, c.input).ask("completion").([]CompletionItem) {
				text, _, _ := strings.Cut(i.TextEdit.NewText, "(")
				if strings.Contains(i.TextEdit.NewText, "(") {
					text += "("
				}
				got = append(got, strings.TrimSuffix(strings.TrimRight(strings.Split(text, ":")[0], " "), ":"))
			}
			for _, want := range strings.Fields(c.want) {
				if !slices.Contains(got, want) {
					t.Errorf("want %s among %v", want, got)
				}
			}
			for _, no := range strings.Fields(c.no) {
				if slices.Contains(got, no) {
					t.Errorf("%s is offered: %v", no, got)
				}
			}
		})
	}
}

// The text of a hover has all of some parts.
func TestHover(t *testing.T) {
	exports := declared + fromDB + "%s\n"
	for name, c := range map[string]struct {
		input string
		want  []string
	}{
		"field": {fmt.Sprintf(exports, "resource.status.atProvider.end¦point"),
			[]string{"resource.status.atProvider.endpoint: string", "Where it listens.",
				"Instance of db.example.org/v1", "step `compose`", `"example-endpoint"`}},
		"number": {fmt.Sprintf(exports, "resource.status.atProvider.por¦t"), []string{": int", "3"}},
		"xrd": {fmt.Sprintf(exports, "string(composite.spec.rep¦licas)"),
			[]string{": int", "How many there are.", "App of example.org/v1"}},
		"enum": {fmt.Sprintf(exports, "composite.spec.sta¦ge"), []string{`"blue"`}},
		"secret": {fmt.Sprintf(exports, "sec¦ret.username"),
			[]string{"map(string, string)", "**secret**", "composed resource `db`"}},
		"key": {fmt.Sprintf(exports, "secret.user¦name"),
			[]string{"secret.username: string", "**secret**", "example-username"}},
		"quoted": {fmt.Sprintf(exports, "secret['ca.¦crt']"), []string{"secret['ca.crt']: string", "**secret**"}},
		"variable": {fmt.Sprintf(exports, "variables.ho¦st"),
			[]string{"string", "resources.db.status.atProvider.endpoint", `"example-host"`}},
		"cycle": {"variables:\n- {name: a, value: variables.b}\n- {name: b, value: variables.¦a}\n",
			[]string{"variables.a", "```cel\nvariables.b\n```"}},
		"generated": {fmt.Sprintf(exports, "generated.ad¦min.password"),
			[]string{"The generator `admin`", "**secret**"}},
		"function": {fmt.Sprintf(exports, "json.enc¦ode(composite)"),
			[]string{"json.encode(dyn) → string", "Returns a value as JSON", "json.encode({'b': 1"}},
		"method": {fmt.Sprintf(exports, "secret.username.upp¦erAscii()"),
			[]string{"string.upperAscii() → string", "'DB_HOST'"}},
		"macro": {fmt.Sprintf(exports, "composite.spec.users.m¦ap(u, u.name)"), []string{"list.map(x, value)"}},
		"input": {"secrets:\n- name: x\n  conflict¦Policy: Error\n",
			[]string{"**conflictPolicy**: string", "default `Error`", "`LastWins`", "What happens if two entries"}},
		"value": {"secrets:\n- name: x\n  from: db\n  data:\n  - key: a\n    val¦ue: secret.username + '-x'\n",
			[]string{"expression", "string, secret", `"example-username-x"`}},
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := newClient(t, c.input).ask("hover").(*Hover)
			if h == nil {
				t.Fatal("there is no hover")
			}
			for _, want := range c.want {
				if !strings.Contains(h.Contents.Value, want) {
					t.Errorf("want %q in:\n%s", want, h.Contents.Value)
				}
			}
		})
	}
}

// The definition of what is at the cursor is marked with brackets in the text, or is in another file.
func TestDefinition(t *testing.T) {
	exports := declared + "secrets:\n- name: x\n  from: %s\n  data:\n  - key: a\n    value: %s\n"
	for name, c := range map[string]struct{ input, file, line string }{
		"variable": {fmt.Sprintf(exports, "db", "variables.ho¦st"), "composition.yaml", "- {name: host"},
		"generator": {fmt.Sprintf(exports, "db", "generated['adm¦in'].password"), "composition.yaml",
			"- {name: admin"},
		"resource": {fmt.Sprintf(exports, "db", "resources.d¦b.metadata.name"), "composition.yaml",
			"- step: compose"},
		"secrets": {fmt.Sprintf(exports, "db", "secrets.d¦b.username"), "composition.yaml", "- step: compose"},
		"from":    {fmt.Sprintf(exports, "d¦b", "secret.username"), "composition.yaml", "- step: compose"},
		"XRD":     {fmt.Sprintf(exports, "db", "composite.spec.sta¦ge"), "definitions.yaml", "stage: {"},
		"item of XRD": {fmt.Sprintf(exports, "db", "composite.spec.users.map(u, u.na¦me)[0]"), "definitions.yaml",
			"users: {"},
		"CRD": {fmt.Sprintf(exports, "db", "resource.status.atProvider.po¦rt"), "definitions.yaml",
			"port: {"},
		"nothing":       {fmt.Sprintf(exports, "db", "json.enc¦ode(composite)"), "", ""},
		"no definition": {fmt.Sprintf(exports, "db", "resources.d¦c.metadata"), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			client := newClient(t, c.input)
			got, _ := client.ask("definition").([]Location)
			if c.file == "" {
				if len(got) > 0 {
					t.Errorf("want none, got %v", got)
				}
				return
			}
			if len(got) != 1 || got[0].URI != "file:///"+c.file {
				t.Fatalf("want %s, got %v", c.file, got)
			}
			text := newText(definitions)
			if c.file == "composition.yaml" {
				text = client.text()
			}
			if line := text.in(text.line(got[0].Range.Start.Line)); !strings.HasPrefix(strings.TrimSpace(line), c.line) {
				t.Errorf("want the line %q, got %q", c.line, line)
			}
		})
	}
}

// A renaming changes all places that mean the name, and no other. The cases have the lines after it.
func TestRename(t *testing.T) {
	exports := "variables:\n- {name: host, value: \"'a'\"}\n" +
		"- {name: url, value: \"variables.host + variables['host']\"}\n" +
		"generators:\n- {name: admin, password: {}}\nsecrets:\n- name: x\n  data:\n  - key: a\n    value: %s\n" +
		"status:\n- {fieldPath: endpoint, value: string(revisions.x)}\n"
	for name, c := range map[string]struct{ input, to, want, err string }{
		"variable": {fmt.Sprintf(exports, "variables.ho¦st + composite.host"), "address",
			"{name: address, value: \"'a'\"} | variables.address + variables['address'] | " +
				"value: variables.address + composite.host", ""},
		"declaration": {strings.Replace(fmt.Sprintf(exports, "variables.?host"), "name: host", "name: ho¦st", 1),
			"address", "variables.?address", ""},
		"shadowed": {fmt.Sprintf(exports, "cel.bind(variables, {'host': 1}, variables.host) + variables['hos¦t']"),
			"b", "", "cannot rename this"},
		"generator": {fmt.Sprintf(exports, "generated['adm¦in'].password + candidate['admin'].password"), "app-user",
			"generated['app-user'].password + candidate['app-user'].password | name: app-user", ""},
		"after a dot": {fmt.Sprintf(exports, "generated.adm¦in.password"), "app-user", "", "write ['admin'] first"},
		"export": {strings.Replace(fmt.Sprintf(exports, "composite.a"), "- name: x", "- name: ¦x", 1), "y",
			"- name: y | string(revisions.y)", ""},
		"resource": {fmt.Sprintf(exports, "resources.d¦b.metadata.name"), "y", "", "does not declare it"},
		"taken":    {fmt.Sprintf(exports, "variables.ho¦st"), "url", "", "another one is named url"},
		"no name":  {fmt.Sprintf(exports, "variables.ho¦st"), "a-b", "", "a text that matches"},
		"hostile":  {fmt.Sprintf(exports, "variables.ho¦st"), "a\nb: c", "", "write letters"},
	} {
		t.Run(name, func(t *testing.T) {
			client := newClient(t, c.input)
			params := map[string]any{"textDocument": map[string]any{"uri": uriOfCase}, "position": client.at,
				"newName": c.to}
			result, messages, err := client.try("textDocument/rename", params)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("want the error %q, got %v, %v", c.err, err, result)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := client.apply(result.(*WorkspaceEdit).Changes[uriOfCase])
			for want := range strings.SplitSeq(c.want, " | ") {
				if !strings.Contains(got, want) {
					t.Errorf("want %q in:\n%s", want, got)
				}
			}
			if warns := len(messages) > 0; warns != (name == "export" || name == "generator") {
				t.Errorf("the warnings are %v", messages)
			}
		})
	}
}

// A reference is each place that means the same name.
func TestReferences(t *testing.T) {
	c := newClient(t, "variables:\n- {name: host, value: \"'a'\"}\n- {name: b, value: variables.ho¦st}\nstatus:\n- "+
		"{fieldPath: endpoint, value: \"variables.b + variables['host']\"}\n")
	got := c.call("textDocument/references", map[string]any{
		"textDocument": map[string]any{"uri": uriOfCase}, "position": c.at,
		"context": map[string]any{"includeDeclaration": true},
	}).([]Location)
	if len(got) != 3 {
		t.Errorf("want three, got %v", got)
	}
	for _, l := range got {
		if text := c.in(l.Range); text != "host" {
			t.Errorf("%q is no reference", text)
		}
	}
}

// The blanks of expressions change, and nothing else.
func TestFormatting(t *testing.T) {
	for before, want := range map[string]string{
		"composite.spec.stage+'-x'":                       "composite.spec.stage + '-x'",
		`"[ 1,2 ,3 ].map( x,x*2 )"`:                       `"[1, 2, 3].map(x, x * 2)"`,
		"-1+ -composite.spec.replicas":                    "-1 + -composite.spec.replicas",
		"composite . spec .?stage.orValue( 'a' )":         "composite.spec.?stage.orValue('a')",
		`"true?'a' :{'b' :1 ,?'c':optional.none()}['b']"`: `"true?'a' :{'b' :1,?'c':optional.none()}['b']"`,
		"'it''s'+'b'":                                          "'it''s'+'b'", // it is not an expression
		"!composite.spec.a&&composite.spec.b":                  "!composite.spec.a&&composite.spec.b",
		"|-\n    composite.spec.a  +\n      // why\n      'b'": "|-\n    composite.spec.a +\n      // why\n      'b'",
		"|-\n    !a&&b||c in d":                                "|-\n    !a && b || c in d",
		"composite.spec.a [ ? 'b' ]":                           "composite.spec.a[ ? 'b']",
	} {
		c := newClient(t, status+before+"\n")
		got := c.apply(c.ask("formatting").([]TextEdit))
		_, value, _ := strings.Cut(got, "fieldPath: endpoint\n        value: ")
		if value = strings.ReplaceAll(strings.TrimSuffix(value, "\n"), "\n      ", "\n"); value != want {
			t.Errorf("%s\nbecomes %s\nwant    %s", before, value, want)
		}
	}
}
