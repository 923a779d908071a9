package plan

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
)

// A description collects the labels or the annotations of an object: literal texts and expressions.
type description struct {
	allowed  allowList
	validate func(map[string]string) []error
	texts    *map[string]string
	values   *map[string]*expression.Expression
}

// describe adds the labels or the annotations of an entry. Two entries may have the same key only
// if they also have the same text. In Azure Service Operator each text is an expression. Here, a
// text that is not an expression of type string is literal: app: shop means the same as
// app: "'shop'".
func (t *Authors) describe(w *Authored, e *Export, at *field.Path, entry map[string]string, d description) []string {
	if len(entry) > limits.AuthorLabels {
		return []string{fmt.Sprintf("%s: has %d items, over the limit of %d", at, len(entry), limits.AuthorLabels)}
	}
	var diagnostics, refused []string
	for _, k := range SortedKeys(entry) {
		if err := first(d.validate(map[string]string{k: ""})); err != nil {
			diagnostics = append(diagnostics, at.String()+": "+err.Error())
			continue
		}
		if !d.allowed.allows(k) {
			refused = append(refused, strconv.Quote(k))
			continue
		}
		id := describedKey{e.Name, d.allowed.field, k}
		if before, ok := w.described[id]; ok {
			if before != entry[k] {
				diagnostics = append(diagnostics,
					fmt.Sprintf("%s: another entry sets another value of %[3]q for %[2]s: keep one of them", at, e, k))
			}
			continue
		}
		w.described[id] = entry[k]
		x, fs := t.described(w, source(at.Key(k), entry[k], expression.WantString))
		err := first(d.validate(map[string]string{k: entry[k]}))
		switch {
		case len(fs) > 0:
			diagnostics = append(diagnostics, fs...)
		case x != nil:
			*d.values = With(*d.values, k, x)
		case err != nil:
			diagnostics = append(diagnostics, at.String()+": "+err.Error())
		default:
			*d.texts = With(*d.texts, k, entry[k])
		}
	}
	if len(refused) > 0 {
		diagnostics = append(diagnostics, at.String()+": "+d.allowed.refuse(refused))
	}
	return diagnostics
}

func first(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// described compiles the text of a label or an annotation. It returns nil for a literal text: a
// word, a text that is too long, or a text that does not compile as a string, such as an empty one.
func (t *Authors) described(w *Authored, s expression.Source) (*expression.Expression, []string) {
	if identifier.MatchString(s.Text) || len(s.Text) > limits.ExpressionCharacters {
		return nil, nil
	}
	if refused := w.count(s); refused != nil {
		return nil, refused
	}
	x, diagnostics := t.expression(s, object.ConfigMap)
	if x == nil {
		return nil, nil
	}
	return x, diagnostics
}
