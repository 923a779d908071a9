package render

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// TestRenderBadFiles: one clear error that names the file, and what to change;
// nothing is printed and the function is not called.
func TestRenderBadFiles(t *testing.T) {
	cases := map[string]struct {
		reason string
		files  functiontest.Files
		want   string
	}{
		"NoXR": {
			files: functiontest.Files{"xr.yaml": "-"},
			want:  "cannot find xr.yaml in the folder DIR: add it, or pass the files xr.yaml composition.yaml [functions.yaml]",
		},
		"NoComposition": {
			files: functiontest.Files{"composition.yaml": "-"},
			want: "cannot find composition.yaml in the folder DIR: add it, or pass the files xr.yaml composition.yaml " +
				"[functions.yaml]",
		},
		"NotYAML": {
			reason: "The line counts in the file, not in its document.",
			files:  functiontest.Files{"required.yaml": "a: b\napiVersion: v1\nkind: X\n---\napiVersion: v1\nkind: a: b\n---\n"},
			want: "required.yaml:6:8: not valid YAML: a plain value cannot contain a colon and a space: write `|-` after " +
				"the key, and the value indented in the next line",
		},
		"NoValueOfBadYAML": {
			reason: "A YAML error quotes the anchor, which is the password here.",
			files:  functiontest.Files{"required.yaml": functiontest.DatabaseSecret + "stringData:\n  password: *hunter2\n"},
			want: "required.yaml:6:13: not valid YAML: an alias of an anchor that is not above it: define the anchor with " +
				"&, or put the value in quotes if it is text",
		},
		"DuplicateKey": {
			files: functiontest.Files{"required.yaml": functiontest.DatabaseSecret + "data: {}\nstringData:\n  hunter2: a\n  " +
				"hunter2: b\n"},
			want: "required.yaml:8:3: the same key as in line 7: remove one of them, or move what it contains to the other",
		},
		"NoKind": {
			files: functiontest.Files{"observed/a.yaml": functiontest.Database + "---\n# nothing\n---\napiVersion: v1\n"},
			want:  "observed/a.yaml:8: not a Kubernetes object: it needs apiVersion and kind",
		},
		"NoName": {
			files: functiontest.Files{"required.yaml": "{apiVersion: v1, kind: Secret}"},
			want:  "required.yaml:1: Secret without a name: set metadata.name",
		},
		"SeveralXRs": {
			files: functiontest.Files{"xr.yaml": functiontest.XR + "---" + functiontest.XR},
			want:  `xr.yaml:7: App "demo" is a second object: the file must contain only the composite resource (XR)`,
		},
		"CompositionForXR": {
			files: functiontest.Files{"xr.yaml": functiontest.Composition},
			want: `xr.yaml:2: Composition "apps" is not a composite resource (XR): pass the files in the order xr.yaml ` +
				`composition.yaml [functions.yaml]`,
		},
		"XRForComposition": {
			files: functiontest.Files{"composition.yaml": functiontest.XR},
			want: `composition.yaml:2: App "demo" is not a Composition of apiextensions.crossplane.io: pass the files in the ` +
				`order xr.yaml composition.yaml [functions.yaml]`,
		},
		"OtherComposite": {
			files: functiontest.Files{"composition.yaml": strings.ReplaceAll(functiontest.Composition, "kind: App",
				"kind: Apple")},
			want: "composition.yaml:6: spec.compositeTypeRef is example.org/v1 Apple, but the composite at xr.yaml:2 is " +
				"example.org/v1 App: make them equal",
		},
		"OtherXRD": {
			files: functiontest.Files{"xrd.yaml": strings.Replace(xrd, "kind: App,", "kind: Apple,", 1)},
			want: "xrd.yaml: has no definition of App of example.org/v1, the kind of the composite at xr.yaml:2: pass the " +
				"CompositeResourceDefinition of the composite",
		},
		"BrokenXRD": {
			files: functiontest.Files{"xrd.yaml": strings.Replace(xrd, "group: example.org", "group: [hunter2]", 1)},
			want:  `xrd.yaml:5: cannot read spec.group: must be a string`,
		},
		"ItemOfList": {
			reason: "The position is that of the item.",
			files: functiontest.Files{"observed.yaml": listOf(functiontest.Database, strings.Replace(functiontest.Database,
				"composition-resource-name", "x", 1))},
			want: `observed.yaml:10: Database "demo-db" has no annotation crossplane.io/composition-resource-name: add it, ` +
				`with the name of the resource in the pipeline; or pass the object with -e`,
		},
		"EmptyFolder": {
			files: functiontest.Files{"observed/README.md": "nothing"},
			want:  "cannot find a .yaml or .yml file in observed",
		},
		"SameResourceName": {
			files: functiontest.Files{"observed.yaml": functiontest.Database, "observed/b.yaml": strings.Replace(
				functiontest.Database, "demo-db", "other", 1)},
			want: `observed/b.yaml:4: Database "other" has the same annotation crossplane.io/composition-resource-name=db as ` +
				`observed.yaml:4: Database "demo-db": set a different one on each`,
		},
		"OtherController": {
			files: functiontest.Files{"observed.yaml": strings.Replace(functiontest.Database, "name: demo-db,",
				"name: demo-db, ownerReferences: [{apiVersion: v1, kind: X, name: x, uid: abc, controller: true}],", 1)},
			want: `observed.yaml:4: Database "demo-db" is controlled by an object other than the composite: set the uid of ` +
				`that owner reference to 11111111-1111-1111-1111-111111111111, or pass the object with -e`,
		},
		"NotBase64": {
			reason: "An error about a value names its key only.",
			files:  functiontest.Files{"required.yaml": functiontest.DatabaseSecret + "data: {password: hunter2!}"},
			want:   `required.yaml:5: Secret "conn": data.password is not base64: encode it, or move it to stringData`,
		},
		"DataNotAMap": {
			files: functiontest.Files{"required.yaml": functiontest.DatabaseSecret + "data: hunter2"},
			want:  `required.yaml:2: Secret "conn": data and stringData must be maps of keys and values`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			fn := &fakeFunction{}
			stdout, stderr, failure := rendered(t, Command{Paths: []string{functiontest.Folder(t, tc.files)}}, fn)
			if diff := cmp.Diff(tc.want, strings.ReplaceAll(failure, "\n", "<line>")); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
			if stdout+stderr != "" || len(fn.requests) > 0 {
				t.Errorf("printed %q, said %q, called the function %d times; want none of these", stdout, stderr, len(fn.requests))
			}
		})
	}
}

