package check

import (
	"bufio"
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// A mistaken input is one of the corpus of graded mistakes.
type mistaken struct {
	name  string
	args  Command
	files map[string]string
	right string // the only file as a person corrected it, or empty
}

// readMistaken returns the whole corpus: broken inputs, the examples of the rules, mistakes from the wild, and those of
// the commands.
func readMistaken(t *testing.T) (out []mistaken) {
	t.Helper()
	for _, m := range readMistakes(t, "broken") {
		one := mistaken{"broken/" + filepath.Base(m.path), m.command(t), map[string]string{}, ""}
		for _, f := range m.files {
			one.files[f.name] = f.text
		}
		out = append(out, one)
	}
	for _, name := range []string{"rules.txtar", "wild.txtar"} {
		_, all := readExamples(t, name)
		for _, e := range all {
			out = append(out, mistaken{name + "/" + e.name, Command{}, map[string]string{"a.yaml": wrapped(e.wrong)},
				wrapped(e.right)})
		}
	}
	paths, err := filepath.Glob(filepath.Join("..", "..", "..", "..", "fn", "testdata", "mistakes", "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatal("no mistakes of the commands", err)
	}
	standard := map[string]string{}
	for _, path := range append([]string{filepath.Join(filepath.Dir(paths[0]), "default.txtar")}, paths...) {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		own := map[string]string{}
		for _, f := range a.Files {
			own[f.Name] = string(f.Data)
		}
		if len(standard) == 0 {
			standard = own
			continue
		}
		all := maps.Clone(standard)
		delete(all, "crd.yaml")
		maps.Copy(all, own)
		exports := regexp.MustCompile(`(?m)^(.)`).ReplaceAllString(all["exports.yaml"], "      $1")
		all["composition.yaml"] = strings.Replace(all["composition.yaml"], "@exports@\n", exports, 1)
		delete(all, "exports.yaml")
		maps.DeleteFunc(all, func(name, text string) bool { return filepath.Ext(name) != ".yaml" || text == "" })
		if all["crd.yaml"] == "default\n" {
			all["crd.yaml"] = standard["crd.yaml"]
		}
		out = append(out, mistaken{"mistakes/" + filepath.Base(path), Command{}, all, ""})
	}
	return out
}

// check checks files, which are in memory.
func (m mistaken) check(t *testing.T, texts map[string]string) *checked {
	t.Helper()
	c := m.args
	c.Paths = slices.Sorted(maps.Keys(texts))
	system := terminal.Disk(nil)
	system.Texts = map[string]string{}
	for name, text := range texts {
		system.Texts[system.Absolute(name)] = text
	}
	r, err := c.check(context.Background(), system)
	if err != nil {
		return &checked{Inputs: &files.Inputs{}}
	}
	return r
}

// leastExact and leastFixed are how many corrections of people the fixes reproduce to the letter, and how many mistakes
// of the corpus have a fix.
const (
	leastExact = 39
	leastFixed = 130
)

// Each fix of the corpus, applied alone, leaves no mistake with that message at its field, no more mistakes than
// before, and the values of all other fields.
func TestFixesOfCorpus(t *testing.T) {
	exact, corrected, fixed, all := 0, 0, 0, 0
	for _, m := range readMistaken(t) {
		t.Run(m.name, func(t *testing.T) {
			before := m.check(t, m.files)
			all += len(before.Diagnostics)
			for _, d := range before.Diagnostics {
				if len(d.Edits) == 0 {
					continue
				}
				fixed++
				text, n := document.Apply(m.files[d.File], [][]document.Edit{d.Edits})
				texts := maps.Clone(m.files)
				texts[d.File] = text
				after := m.check(t, texts)
				same := func(r *checked) (n int) {
					for _, o := range r.Diagnostics {
						if o.Field == d.Field && o.Message == d.Message && o.Step == d.Step {
							n++
						}
					}
					return n
				}
				if n != 1 || same(after) >= same(before) || len(after.Diagnostics) > len(before.Diagnostics) {
					t.Errorf("%s: %s: want it corrected, got %+v:\n%s", d.Field, d.Message, after.Diagnostics, text)
				}
				if changed := changedFields(t, m.files[d.File], text); len(changed) > len(d.Edits) {
					t.Errorf("%s: %s: want %d changes, got %q", d.Field, d.Message, len(d.Edits), changed)
				}
			}
			if m.right != "" {
				corrected++
				if got := m.fixed(t); got["a.yaml"] == m.right {
					exact++
				}
			}
		})
	}
	t.Logf("%d of %d mistakes have a fix; %d of %d corrections by people are reproduced to the letter", fixed, all,
		exact, corrected)
	if exact < leastExact || fixed < leastFixed {
		t.Errorf("want at least %d fixes, and %d like those of people", leastFixed, leastExact)
	}
}

// fixed returns the files after check --fix.
func (m mistaken) fixed(t *testing.T) map[string]string {
	t.Helper()
	c := m.args
	c.Paths = slices.Sorted(maps.Keys(m.files))
	system := terminal.Disk(nil)
	system.Texts = map[string]string{}
	for name, text := range m.files {
		system.Texts[system.Absolute(name)] = text
	}
	f, err := c.fix(t.Context(), system)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for name := range m.files {
		out[name] = f.text(name)
	}
	return out
}

// changedFields returns the paths of the values that differ. A renamed field is one path.
func changedFields(t *testing.T, a, b string) []string {
	t.Helper()
	former, next := leaves(t, a), leaves(t, b)
	var out []string
	for path, value := range former {
		if next[path] != value {
			out = append(out, path)
		}
	}
	if len(next) > len(former) {
		out = append(out, "more")
	}
	return out
}

func leaves(t *testing.T, text string) map[string]string {
	t.Helper()
	docs, wrong := document.Parse(text)
	if len(wrong) > 0 {
		t.Fatalf("%v:\n%s", wrong[0], text)
	}
	out := map[string]string{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, k := range plan.SortedKeys(v) {
				walk(path+"."+k, v[k])
			}
		case []any:
			for i, item := range v {
				walk(fmt.Sprintf("%s[%d]", path, i), item)
			}
		default:
			out[path] = fmt.Sprintf("%T %v", v, v)
		}
	}
	for i, d := range docs {
		walk(fmt.Sprint(i), d.Value())
	}
	return out
}

const fixHead = "apiVersion: export.fn.crossplane.io/v1beta1\nkind: Exports\nsecrets:\n- name: a\n"

// Fixes keep the style of each text, comments, blanks and line ends. The mistake is a dash, which needs brackets.
func TestFixKeepsStyle(t *testing.T) {
	plain, single, double := []string{"s.a-b", "s['a-b']"}, []string{"s.a-b", "s[''a-b'']"},
		[]string{"secrets.a-b.c", `"secrets['a-b'].c"`}
	item := fixHead + "  data:\n  - "
	for name, c := range map[string]struct {
		text    string
		changed []string // from and to; nil if nothing may change
	}{
		"Plain":        {item + "{key: k, value: secrets.a-b.c} # why\n", double},
		"PlainBlock":   {item + "key: k\n    value: secrets.a-b.c   # why\n", plain},
		"Single":       {item + "{key: k, value: 'secrets.a-b.c'}\n", single},
		"Double":       {item + "{key: k, value: \"'\\t\\\"' + secrets.a-b.c\"}\n", plain},
		"Literal":      {item + "key: k\n    value: |\n      'a' +\n        secrets.a-b.c\n    # why\n", plain},
		"Folded":       {item + "key: k\n    value: >-\n      'a' +\n      secrets.a-b.c\n", plain},
		"PlainLines":   {item + "key: k\n    value: secret.x +\n      secrets.a-b.c\n", plain},
		"LastLine":     {item + "key: k\n    value: secrets.a-b.c", plain},
		"WindowsLines": {strings.ReplaceAll(item+"key: k\n    value: secrets.a-b.c\n", "\n", "\r\n"), plain},
		"ByteOrder":    {"\ufeff" + item + "{key: k, value: '''ä𝄞'' + secrets.a-b.c'}\n", single},
		"Documents":    {"a: b\n# one\n--- # two\n" + item + "{key: k, value: 'secrets.a-b.c'}\n...\n", single},
		"Touching":     {item + "{key: k, value: \"secrets.a-b.c + secrets.a-b.f\"}\n", plain},
		"Anchor":       {item + "{key: k, value: &x 'secrets.a-b.c'}\n  - {key: l, value: *x}\n", nil},
		"Merge":        {item + "&x {key: k, value: 'secrets.a-b.c'}\n  - {<<: *x, key: l}\n", nil},
		"Exists":       {fixHead + "  data: [{key: k, value: \"'v'\"}]\n  datta: []\n", nil},
		"Unreadable":   {fixWrong + "---\n# export.fn.crossplane.io\na: b: c\n", nil},
		"Renamed":      {fixHead + "  datta: [{key: k, value: \"'v'\"}]\n", []string{"datta", "data"}},
	} {
		t.Run(name, func(t *testing.T) {
			want := c.text
			if c.changed != nil {
				want = strings.ReplaceAll(want, c.changed[0], c.changed[1])
			}
			got := mistaken{files: map[string]string{"a.yaml": c.text}}.fixed(t)["a.yaml"]
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}

// runIn runs the command on files in a folder, and returns what it prints and its exit code.
func runIn(t *testing.T, c Command, stdin string, texts map[string]string) (stdout, stderr string, code int) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range texts {
		if err := os.WriteFile(name, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	if c.Paths == nil {
		c.Paths = []string{"."}
	}
	var out, errs bytes.Buffer
	err := c.RunWith(t.Context(), terminal.Disk(strings.NewReader(stdin)), &out, &errs)
	code, _ = terminal.ExitCode(err)
	return out.String(), errs.String(), code
}

const (
	fixWrong = fixHead + "  data:\n  - {key: k, value: 'secrets.a-b.c'}\n"
	fixRight = fixHead + "  data:\n  - {key: k, value: 'secrets[''a-b''].c'}\n"
)

// A file is replaced at once, with its mode, through a link. Nothing else is written.
func TestFixWrites(t *testing.T) {
	_, stderr, code := runIn(t, Command{Fix: true}, "", map[string]string{"a.yaml": fixWrong, "right.yaml": fixRight})
	if err := os.Symlink("a.yaml", "link.yaml"); err != nil {
		t.Fatal(err)
	}
	got, _ := os.ReadFile("a.yaml")
	info, err := os.Stat("a.yaml")
	entries, _ := os.ReadDir(".")
	if err != nil || string(got) != fixRight || code != 0 || info.Mode().Perm() != 0o640 || len(entries) != 3 ||
		!strings.HasPrefix(stderr, "fixed 1 mistake in 1 file, no errors in 2 inputs") {
		t.Errorf("want a fixed file and no other one, got %v %v %d:\n%s\n%s", info.Mode(), entries, code, stderr, got)
	}
	if err := terminal.ReplaceFile("link.yaml", fixRight, fixWrong); err != nil {
		t.Fatal(err)
	}
	link, _ := os.Lstat("link.yaml")
	if got, _ = os.ReadFile("a.yaml"); string(got) != fixWrong || link.Mode()&os.ModeSymlink == 0 {
		t.Errorf("want the target of the link replaced, got %v:\n%s", link.Mode(), got)
	}
	if err := terminal.ReplaceFile("a.yaml", "another text", fixRight); err == nil {
		t.Error("want no write of a file that has changed since it was read")
	}
}

// The diff has the changed lines, but no line of another object. The corrected text of stdin goes
// to stdout.
func TestFixPrints(t *testing.T) {
	const secret = "apiVersion: v1\nkind: Secret\nstringData: {a: " + checkCanary + "}\n---\n"
	text := secret + strings.Replace(fixWrong, "kind: Exports\n", "kind: Exports\nvariables: [{name: v, value: "+
		"compositee.spec}]\n", 1)
	stdout, stderr, code := runIn(t, Command{Fix: true, DryRun: true}, "", map[string]string{"a.yaml": text})
	want := "--- a.yaml\n+++ a.yaml\n@@ -7,1 +7,1 @@\n-variables: [{name: v, value: compositee.spec}]\n" +
		"+variables: [{name: v, value: composite.spec}]\n@@ -11,1 +11,1 @@\n" +
		"-  - {key: k, value: 'secrets.a-b.c'}\n+  - {key: k, value: 'secrets[''a-b''].c'}\n"
	if diff := cmp.Diff(want, stdout); diff != "" || code != terminal.ExitErrors {
		t.Errorf("exit code %d, -want, +got:\n%s", code, diff)
	}
	if after, _ := os.ReadFile("a.yaml"); string(after) != text || !strings.HasPrefix(stderr, "would fix 2 mistakes "+
		"in 1 file") {
		t.Errorf("want no change, got %s\n%s", stderr, after)
	}
	shared := `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Secret","data":{"a":"` + checkCanary +
		`"}},` +
		`{"apiVersion":"export.fn.crossplane.io/v1beta1","kind":"Exports","secrets":[{"name":"a","datta":[{"key":"k","value":"'v'"}]}]}]}`
	if stdout, _, _ = runIn(t, Command{Fix: true, DryRun: true}, "",
		map[string]string{"a.yaml": shared}); strings.Contains(stdout, checkCanary) || !strings.Contains(stdout,
		"not shown") {
		t.Errorf("want no line that a Secret shares, got %s", stdout)
	}
	stdout, stderr, code = runIn(t, Command{Fix: true, Paths: []string{"-"}}, fixWrong+"  - {key: l, value: 1 + "+
		"null}\n", nil)
	if stdout != fixRight+"  - {key: l, value: 1 + null}\n" || code != 1 || !strings.Contains(stderr, "<stdin>:7:") {
		t.Errorf("want the text in stdout, and the error in stderr, got %d:\n%s\n%s", code, stdout, stderr)
	}
}

// --quiet prints neither warnings nor a summary, and --color does not depend on the terminal.
func TestQuietAndColor(t *testing.T) {
	texts := map[string]string{"a.yaml": fixWrong, "b.yaml": fixHead + "  data:\n  - {key: k, value: \"'${host}'\"}\n"}
	stdout, stderr, code := runIn(t, Command{Quiet: true, Color: "always"}, "", texts)
	if stderr != "" || code != 1 || strings.Contains(stdout, "warning") || !strings.HasPrefix(stdout,
		"\x1b[1ma.yaml:6:") {
		t.Errorf("want one error in color, got %d: %q%q", code, stdout, stderr)
	}
	t.Setenv("NO_COLOR", "1")
	stdout, _, _ = runIn(t, Command{Color: "auto"}, "", texts)
	if strings.Contains(stdout, "\x1b") || !strings.Contains(stdout, "warning") {
		t.Errorf("want no color, got %q", stdout)
	}
}

// A report has one test for each file, which fails if the file has errors.
func TestJUnit(t *testing.T) {
	stdout, _, code := runIn(t, Command{Output: "junit"}, "", map[string]string{
		"a.yaml": fixWrong, "b.yaml": fixHead + "  data:\n  - {key: k, value: \"'${host}'\"}\n", "c.yaml": fixRight,
		"d.yaml": "# export.fn.crossplane.io\na: b: c\n",
	})
	var got struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Suites   []struct {
			Name  string `xml:"name,attr"`
			Cases []struct {
				File    string `xml:"file,attr"`
				Line    int    `xml:"line,attr"`
				Out     string `xml:"system-out"`
				Failure string `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal([]byte(stdout), &got); err != nil || code != terminal.ExitUnread || got.Tests != 4 ||
		got.Failures != 1 || got.Errors != 1 || len(got.Suites) != 4 {
		t.Fatalf("%v, exit code %d:\n%s", err, code, stdout)
	}
	for _, s := range got.Suites {
		c := s.Cases[0]
		if s.Name != c.File || s.Name == "a.yaml" && (c.Line != 6 || !strings.Contains(c.Failure, "minus "+
			"operator")) || s.Name == "b.yaml" && !strings.Contains(c.Out, "warning") {
			t.Errorf("got %+v", s)
		}
	}
}

// --watch checks again after a change, also of a schema.
func TestWatch(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(text string) {
		if err := os.WriteFile("a.yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(fixWrong)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		c := Command{Paths: []string{"*.yaml"}, Watch: true, Color: "never"}
		done <- c.Run(ctx, &kong.Kong{Stdout: w, Stderr: w}, terminal.Disk(nil))
		_ = w.Close()
	}()
	lines := bufio.NewScanner(r)
	until := func(text string) {
		for lines.Scan() && !strings.Contains(lines.Text(), text) { //nolint:revive // it reads on
		}
	}
	until("1 error in 1 input")
	until("waiting for a change")
	write(fixRight)
	until("no errors in 1 input")
	stop()
	until("never")
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := (&Command{Paths: []string{"-"}, Watch: true}).Run(ctx, nil, nil); err == nil {
		t.Error("want no watch of stdin")
	}
}
