package check

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/engine/advice"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// lineEnds as an editor counts them.
var lineEnds = regexp.MustCompile(`\r\n|\r|\n`)

// FuzzDiagnosticsAreInsideTheFile checks any bytes as a file: diagnostics are at positions inside
// it, they are the same each time and in each format, and they match the exit code.
func FuzzDiagnosticsAreInsideTheFile(f *testing.F) {
	const header = "apiVersion: export.fn.crossplane.io/v1beta1\nkind: Exports\n"
	for _, text := range []string{
		"", "\x00", "\ufeff", "\xff\xfea\x00", header, header + "a: [\n", header + "secrets: [null, 1, {data: " +
			"[{value: a}]}]\r\n", header + "...\n" + header + "b: &a *a",
		header + "variables:\n- name: a\n  value: |\n    'ä' +\n\n     b +\n- &x {name: ?, value: >-\n   a\n\n\n\n  " +
			"}", header + "\"a\\x41\": \"\\n\n\n\"", "- functionRef: {name: function-export}\n",
		"apiVersion: v1\nkind: List\nitems: [null, {apiVersion: export.fn.crossplane.io/v1, kind: 1}]",
		header + "---\n" + header + "{{ a }}\n---\n" + header + "<<: {a: 1}\n",
		"apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nspec: {pipeline: [{input: {apiVersion: " +
			"export.fn.crossplane.io/v1beta1, kind: Exports, status: [{value: 1 +}]}}]}",
		"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: {group: a, names: {kind: A}, " +
			"versions: [{name: v1}]}\n---\n" + header,
		header + "secrets: [{nmae: a, data: [{key: 5, value: 'secrets.a-b.c', optional: 'true'}]}, {name: b, data: " +
			"[{key: a, value: \"\\tsize(secret.a.length\"}]}]\n",
		header + "configMaps:\n- name: a\n  nonSensitive: a\n  data:\n  - key: k\n    value: |\n      composite.a ?? " +
			"'b'\n\n  - {key: l, value: '“a” + 1'}\n",
		header + "variables: [{name: a, value: \"'${host}'\"}]", inUTF16(header + "a: [\n"), inUTF16(header + "ä𝄞: 1\n"),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		text := string(b)
		result, printed, code := checkText(t, Command{Output: "text"}, text)
		want := 0
		switch {
		case len(result.unreadable()) > 0, len(result.Steps) == 0:
			want = terminal.ExitUnread
		case result.errors() > 0:
			want = terminal.ExitErrors
		}
		if code != want && (code != terminal.ExitUnread || len(result.Diagnostics) > 0) { // else a schema was refused
			t.Errorf("exit code %d, want %d: %+v", code, want, result)
		}
		for _, x := range result.Diagnostics {
			if why := outside(x, document.Text(text)); why != "" {
				t.Errorf("%+v: %s", x, why)
			}
			end := x
			end.Position, end.Source = x.End, ""
			if why := outside(end, document.Text(text)); why != "" || x.End.Line < x.Line || x.End.Line == x.Line &&
				x.End.Column < x.Column {
				t.Errorf("the end of %+v: %s", x, why)
			}
			if fixed, n := document.Apply(text, [][]document.Edit{x.Edits}); n > 0 && broken(fixed) > broken(text) {
				t.Errorf("%+v: its fix is not YAML:\n%s", x, fixed)
			}
		}
		if strings.ContainsFunc(printed, func(r rune) bool {
			return r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0
		}) {
			t.Errorf("control characters are printed: %q", printed)
		}
		if _, again, _ := checkText(t, Command{Output: "text"}, text); again != printed {
			t.Errorf("differs the second time:\n%s", cmp.Diff(printed, again))
		}
		if _, lines, _ := checkText(t, Command{Output: "github"}, text); github(lines) != len(result.Diagnostics) {
			t.Errorf("%d diagnostics, but in the format github:\n%s", len(result.Diagnostics), lines)
		}
	})
}

// broken returns the number of documents that cannot be read.
func broken(text string) int {
	_, wrong := document.Parse(text)
	return len(wrong)
}

// github returns the number of workflow commands about standard input.
func github(lines string) int {
	lines = "\n" + lines
	return strings.Count(lines, "\n::error file=<stdin>,line=") + strings.Count(lines, "\n::warning file=<stdin>,line=")
}

// inUTF16 is a text as some shells of Windows write it.
func inUTF16(text string) string {
	var out []byte
	for _, unit := range utf16.Encode([]rune("\ufeff" + text)) {
		out = binary.LittleEndian.AppendUint16(out, unit)
	}
	return string(out)
}

