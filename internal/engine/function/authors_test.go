package function_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// authorsInput exports what the author of a composite requests, and waits for an input of its own.
const authorsInput = `
input:
  apiVersion: export.fn.crossplane.io/v1beta1
  kind: Exports
  secrets: [{name: own, from: db, data: [{key: k, value: secret.later}]}]
  status: [{fieldPath: later, value: resources.later.status.x}]
  fromComposite: {fieldPath: spec.exports}
`

// requests returns ObservedDatabase, whose author requests exports.
func requests(exports string) string {
	return strings.Replace(functiontest.ObservedDatabase, "{size: 3}", "{exports: "+exports+"}", 1)
}

// All mistakes of an author together are one warning. The messages for the author of the Composition come first.
func TestMistakesOfAuthors(t *testing.T) {
	const n = limits.MessageItems + 3
	entries := `{name: a-good-one, key: k, value: "'v'"}`
	for i := range n {
		entries += fmt.Sprintf(`, {name: wrong-%02d, key: k, value: nope}`, i)
	}
	condition, results := reconcileRequest(t, requests("{configMapExpressions: ["+entries+"]}")+authorsInput)
	const one = `SEVERITY_WARNING TARGET_COMPOSITE_AND_CLAIM ConfigMap "wrong-00" is not created: ` +
		"spec.exports.configMapExpressions[1].value:1:1: there is no variable nope"
	if len(results) != 2 || !strings.HasPrefix(results[1], one) {
		t.Errorf("want one warning %q, got %q", one, results)
	}
	if n := strings.Count(condition, "wrong-"); n != limits.MessageItems {
		t.Errorf("want %d messages for the composite author, got %d", limits.MessageItems, n)
	}
	for _, want := range []string{
		`Held Secret "own" (team-a/orders-own) is not created`, "status.later is not written", "wrong-00",
		"and 4 more messages for the composite author; see: kubectl describe ",
	} {
		i := strings.Index(condition, want)
		if i < 0 {
			t.Fatalf("want %q next, got %q", want, condition)
		}
		condition = condition[i:]
	}
}

// No text of the composite author, or of the input, brings a control character into a condition or a result.
func TestMessagesAreOneLine(t *testing.T) {
	const evil = "\n\tAll is \x1b[31mwell\r\u2028\u202e\x00"
	quoted := strings.Trim(strconv.QuoteToASCII(evil), `"`) // also in YAML
	for name, request := range map[string]string{
		"Field": requests(`{secretExpressions: [{name: a, key: k, value: "'v'", "`+quoted+`": `+
			`1}]}`) + authorsInput,
		"List":       requests(`{"secretExpression\n": [{name: a}]}`) + authorsInput,
		"Expression": requests(`{secretExpressions: [{name: a, key: k, value: "self['`+quoted+`']"}]}`) + authorsInput,
		"Input":      requests("{}") + strings.Replace(authorsInput, "  status:", `  "`+quoted+`": 1`+"\n  status:", 1),
		"Context": requests("{}") + "\ncontext: {export.fn.crossplane.io/exports: {other: {state: 2, messages: [\"" +
			quoted + "\"]}}}\n" + authorsInput,
	} {
		t.Run(name, func(t *testing.T) {
			_, texts := reconcileRequest(t, request)
			for _, text := range texts {
				if i := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
					t.Errorf("byte %d is a control character: %q", i, text)
				}
			}
		})
	}
}
