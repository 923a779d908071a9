package main

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"cel.dev/cel-go/cel"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/desk/vocabulary"
	"github.com/crossplane-contrib/function-export/internal/engine/advice"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// The files that the page is made from.
const (
	crdFile  = "../../../package/input/export.fn.crossplane.io_exports.yaml"
	pageFile = "../../../input/README.md"
)

func read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func text(t testing.TB, path string) string {
	t.Helper()
	return string(read(t, path))
}

// The page is up to date, and its links to headings work.
func TestPage(t *testing.T) {
	d, err := readCRD(read(t, crdFile))
	if err != nil {
		t.Fatal(err)
	}
	got, err := generate(d)
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

// The text of an item has less than 40 words: a longer story belongs to a page of its own.
func TestItemsAreShort(t *testing.T) {
	d, err := readCRD(read(t, crdFile))
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, o := range fields(d.schema) {
		for _, f := range o.Fields {
			texts[o.Path+"."+f.Name] = f.Does
		}
	}
	for _, g := range vocabulary.Groups() {
		for _, e := range g.Entries {
			texts[e.Signatures[0]] = e.Does
		}
	}
	for name, text := range texts {
		if words := len(strings.Fields(text)); words >= 40 {
			t.Errorf("the text of %s has %d words: %s", name, words, text)
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

// The page has an item for each variable of expressions, with its type, and a place for each field that is CEL.
func TestTables(t *testing.T) {
	page := string(read(t, pageFile))
	env, err := advice.NewEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range env.CEL().Variables() {
		item := fmt.Sprintf("- <a id=\"variable-%s\"></a>`%[1]s`: `%s`. ", v.Name(), cel.FormatCELType(v.Type()))
		if !strings.Contains(page, item) {
			t.Errorf("the page has no variable %s: write an item into page.md.tmpl: %s", v.Name(), item)
		}
	}
	d, err := readCRD(read(t, crdFile))
	if err != nil {
		t.Fatal(err)
	}
	_, places, _ := strings.Cut(page, "\n| expression |")
	places, _, _ = strings.Cut(places, "\n\n")
	for _, o := range fields(d.schema) {
		path := o.Path
		for _, inner := range []string{".metadata", ".rewrite[]"} { // which both kinds of exports have
			if i := strings.Index(path, inner); i >= 0 {
				path = path[i+1:]
			}
		}
		for _, f := range o.Fields {
			other := strings.HasPrefix(path, "generators[]") && strings.HasSuffix(f.Name, "Expression") &&
				f.Name != "secretExpression"
			if place := strings.TrimPrefix(path+"."+f.Name, "."); strings.Contains(f.Type, "CEL") && !other &&
				!strings.Contains(places, "`"+place+"`") {
				t.Errorf("the page does not say what %s may use: add it to a row in page.md.tmpl", place)
			}
		}
	}
}