// outside says why a diagnostic is not inside of the file.
func outside(x files.Diagnostic, text string) string {
	lines := lineEnds.Split(strings.TrimPrefix(text, "\ufeff"), -1)
	switch {
	case x.Line < 1 || x.Line > len(lines):
		return fmt.Sprintf("there are %d lines", len(lines))
	case x.Column < 1 || x.Column > utf8.RuneCountInString(lines[x.Line-1])+1:
		return fmt.Sprintf("line is %q", lines[x.Line-1])
	}
	return ""
}

// planted is what no input has: a name that no expression knows, and no field has.
const planted = "plantedFault"

// sites are the places where an expression may be, with the indentation of a block there; 0 if no
// block is possible.
var sites = []struct {
	text   string
	indent int
}{
	{"apiVersion: export.fn.crossplane.io/v1beta1\nkind: Exports\nvariables: [{name: a, value: %s }]\n", 0},
	{"apiVersion: export.fn.crossplane.io/v1beta1\nkind: Exports\nvariables:\n- name: a\n  value: %s\nttl: 60s\n", 4},
	{"# A comment.\n---\n- step: a\n  functionRef: {name: function-export}\n  input:\n    apiVersion: " +
		"export.fn.crossplane.io/v1beta1\n    kind: Exports\n    configMaps:\n    - name: a\n      data:\n      - " +
		"value: %s\n        key: a.b\n", 12},
	{`{"apiVersion": "v1", "kind": "List", "items": [{"kind": "ä𝄞"}, {"kind": "Exports", "apiVersion": ` +
		`"export.fn.crossplane.io/v1beta1", "secrets": [{"name": "a", "data": [{"key": "k", "value": %s }]}]}]}`, 0},
	{"\ufeffapiVersion: apiextensions.crossplane.io/v1\r\nkind: Composition\r\nspec:\r\n  pipeline:\r\n  - " +
		"input:\r\n      apiVersion: export.fn.crossplane.io/v1beta1\r\n      kind: Exports\r\n      status:\r\n     " +
		" - fieldPath: a\r\n        value: !!str &x %s\r\n", 10},
	{"a: b\n--- # Behind another one.\nkind: Exports\napiVersion: export.fn.crossplane.io/v1beta1\nsecrets:\n- name: " +
		"a\n  metadata:\n    nameExpression: %s\n  data: [{key: a, value: composite.kind}]", 6},
}

// written is a string as YAML of a style: plain, 'single', "double", literal, folded.
func written(s string, style uint8, indent int) (string, bool) {
	block := func(mark, text string) (string, bool) {
		return mark + strconv.Itoa(2) + "-\n" + strings.Repeat(" ", indent) + functiontest.Indented(text, indent),
			indent > 0
	}
	switch style % 6 {
	case 0:
		return functiontest.Indented(s, indent+1), true
	case 1:
		return "'" + strings.ReplaceAll(functiontest.Indented(strings.ReplaceAll(s, "\n", "\n\n"), indent+1), "'",
			"''") + "'", true
	case 2:
		b, err := json.Marshal(s)
		return string(b), err == nil
	case 3: // as JSON, but broken between words, and with no letter escaped that need not be
		return strings.ReplaceAll(functiontest.Indented(strings.ReplaceAll(strconv.Quote(s), " + ", " +\n"),
			indent+1), `\x7f`, `\u007f`), true
	case 4:
		return block("|", s)
	}
	return block(">", strings.ReplaceAll(strings.ReplaceAll(s, "\n", "\n\n"), " + ", " +\n"))
}

