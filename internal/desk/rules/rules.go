// Package rules finds inputs that compile and are wrong in production: they wait for ever, lose a credential, change
// all the time, or show a secret.
//
// Each rule has a name, a level, and a function over one step of a pipeline. The functions use only what the files say:
// the plans of the steps with this function's input, the resources of the other steps, and the schemas of kinds. They
// report only what they are sure of. Page fn/RULES.md shows an example of each rule.
package rules

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/crossplane-contrib/function-export/internal/desk/composition"
	"github.com/crossplane-contrib/function-export/internal/desk/typecheck"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// A Level is what a rule does.
type Level string

// The levels.
const (
	Error   Level = "error"
	Warning Level = "warning"
	Off     Level = "off"
)

// A Rule finds one kind of mistake.
type Rule struct {
	Name  string
	Level Level  // unless the settings set another one
	Text  string // what the rule requires, in one sentence
	find  func(v *View, say Say)
}

// A Say reports a mistake at a place of the input. The message also says what to write. It returns the edits of the
// diagnostic, which are set if the correction is certain.
type Say func(at expression.Place, format string, args ...any) *[]diagnostic.Edit

// A View is one step of a pipeline, and what the files say about the other steps.
type View struct {
	Plan  *plan.Plan
	Known *typecheck.Known // the kinds of the objects that the step reads, and their schemas

	Composition *composition.Composition // nil if the input is not in one
	Index       int                      // of the step in the Composition
	Plans       map[int]*plan.Plan       // of the steps with this function's input, by their index
	Functions   []Function               // in the files
}

// A Function is an installed function.
type Function struct{ Name, Package string }

// All returns the rules, sorted by name.
func All() []Rule { return all }

// Named returns the rule with a name, or nil.
func Named(name string) *Rule {
	i := slices.IndexFunc(all, func(r Rule) bool { return r.Name == name })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// Names returns the names of all rules, sorted.
func Names() []string {
	out := make([]string, 0, len(all))
	for _, r := range all {
		out = append(out, r.Name)
	}
	return out
}

// Check returns the mistakes in a step. level returns the level of a rule.
func Check(v *View, level func(Rule) Level) diagnostic.List {
	var out diagnostic.List
	for _, r := range all {
		l := level(r)
		if l == Off {
			continue
		}
		r.find(v, func(at expression.Place, format string, args ...any) *[]diagnostic.Edit {
			d := at.Wrong(fmt.Sprintf(format, args...))
			d.Rule, d.Warning = diagnostic.Rule(r.Name), l == Warning
			if !slices.ContainsFunc(out, d.Same) {
				out = append(out, d)
			}
			return &d.Edits
		})
	}
	return out
}

// A read is a reference, and where the expression begins to read it. The place of what a variable reads is where the
// variable is used.
type read struct {
	expression.Reference

	at expression.Place
}

// reads returns the references of an expression, and those of the variables that it uses.
func (v *View) reads(x *expression.Expression) []read {
	var out []read
	if x == nil {
		return nil
	}
	for _, r := range x.References() {
		at := plan.Place(x, r)
		out = append(out, read{r, at})
		if r.Variable != expression.Variables {
			continue
		}
		for _, of := range v.Plan.Variables {
			if of.Name == plan.StepName(r, 0) {
				for _, inner := range v.reads(of.Value) {
					out = append(out, read{inner.Reference, at})
				}
			}
		}
	}
	return out
}

// of returns the composed resource that a reference reads, and the index of its first step below the resource. The name
// is empty if the reference reads something else, or if the name is not known.
func of(x *expression.Expression, r expression.Reference) (name string, below int) {
	switch r.Variable {
	case expression.Resources, expression.Secrets:
		name, below = plan.StepName(r, 0), 1
	case expression.Resource, expression.Self, expression.Secret:
		name = cmp.Or(x.Source().From, plan.Anything)
		if x.Source().Own {
			name = plan.Anything
		}
	}
	if name == plan.Anything {
		return "", 0
	}
	return name, below
}

// setText returns the edit that sets the text of a field.
func setText(path, text string) []diagnostic.Edit { return []diagnostic.Edit{{Path: path, Text: text}} }

// field returns the place of a field of the input as a whole.
func field(path string) expression.Place { return expression.Place{Path: path} }

// all are the rules, sorted by name.
var all = []Rule{ //nolint:gochecknoglobals // a table
	{"abandoned-after-next", Warning, "`abandonAfter` is shorter than `refreshInterval`.", abandonedAfterNext},
	{"ca-without-former", Warning, "While a CA is rotated, clients know the present and the former certificate.",
		caWithoutFormer},
	{"candidate-for-consumers", Warning, "Only the export that sets a credential reads `candidate`.",
		candidateForConsumers},
	{"candidate-never-set", Warning, "If `readyExpression` compares the candidate, an export sets it.", candidateNeverSet},
	{"certificate-expires", Warning, "A certificate has a `refreshPolicy`.", certificateExpires},
	{"changing-value", Warning, "Names, keys, labels and keepers do not depend on fields that change with each " +
		"write.", changingValue},
	{"composed-later", Warning, "The step that composes a resource is before the step that reads it.", composedLater},
	{"derived-schedule", Warning, "A generator with `secretExpression` has no schedule of its own.", derivedSchedule},
	{"encoded-twice", Warning, "The data of a Secret is not encoded in Base64 by the expression.", encodedTwice},
	{"function-keys", Error, "Literal keys and names are those that a function accepts.", functionKeys},
	{"index-as-key", Warning, "The key of an item identifies the item, not its position.", indexAsKey},
	{LiteralCredential, Warning, "A Composition contains no password, token or private key.", literalCredential},
	{"no-overlap", Warning, "A rotated credential stays valid until all applications have the next one.", noOverlap},
	{"optional-field", Warning, "A field of the composite that may be missing has a default, or is read as " +
		"optional.", optionalField},
	{"other-function", Error, "`functionRef` names this function.", otherFunction},
	{"same-object", Error, "Each object is composed by one step, under one name.", sameObject},
	{"same-status-field", Warning, "Each field of the composite's status is written by one step.", sameStatusField},
	{"setter-reads-generated", Warning, "The export that sets a verified credential reads `candidate`.",
		setterReadsGenerated},
	{"unknown-connection-key", Warning, "The provider writes the connection detail that an expression reads.",
		unknownConnectionKey},
	{"unknown-function", Warning, "The files contain the Function that `functionRef` names.", unknownFunction},
}
