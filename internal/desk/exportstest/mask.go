package exportstest

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/pipeline"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// Labels gives values labels, which are random so that they tell nothing about the value. In one run, equal values have
// equal labels. Several goroutines may use it.
type Labels struct {
	mu     sync.Mutex
	labels map[string]string
}

// Of returns the label of a value.
func (l *Labels) Of(value string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.labels == nil {
		l.labels = map[string]string{}
	}
	if l.labels[value] == "" {
		l.labels[value] = fmt.Sprintf("%08x", rand.Uint32()) //nolint:gosec // a label is no secret
	}
	return l.labels[value]
}

// A masker replaces secret values with their length and a label.
type masker struct {
	Labels

	show bool
}

// label returns what is printed instead of a value.
func (m *masker) label(value string) string {
	return fmt.Sprintf("[%d bytes, label %s]", len(value), m.Of(value))
}

// learn adds the values of Secrets, and of all connection details, to those that the test has had.
func (p *player) learn(objects map[string]*structpb.Struct) {
	for _, o := range objects {
		if object.IsSecret(wire.Of(o)) {
			for _, v := range pipeline.DataOf(o) {
				p.secrets[v] = true
			}
		}
	}
	if p.w == nil { // objects are only compared
		return
	}
	for _, details := range p.w.Details {
		for _, v := range details {
			p.secrets[string(v)] = true
		}
	}
}

// value returns how a value is printed. A value that is not secret itself may contain one.
func (p *player) value(v any, secret bool) string {
	text := textOf(v)
	switch {
	case v == nil:
		return "nothing"
	case secret && !p.mask.show:
		return p.mask.label(text)
	}
	return fmt.Sprintf("%q", p.clean(text))
}

// clean returns a text without the secret values that the test has had, also in base64. In a longer text, a value of
// few bytes is not recognized: it would be found in each number.
func (p *player) clean(text string) string {
	if p.mask.show {
		return text
	}
	if p.secrets[text] && text != "" {
		return p.mask.label(text)
	}
	longestFirst := func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }
	for _, value := range slices.SortedFunc(maps.Keys(p.secrets), longestFirst) {
		if len(value) >= leastOutput {
			text = strings.NewReplacer(value, p.mask.label(value), encode(value), p.mask.label(value)).Replace(text)
		}
	}
	return text
}

// textOf returns a value as text: whole numbers without a fraction, lists and objects as JSON.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case nil:
		return ""
	case float64:
		return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%f", v), "0"), ".")
	}
	return Inline(v)
}

// Inline returns a value as JSON in one line.
func Inline(v any) string {
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) //nolint:errchkjson // it was JSON
	return strings.TrimSpace(out.String())
}

func encode(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// isSecret reports whether the data of an object is secret.
func isSecret(o map[string]any) bool { return o["apiVersion"] == "v1" && o["kind"] == "Secret" }
