package function

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/outcome"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// Only the errors that fatal lists have a fatal result. No other file can make one.
func TestFatal(t *testing.T) {
	wrong := &diagnostic.Diagnostic{Path: "secrets[0]", Message: "is wrong"}
	for name, tc := range map[string]struct {
		reason string
		err    error
		want   string
	}{
		"Stale": {"the composite does not list an object of its own", &outcome.Fatal{State: outcome.Waiting, Message: "old"}, "Waiting: old"},
		"Invalid": {"a mistake in the input", errors.Join(wrong, wrong), "InvalidInput: invalid input: secrets[0]: " +
			"is wrong; secrets[0]: is wrong"},
		"Claim":   {"the claim of another composite", &outcome.Fatal{State: outcome.Conflict, Message: "wrong"}, "Conflict: wrong"},
		"Waiting": {"a missing input holds what reads it", expression.NewWaiting("secrets.db"), "panic"},
		"Failed":  {"an expression that fails holds its object", &expression.Failed{Reason: "x"}, "panic"},
		"Budget":  {"work over the limit holds its object", budget.ErrSpent, "panic"},
	} {
		t.Run(name, func(t *testing.T) {
			got := "panic"
			func() {
				defer func() { _ = recover() }()
				f := &Function{Log: logging.NewNopLogger()}
				rsp := f.fatal(&fnv1.ResponseMeta{}, &wire.Request{}, tc.err)
				got = fmt.Sprintf("%s: %s", rsp.GetConditions()[0].GetReason(), rsp.GetResults()[0].GetMessage())
			}()
			if !strings.HasPrefix(got, tc.want) {
				t.Errorf("%s\nwant %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
	var fatals []string
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range selectors(file) {
			if id == "response.Fatal" || id == "fnv1.Severity_SEVERITY_FATAL" {
				fatals = append(fatals, name)
			}
		}
	}
	if diff := cmp.Diff([]string{"fatal.go"}, fatals); diff != "" {
		t.Errorf("files that make a fatal result: -want, +got:\n%s", diff)
	}
}

// selectors returns the selectors of a file, such as response.Fatal.
func selectors(file *ast.File) []string {
	var out []string
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if of, ok := s.X.(*ast.Ident); ok {
				out = append(out, of.Name+"."+s.Sel.Name)
			}
		}
		return true
	})
	return out
}
