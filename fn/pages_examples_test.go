package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/desk/pages"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

var (
	shownStep      = regexp.MustCompile("(?ms)^```yaml step\n(.*?)^```")
	shownCondition = regexp.MustCompile("(?ms)^```text condition (\\S+)\n(.*?)^```")
)

// TestPagesOfExamples compares blocks in the pages of examples with other files. A block "yaml step" is the
// pipeline step of that name in the composition.yaml beside the page. A block "text condition FOLDER" is the
// message of ExportsReady in the expected.yaml of that example. With -update, it rewrites the pages.
func TestPagesOfExamples(t *testing.T) {
	all, err := pages.Read(filepath.Join("..", "example"))
	if err != nil {
		t.Fatal(err)
	}
	steps, conditions := 0, 0
	for _, p := range all {
		file := filepath.Join("..", "example", filepath.FromSlash(p.Path))
		text := shownStep.ReplaceAllStringFunc(p.Text, func(block string) string {
			steps++
			name, _, _ := strings.Cut(shownStep.FindStringSubmatch(block)[1], "\n")
			return "```yaml step\n" + pipelineStep(t, filepath.Join(filepath.Dir(file), "composition.yaml"), name) + "```"
		})
		text = shownCondition.ReplaceAllStringFunc(text, func(block string) string {
			conditions++
			folder := shownCondition.FindStringSubmatch(block)[1]
			return "```text condition " + folder + "\n" +
				wrapped(exportsReady(t, filepath.Join("..", "example", folder, "expected.yaml"))) + "```"
		})
		switch diff := cmp.Diff(p.Text, text); {
		case diff == "":
		case *functiontest.UpdateGolden:
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		default:
			t.Errorf("%s: -page, +example:\n%s", p.Path, diff)
		}
	}
	if steps < 10 || conditions < 1 {
		t.Errorf("want at least 10 steps and a condition, got %d and %d", steps, conditions)
	}
}

// pipelineStep returns the text of a step, which begins with a line such as "- step: export".
func pipelineStep(t *testing.T, file, firstLine string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const indent = "  " // of the list below spec.pipeline
	var out strings.Builder
	for line := range strings.Lines(string(b)) {
		within, indented := strings.CutPrefix(line, indent)
		blank := strings.TrimSpace(line) == ""
		switch {
		case strings.TrimSpace(line) == firstLine:
			out.WriteString(within)
		case out.Len() == 0:
		case blank:
			out.WriteString("\n")
		case indented && strings.HasPrefix(within, " "):
			out.WriteString(within)
		default:
			return out.String()
		}
	}
	return out.String()
}

// exportsReady returns the message of the condition in the first object, the composite.
func exportsReady(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(string(b), "---\n"), "\n---\n")
	var composite struct {
		Status struct {
			Conditions []struct{ Type, Message string }
		}
	}
	if err := yaml.Unmarshal([]byte(first), &composite); err != nil {
		t.Fatal(err)
	}
	for _, c := range composite.Status.Conditions {
		if c.Type == "ExportsReady" && c.Message != "" {
			return c.Message
		}
	}
	t.Fatalf("%s: the condition ExportsReady has no message", file)
	return ""
}

// wrapped breaks a text into lines that fit into a page.
func wrapped(text string) string {
	const limit = 118
	var out strings.Builder
	column := 0
	for word := range strings.FieldsSeq(text) {
		switch {
		case column == 0:
		case column+1+len([]rune(word)) > limit:
			out.WriteString("\n")
			column = 0
		default:
			out.WriteString(" ")
			column++
		}
		out.WriteString(word)
		column += len([]rune(word))
	}
	return out.String() + "\n"
}