// xrd is the definition of functiontest.XR.
const xrd = `apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: apps.example.org}
spec:
  group: example.org
  names: {kind: App, plural: apps}
  versions:
  - {name: v1, served: true, referenceable: true,
      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {
      size: {type: integer}, region: {type: string, default: eu}, nested: {type: object, default: {},
        properties: {enabled: {type: boolean, default: true}}},
      zones: {type: array, items: {type: object, properties: {weight: {type: integer, default: 1}}}}}}}}}}
`

// listOf is a List of objects, as kubectl prints several.
func listOf(objects ...string) string {
	out := "apiVersion: v1\nkind: List\nmetadata: {resourceVersion: \"\"}\nitems:\n"
	for _, o := range objects {
		out += "- " + functiontest.Indented(strings.TrimSpace(o), 2) + "\n"
	}
	return out
}

func TestRenderBadArguments(t *testing.T) {
	dir := functiontest.Folder(t, functiontest.Files{"bad.yaml": "{hunter2", "a.json": `{"a": "hunter2"}`,
		"b.json": `{"openapi": "3.0.0"}`})
	file := func(name string) string { return filepath.Join(dir, name) }
	cases := map[string]struct {
		cmd  Command
		want string
	}{
		"NotASchema": {cmd: Command{Paths: []string{dir}, RequiredSchemas: []string{file("a.json")}},
			want: file("a.json") + ":1: neither a CustomResourceDefinition, a CompositeResourceDefinition, nor an OpenAPI v3 " +
				"document of kubectl get --raw /openapi/v3/apis/GROUP/VERSION"},
		"NoSchemas": {cmd: Command{Paths: []string{dir}, RequiredSchemas: []string{file("b.json")}},
			want: file("b.json") + ":1: cannot read the OpenAPI document: components.schemas must be an object: write it with " +
				"kubectl get --raw /openapi/v3/apis/GROUP/VERSION"},
		"NoXRD": {cmd: Command{Paths: []string{dir}, XRD: file("none")}, want: "cannot read " + file("none") +
			": no such file or directory"},
		"OneFile": {cmd: Command{Paths: []string{file("xr.yaml")}}, want: "cannot render 1 file: pass one folder, " +
			"or the files xr.yaml composition.yaml [functions.yaml]"},
		"BadContextValue": {cmd: Command{Paths: []string{dir}, ContextValues: map[string]string{"k": "{hunter2"}},
			want: "--context-values: a value is not valid JSON or YAML: separate values with a semicolon, write a semicolon " +
				"in a value as \\;, or use --context-files"},
		"BadContextFile": {cmd: Command{Paths: []string{dir}, ContextFiles: map[string]string{"k": file("bad.yaml")}},
			want: "--context-files: a file: 1:9: not valid YAML: no comma before this: write one after the value or the item " +
				"above, close the bracket above, or put the whole value in quotes"},
		"NoContextFile": {cmd: Command{Paths: []string{dir}, ContextFiles: map[string]string{"k": file("none")}},
			want: "--context-files: cannot read a file: no such file or directory"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := tc.cmd.load(terminal.Disk(nil))
			if err == nil || err.Error() != tc.want {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
		})
	}
}

