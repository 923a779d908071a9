package main

import (
	"bytes"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// The files that the page is made from.
const (
	crdFile    = "../../../package/input/export.fn.crossplane.io_exports.yaml"
	fullFile   = "../jsonschema/testdata/full.yaml"
	limitsFile = "../../engine/limits/limits.go"
	pageFile   = "../../../input/README.md"
)

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The page is up to date, and its links to headings work.
func TestPage(t *testing.T) {
	got, err := generate(read(t, crdFile), read(t, fullFile), read(t, limitsFile))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(read(t, pageFile)), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("input/README.md is not up to date (go generate ./input): -page, +code:\n%s", diff)
	}
	anchors := map[string]int{}
	for _, h := range regexp.MustCompile("(?m)^#+ (.*)$").FindAllSubmatch(got, -1) {
		anchors[anchor(string(h[1]))]++
	}
	for _, a := range regexp.MustCompile(`<a id="([^"]*)">`).FindAllSubmatch(got, -1) {
		anchors[string(a[1])]++
	}
	for name, n := range anchors {
		if n > 1 {
			t.Errorf("%d places have the anchor %s", n, name)
		}
	}
	for _, l := range regexp.MustCompile(`\]\(#([^)]*)\)`).FindAllSubmatch(got, -1) {
		if anchors[string(l[1])] == 0 {
			t.Errorf("a link leads to %s, which does not exist", l[1])
		}
	}
}

// The example compiles, and has each field of the top level.
func TestExample(t *testing.T) {
	if _, wrong := plantest.Compile(t, example); len(wrong) > 0 {
		t.Error(wrong)
	}
	var has map[string]any
	if err := yaml.Unmarshal([]byte(example), &has); err != nil {
		t.Fatal(err)
	}
	for f := range reflect.TypeFor[v1beta1.Exports]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "metadata" && has[name] == nil {
			t.Errorf("the example has no %s", name)
		}
	}
}

// It is an error if a field or a limit has no description, or if a description describes
// something that does not exist.
func TestIncomplete(t *testing.T) {
	without := func(text []byte, pattern string) []byte {
		out := regexp.MustCompile(pattern).ReplaceAll(text, nil)
		if bytes.Equal(out, text) {
			t.Fatalf("%s is not there", pattern)
		}
		return out
	}
	limitsErr := func(pattern string) error {
		_, err := limitsOf(without(read(t, limitsFile), pattern))
		return err
	}
	fieldsErr := func(pattern string) error {
		_, err := fields(without(read(t, crdFile), pattern))
		return err
	}
	cases := map[string]struct {
		err  error
		want string
	}{
		"Limit": {limitsErr(`(?m)^\t// PieceFuel .*\n(\t// .*\n)*`), "cannot describe limit PieceFuel: it needs a comment that begins with its name and is"},
		"Field": {fieldsErr(`(?m)^ +description: ConfigMaps to compose.*\n`), "cannot describe field configMaps of v1beta1.Exports: it has no comment"},
		"Place": {
			allPlaces([]*Object{{Path: "secrets[]", Fields: []Field{{Name: "newExpression", Type: "CEL"}}}}, nil),
			"cannot find out what `secrets[].newExpression` may use: the input with all fields lacks it",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.err == nil || !strings.Contains(tc.err.Error(), tc.want) {
				t.Errorf("want %s, got %v", tc.want, tc.err)
			}
		})
	}
}

func TestBetween(t *testing.T) {
	one, five, many := 1, 5, 1024
	cases := map[string]struct {
		low, high *int
		noun      string
		want      string
	}{
		"None":    {nil, nil, "item", ""},
		"Both":    {&one, &many, "character", "1 to 1,024 characters"},
		"High":    {nil, &five, "item", "at most 5 items"},
		"Low":     {&five, nil, "item", "at least 5 items"},
		"One":     {&one, nil, "character", "at least 1 character"},
		"Entries": {nil, &five, "entry", "at most 5 entries"},
		"Number":  {&one, &five, "", "1 to 5"},
		"Zero":    {new(int), nil, "", "at least 0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := between(tc.low, tc.high, tc.noun); got != tc.want {
				t.Errorf("want %q, got %q", tc.want, got)
			}
		})
	}
}
