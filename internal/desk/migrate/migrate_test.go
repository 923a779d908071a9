package migrate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/desk/migrate"
	"github.com/crossplane-contrib/function-export/internal/engine/advice"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

var update = flag.Bool("update", false, "write the golden files of testdata")

var env = func() *expression.Environment {
	e, err := advice.NewEnvironment()
	if err != nil {
		panic(err)
	}
	return e
}()

// parse a file, as the command does.
func parse(t testing.TB, name, text string) []migrate.Document {
	t.Helper()
	docs, err := document.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]migrate.Document, 0, len(docs))
	for _, d := range docs {
		out = append(out, migrate.Document{Name: fmt.Sprintf("%s:%d", name, d.Start().Line), Value: d.Value()})
	}
	return out
}

func migrated(t testing.TB, name, text string) *migrate.Result {
	t.Helper()
	r, faults := migrate.Migrate(context.Background(), env, parse(t, name, text))
	if (r == nil) != (len(faults) > 0) {
		t.Fatalf("Migrate(...): result %v, faults %v: want just one of them", r, faults)
	}
	for _, f := range faults {
		t.Error(f)
	}
	if r == nil {
		t.FailNow()
	}
	return r
}

// A step of a pipeline, as Crossplane reads it.
type step struct {
	Step        string `json:"step"`
	FunctionRef struct {
		Name string `json:"name"`
	} `json:"functionRef"`
	Input map[string]any `json:"input"`
}

// steps of the YAML that was printed. Each input compiles.
func steps(t testing.TB, text []byte) (out []step, inputs []*structpb.Struct) {
	t.Helper()
	docs, err := document.Parse(string(text))
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	for _, d := range docs {
		b, err := json.Marshal(d.Value())
		if err != nil {
			t.Fatal(err)
		}
		var list []step
		strict := json.NewDecoder(bytes.NewReader(b))
		strict.DisallowUnknownFields()
		if err := strict.Decode(&list); err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
		for _, s := range list {
			input, err := structpb.NewStruct(s.Input)
			if err != nil {
				t.Fatal(err)
			}
			if _, faults := plan.Compile(context.Background(), env, input); len(faults) > 0 {
				t.Fatalf("does not compile: %v\n%s", faults, text)
			}
			out, inputs = append(out, s), append(inputs, input)
		}
	}
	return out, inputs
}

// Each file of testdata becomes the golden file next to it and the next steps, and compiles.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatalf("want at least 10 inputs, got %d: %v", len(files), err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		if strings.HasSuffix(name, ".golden.yaml") {
			continue
		}
		t.Run(strings.TrimSuffix(name, ".yaml"), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			r := migrated(t, name, string(b))
			if list, _ := steps(t, r.YAML); len(list) != r.Steps {
				t.Errorf("%d steps, said to be %d", len(list), r.Steps)
			}
			got, _, ends := strings.Cut(string(r.YAML), "#\n# Next steps:\n") // the page of the command shows the end
			if !ends {
				t.Error("there are no next steps")
			}
			golden := strings.TrimSuffix(file, ".yaml") + ".golden.yaml"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
			if again := migrated(t, name, string(b)); !bytes.Equal(again.YAML, r.YAML) {
				t.Error("the same input gave other bytes")
			}
		})
	}
}