// TestRenderFilesAndFlags: what is read, from where, and what wins.
func TestRenderFilesAndFlags(t *testing.T) {
	secret := func(name, value string) string {
		return strings.Replace(functiontest.DatabaseSecret, "conn", name, 1) + "stringData: {k: " + value + "}\n"
	}
	database := func(resource, name string) string {
		return strings.NewReplacer("demo-db", name, "resource-name: db", "resource-name: "+resource).Replace(
			functiontest.Database)
	}
	dir := functiontest.Folder(t, functiontest.Files{
		"observed.yaml":     database("db", "from-file"),
		"observed/b.yml":    database("cache", "from-folder"),
		"observed/a/x.yaml": "not read: folders in folders are not",
		"required.yaml":     secret("a", "file"),
		"required/x.yaml":   "--- # a comment\n" + secret("b", "folder") + "---\r\n",
		"environment.yaml":  "{apiVersion: internal.crossplane.io/v1alpha1, kind: Environment, from: file}",
		"flags/o.yaml":      database("db", "from-flag"),
		"flags/e.yaml":      secret("a", "flag"),
		"flags/context":     `{"from": "context-files"}`,
		"functions.yaml":    "{apiVersion: pkg.crossplane.io/v1, kind: Function, metadata: {name: function-export}}",
	})
	flags := filepath.Join(dir, "flags")
	cases := map[string]struct {
		reason      string
		cmd         Command
		observed    map[string]string
		required    []string
		environment any
	}{
		"Folder": {
			reason:      "A file and a folder of the same name both count.",
			cmd:         Command{Paths: []string{dir}},
			observed:    map[string]string{"db": "from-file", "cache": "from-folder"},
			required:    []string{"a=ZmlsZQ==", "b=Zm9sZGVy"},
			environment: map[string]any{"apiVersion": "internal.crossplane.io/v1alpha1", "kind": "Environment", "from": "file"},
		},
		"FlagsAdd": {
			reason: "A flag replaces what has the same name, and adds what has not.",
			cmd: Command{
				Paths: []string{dir}, ObservedResources: []string{filepath.Join(flags, "o.yaml")}, RequiredResources: []string{
					filepath.Join(flags, "e.yaml")},
				ContextFiles: map[string]string{environmentKey: filepath.Join(flags, "context")},
			},
			observed:    map[string]string{"db": "from-flag", "cache": "from-folder"},
			required:    []string{"a=ZmxhZw==", "b=Zm9sZGVy"},
			environment: map[string]any{"from": "context-files"},
		},
		"ValuesWin": {
			reason: "--context-values take precedence over --context-files.",
			cmd: Command{
				Paths: []string{filepath.Join(dir, "xr.yaml"), filepath.Join(dir, "composition.yaml"),
					filepath.Join(dir, "functions.yaml")},
				ContextFiles:  map[string]string{environmentKey: filepath.Join(flags, "context")},
				ContextValues: map[string]string{environmentKey: "[1, a]"},
			},
			environment: []any{1.0, "a"},
		},
		"FilesOnly": {
			reason: "Given as files, nothing is read but these.",
			cmd:    Command{Paths: []string{filepath.Join(dir, "xr.yaml"), filepath.Join(dir, "composition.yaml")}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in, err := tc.cmd.load(terminal.Disk(nil))
			if err != nil {
				t.Fatal(err)
			}
			var observed map[string]string
			for _, o := range in.Observed {
				if observed == nil {
					observed = map[string]string{}
				}
				observed[o.Name] = world.Meta(o.Object, "name")
			}
			var required []string
			for _, o := range in.Files().Stored {
				if o.GetFields()["stringData"] != nil {
					t.Errorf("%s still has stringData, which no API server returns", world.Meta(o, "name"))
				}
				if data := o.GetFields()["data"].GetStructValue().GetFields(); data != nil {
					required = append(required, world.Meta(o, "name")+"="+data["k"].GetStringValue())
				}
			}
			slices.Sort(required)
			if diff := cmp.Diff(tc.observed, observed); diff != "" {
				t.Errorf("%s: observed\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.required, required); diff != "" {
				t.Errorf("%s: required\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.environment, in.context[environmentKey]); diff != "" {
				t.Errorf("%s: environment\n%s", tc.reason, diff)
			}
		})
	}
}