// FuzzCaretIsAtTheError puts an error into an expression, in any style, at any place of an input:
// the caret is at the error.
func FuzzCaretIsAtTheError(f *testing.F) {
	for style := range uint8(6) {
		for site := range uint8(len(sites)) {
			f.Add("a", " ", style, site)
			f.Add("ä𝄞\u2028: # 'x\" \\", "\n", style, site)
			f.Add("", "\n\n  // it's a comment\n\t", style, site)
		}
	}
	blank := regexp.MustCompile(`^([ \t\n]|//[^\n\r]*\n)*$`)
	f.Fuzz(func(t *testing.T, text, between string, style, site uint8) {
		where := sites[int(site)%len(sites)]
		if !utf8.ValidString(text) || !utf8.ValidString(between) || len(text)+len(between) > 300 ||
			!blank.MatchString(between) || strings.Contains(text+between, planted) {
			return
		}
		x := celString(text) + " + " + between + planted + between + " + 'b'"
		scalar, ok := written(x, style, where.indent)
		file := fmt.Sprintf(where.text, scalar)
		if strings.Contains(where.text, "\r\n") {
			file = strings.ReplaceAll(strings.ReplaceAll(file, "\r\n", "\n"), "\n", "\r\n")
		}
		if !ok || !hasString(file, x) {
			return // the style cannot hold it
		}
		result, printed, _ := checkText(t, Command{Output: "text"}, file)
		before := file[:strings.Index(file, planted)]
		lines := lineEnds.Split(strings.TrimPrefix(before, "\ufeff"), -1)
		at := document.Position{Line: len(lines), Column: utf8.RuneCountInString(lines[len(lines)-1]) + 1}
		want := []files.Diagnostic{{Range: document.Range{Position: at}, Rule: diagnostic.Expression}}
		var got []files.Diagnostic
		for _, x := range result.Diagnostics {
			got = append(got, files.Diagnostic{Range: document.Range{Position: x.Position}, Rule: x.Rule})
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(files.Diagnostic{})); diff != "" {
			t.Errorf("%s\n%s-want, +got:\n%s", file, printed, diff)
		}
	})
}

// celString returns a string in CEL, raw where possible, so that the file contains its letters
// unchanged.
func celString(s string) string {
	if strings.ContainsAny(s, "\"\r") || s == "" {
		return strconv.Quote(s)
	}
	return `r"""` + s + `"""`
}

// hasString says whether a string is a value in a file, as YAML is read.
func hasString(file, s string) bool {
	parts := strings.Split(strings.TrimPrefix(file, "\ufeff"), "\n---")
	var v any
	if yaml.UnmarshalStrict([]byte(strings.TrimPrefix(parts[len(parts)-1], " # Behind another one.")), &v) != nil {
		return false
	}
	var in func(any) bool
	in = func(v any) bool {
		switch c := v.(type) {
		case string:
			return c == s
		case []any:
			for _, e := range c {
				if in(e) {
					return true
				}
			}
		case map[string]any:
			for _, e := range c {
				if in(e) {
					return true
				}
			}
		}
		return false
	}
	return in(v)
}

// FuzzCheckAgreesWithFunction takes any JSON for an input: check finds what the
// function refuses, with the same paths and messages, and nothing else.
func FuzzCheckAgreesWithFunction(f *testing.F) {
	for _, m := range readMistakes(f, "broken") {
		for _, file := range m.files {
			if b, err := yaml.YAMLToJSON([]byte(file.text)); err == nil && strings.HasPrefix(file.text, "apiVersion: "+
				"export.") {
				f.Add(b)
			}
		}
	}
	env, err := advice.NewEnvironment()
	if err != nil {
		f.Fatal(err)
	}
	fn := functiontest.New(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		input := &structpb.Struct{}
		if protojson.Unmarshal(b, input) != nil {
			return
		}
		file, err := json.Marshal([]any{map[string]any{"step": "a",
			"functionRef": map[string]any{"name": "function-export"}, "input": input.AsMap()}})
		if err != nil {
			t.Fatal(err)
		}
		var read []struct{ Input map[string]any }
		if yaml.UnmarshalStrict(file, &read) != nil || !cmp.Equal(read[0].Input, input.AsMap()) {
			return // JSON that means something else in YAML
		}
		_, faults := plan.Compile(context.Background(), env, input)
		var want, got []string
		for _, x := range faults {
			want = append(want, x.Path+": "+x.Message)
		}
		result, printed, _ := checkText(t, Command{Output: "json"}, string(file))
		for _, x := range result.Diagnostics {
			if x.Rule != diagnostic.Type {
				got = append(got, x.Field+": "+x.Message)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s\n%s-Compile, +check:\n%s", file, printed, diff)
		}
		rsp, err := fn.RunFunction(context.Background(), &fnv1.RunFunctionRequest{Input: input,
			Observed: &fnv1.State{Composite: &fnv1.Resource{Resource: functiontest.Parse(t, functiontest.XR)}}})
		if err != nil {
			t.Fatal(err)
		}
		fatal := false
		for _, r := range rsp.GetResults() {
			fatal = fatal || r.GetSeverity() == fnv1.Severity_SEVERITY_FATAL
		}
		if fatal != (len(got) > 0) {
			t.Errorf("%s\nfatal is %t, but check says:\n%s\nresults: %v", file, fatal, printed, rsp.GetResults())
		}
	})
}
