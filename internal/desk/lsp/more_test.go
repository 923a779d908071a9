package lsp

import (
	"slices"
	"strings"
	"testing"
)

// A diagnostic with edits has a fix, which removes it.
func TestCodeActions(t *testing.T) {
	c := newClient(t, "secrets:\n- name: x\n  form: db\n  data:\n  - key: a\n    value: secret.username\n")
	list := c.server.diagnose(t.Context(), c.server.open[uriOfCase])
	if len(list) != 1 {
		t.Fatalf("want one diagnostic, got %v", list)
	}
	params := map[string]any{"textDocument": map[string]any{"uri": uriOfCase}, "range": list[0].Range,
		"context": map[string]any{}}
	var titles []string
	for _, a := range c.call("textDocument/codeAction", params).([]CodeAction) {
		titles = append(titles, a.Title)
		if got := c.apply(a.Edit.Changes[uriOfCase]); !strings.Contains(got, "  from: db\n") ||
			strings.Contains(got, " form:") {
			t.Errorf("%s makes it\n%s", a.Title, got)
		}
	}
	if want := []string{"Write from"}; !slices.Equal(titles, want) {
		t.Errorf("want %q, got %q", want, titles)
	}
	params["range"] = Range{}
	if got := c.call("textDocument/codeAction", params).([]CodeAction); len(got) > 0 {
		t.Errorf("a fix is offered elsewhere: %v", got)
	}
}

// Hints show the types of values, and which values are secret.
func TestHints(t *testing.T) {
	c := newClient(t, "variables:\n- {name: a, value: resources.db.status.atProvider.port}\n- {name: b, value: "+
		"secrets.db.password}\n"+
		"secrets:\n- name: x\n  data:\n  - {key: a, value: variables.b}\n  - {key: b, value: "+
		"string(variables.a)}\n  - {key: c, value: composite.unknown.¦}\n")
	var got []string
	for _, h := range c.call("textDocument/inlayHint", map[string]any{"textDocument": map[string]any{"uri": uriOfCase},
		"range": Range{End: Position{Line: 1000}}}).([]InlayHint) {
		got = append(got, h.Label)
	}
	if want := []string{"int", "string, secret", "string, secret", "string"}; !slices.Equal(got, want) {
		t.Errorf("want %q, got %q", want, got)
	}
}

// Each word of an expression has a class, also in a block and after characters of several units.
func TestSemanticTokens(t *testing.T) {
	c := newClient(t, fromDB+"|-\n      '💥' + secret.username.upperAscii() // why\n"+
		"      + json.encode([1].map(n, n))\n")
	data := c.ask("semanticTokens/full").(map[string]any)["data"].([]int)
	var got []string
	at := Position{}
	for ; len(data) >= 5; data = data[5:] {
		if data[0] > 0 {
			at.Character = 0
		}
		at = Position{at.Line + data[0], at.Character + data[1]}
		class := tokenTypes[data[3]]
		if data[4] == 1 {
			class += ",secret"
		}
		got = append(got, c.in(Range{at, Position{at.Line, at.Character + data[2]}})+" "+class)
	}
	want := []string{"'💥' string", "+ operator", "secret variable,secret", "username property", "upperAscii method",
		"// why comment",
		"+ operator", "json variable", "encode method", "1 number", "map method", "n variable", "n variable"}
	if !slices.Equal(got, want) {
		t.Errorf("want %q\ngot  %q", want, got)
	}
}

// The outline has what an input declares, each with its place.
func TestOutline(t *testing.T) {
	c := newClient(t, "variables:\n- {name: host, value: \"'a'\"}\nsecrets:\n- name: x\n  data:\n  - key: a\n    "+
		"value: variables.host\n  - {key: b, value: variables.host}\n")
	var got []string
	var walk func(list []Symbol, indent string)
	walk = func(list []Symbol, indent string) {
		for _, s := range list {
			got = append(got, indent+s.Name+": "+strings.Join(strings.Fields(c.in(s.Range)), " "))
			walk(s.Children, indent+" ")
		}
	}
	all := c.ask("documentSymbol").([]Symbol)
	walk(all[0].Children, "")
	want := []string{`host: {name: host, value: "'a'"}`,
		"x: name: x data: - key: a value: variables.host - {key: b, value: variables.host}"}
	if all[0].Name != "export" || !slices.Equal(got, want) {
		t.Errorf("%s: want %q\ngot  %q", all[0].Name, want, got)
	}
}

// A change of another file, in the editor or outside of it, changes the diagnostics of an open one.
func TestOtherFiles(t *testing.T) {
	c := newClient(t, "status:\n- fieldPath: endpoint\n  value: composite.?spec.?nothing.orValue('a')\n")
	messages := func() (out []string) {
		for _, m := range c.server.Publish(t.Context()) {
			for _, d := range m.Params.(map[string]any)["diagnostics"].([]Diagnostic) {
				out = append(out, d.Message)
			}
			if m.Params.(map[string]any)["uri"] == uriOfCase {
				out = append(out, "published")
			}
		}
		return out
	}
	if got := messages(); len(got) != 2 || !strings.Contains(got[0], "has no field spec.nothing") {
		t.Errorf("got %q", got)
	}
	if got := messages(); len(got) != 0 {
		t.Errorf("the same diagnostics are published again: %q", got)
	}
	definition := map[string]any{"uri": "file:///definitions.yaml",
		"text": strings.Replace(definitions, "stage:", "nothing:", 1)}
	c.call("textDocument/didOpen", map[string]any{"textDocument": definition})
	if got := messages(); !slices.Equal(got, []string{"published"}) {
		t.Errorf("with another definition: %q", got)
	}
	c.call("textDocument/didClose", map[string]any{"textDocument": definition})
	if got := messages(); len(got) != 2 {
		t.Errorf("with the saved definition: %q", got)
	}
	c.call("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": uriOfCase}})
	if got := messages(); !slices.Equal(got, []string{"published"}) {
		t.Errorf("a file that is closed has diagnostics: %q", got)
	}
}

// Nothing that a hover shows is data of an object in a file.
func TestExamplesAreMadeUp(t *testing.T) {
	const value = "hunter2-of-a-file"
	c := newClient(t, fromDB+"secret.pass¦word + resource.metadata.labels['a']\n---\n")
	text := c.text().string
	text = strings.Replace(text, "metadata: {labels: {example.org/tier: gold}}", "metadata: {labels: {a: "+value+"}}",
		1) +
		"apiVersion: v1\nkind: Secret\nmetadata: {name: db}\nstringData: {password: " + value + "}\n"
	c.call("textDocument/didChange", map[string]any{
		"textDocument": map[string]any{"uri": uriOfCase}, "contentChanges": []any{map[string]any{"text": text}},
	})
	for _, at := range []int{0, 30} {
		c.at.Character += at
		if h, ok := c.ask("hover").(*Hover); !ok || strings.Contains(h.Contents.Value, value) {
			t.Errorf("a hover shows %v", h)
		}
	}
}
