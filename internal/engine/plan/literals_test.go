package plan_test

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/engine/advice"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// notRefused are the literal fields that name inputs, fields or patterns, and those whose content is for other
// programs.
var notRefused = []string{".rewrite[", ".extract.", ".find.", "ieldPath", ".nonSensitive[", ".allow.", ".manifest.",
	".from", "defaultData"}

// Each literal text of the input refuses an expression, also one of a field that is added later.
func TestEachLiteralFieldRefusesExpressions(t *testing.T) {
	b, err := os.ReadFile("../../desk/reference/testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	env, err := advice.NewEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	var walk func(root, at any, path string, set func(any))
	walk = func(root, at any, path string, set func(any)) {
		switch v := at.(type) {
		case map[string]any:
			for k, e := range v {
				below := path + "." + k
				if strings.HasSuffix(strings.ToLower(path), "labels") || strings.HasSuffix(path, "annotations") {
					below = path + "[" + k + "]"
				}
				walk(root, e, below, func(x any) { v[k] = x })
			}
		case []any:
			for i, e := range v {
				walk(root, e, path+"["+strconv.Itoa(i)+"]", func(x any) { v[i] = x })
			}
		case string:
			set("composite.metadata.name")
			defer set(v)
			input, err := structpb.NewStruct(root.(map[string]any))
			if err != nil {
				t.Fatal(err)
			}
			_, diagnostics := plan.Compile(context.Background(), env, input)
			for _, d := range diagnostics {
				if d.Path == strings.TrimPrefix(path, ".") && (strings.HasPrefix(d.Message, "is literal") ||
					strings.HasPrefix(d.Message, "must be a duration")) {
					refused++
					return
				}
			}
			last := path[strings.LastIndexByte(path, '.')+1:]
			if isCEL := last == "value" || last == "valueMap" || strings.HasSuffix(last, "Expression") ||
				strings.Contains(path, ".outputs."); isCEL {
				return
			}
			if path == ".metadata.name" { // of the input itself, which nothing reads
				return
			}
			for _, part := range notRefused {
				if strings.Contains(path, part) {
					return
				}
			}
			t.Errorf("%s accepts an expression: %v", path, diagnostics)
		}
	}
	var root map[string]any
	if err := yaml.Unmarshal(b, &root); err != nil {
		t.Fatal(err)
	}
	walk(root, root, "", nil)
	if refused < 30 {
		t.Errorf("only %d fields refuse an expression", refused)
	}
}
