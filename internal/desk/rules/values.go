package rules

import (
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"

	"github.com/crossplane-contrib/function-export/internal/engine/advice"
	"github.com/crossplane-contrib/function-export/internal/engine/celast"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/functions"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/schema"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// This file has the rules about what expressions read and return.

// changing are the fields of an object that change with each write of it, or without one.
var changing = [][]string{ //nolint:gochecknoglobals // a table
	{"metadata", "resourceVersion"}, {"metadata", "generation"}, {"metadata", "managedFields"},
	{"status", "conditions"},
}

// steady are the ends of the paths of expressions from which something is made that should stay: names, keys and
// labels, and the parameters of generators.
var steady = lazy.MustCompile(`(metadata\.\w+|\]\.keyExpression|keepersExpression|generators\[\d+\]\.\w.*Expression)$`)

// mayChange are the ends of the paths of expressions that follow what they read.
var mayChange = lazy.MustCompile(`(ready|forEach|secret)Expression$`)

func changingValue(v *View, say Say) {
	for _, x := range v.Plan.Expressions {
		if at := x.Source().Path; steady().MatchString(at) && !mayChange().MatchString(at) {
			for _, r := range v.reads(x.Expression) {
				sayChanging(say, x.Expression, r)
			}
		}
		for _, entry := range entries(x.Expression) {
			ast.PreOrderVisit(entry.Key(), ast.NewExprVisitor(func(e ast.Expr) {
				if r, _ := x.Reading(e); r != nil {
					sayChanging(say, x.Expression, read{*r, x.Place(*r)})
				}
			}))
		}
	}
}

// version matches how an expression reads a field that changes with each write.
var version = lazy.MustCompile(`string\(([\w.]+\.metadata)\.(?:resourceVersion|generation)\)|` +
	`\b(metadata)\.(?:resourceVersion|generation)\b`)

func sayChanging(say Say, x *expression.Expression, r read) {
	for _, fields := range changing {
		at := slices.IndexFunc(r.Path, func(s expression.Step) bool { return s.Key == fields[0] })
		if at >= 0 && plan.StepName(r.Reference, at+1) == fields[1] {
			edits := say(r.at, "reads %s.%s, which changes again and again, and with it the name, the key, the label "+
				"or the credential that is made from it: use something that stays, such as metadata.uid", fields[0], fields[1])
			if text := x.Source().Text; version().MatchString(text) {
				*edits = setText(x.Source().Path, version().ReplaceAllString(text, "${1}${2}.uid"))
			}
		}
	}
}

// entries returns the entries of the map that an expression writes as the data of an export.
func entries(x *expression.Expression) (out []ast.MapEntry) {
	if e := x.Tree().Expr(); x.Source().Want == expression.WantTextMap && e.Kind() == ast.MapKind {
		for _, entry := range e.AsMap().Entries() {
			out = append(out, entry.AsMapEntry())
		}
	}
	return out
}

func indexAsKey(v *View, say Say) {
	for _, x := range v.Plan.Expressions {
		if !strings.HasSuffix(x.Source().Path, "].keyExpression") {
			continue
		}
		for _, r := range x.References() {
			if r.Variable == expression.Index {
				say(x.Place(r), "is the position in the list, so if an item is removed, the items after it get the "+
					"objects of their neighbors: use something that identifies the item, for example item.name")
			}
		}
	}
}

// encodedTwice finds connection details and fields that are encoded in Base64, and become the data of a Secret, which
// is encoded by Kubernetes. A program may expect a generated key in Base64.
func encodedTwice(v *View, say Say) {
	for _, e := range v.Plan.Exports {
		for _, d := range e.Data {
			if e.Kind != object.Secret || v.reads1(d.Value, expression.Generated, expression.Candidate) {
				continue
			}
			for _, p := range d.Value.Source().Parts(d.Value.Tree()) {
				value := celast.AsWritten(p.Expr)
				if !celast.IsCall(value, "base64.encode") {
					continue
				}
				plain := value.AsCall().Args()[0]
				if celast.IsCall(plain, "bytes") {
					plain = plain.AsCall().Args()[0]
				}
				*say(place(d.Value, value), "is encoded twice, because the data of a Secret is encoded for you: leave "+
					"base64.encode out, and write the text without bytes(...)") =
					advice.Instead(d.Value, value, advice.TextOf(d.Value, plain))
			}
		}
	}
}

// reads1 reports whether an expression reads one of some variables.
func (v *View) reads1(x *expression.Expression, variables ...string) bool {
	return slices.ContainsFunc(v.reads(x), func(r read) bool { return slices.Contains(variables, r.Variable) })
}

// place returns the position of a node.
func place(x *expression.Expression, e ast.Expr) expression.Place {
	info := x.Tree().SourceInfo()
	if _, ok := info.GetOffsetRange(e.ID()); !ok {
		return field(x.Source().Path)
	}
	l := info.GetStartLocation(e.ID())
	return expression.Place{Path: x.Source().Path, Line: l.Line(), Column: l.Column() + 1}
}

// structural are the beginnings and ends of what functions say about the keys of a map, and not about its values.
var structural = lazy.MustCompile(`^(a key |two keys |the name of a |a parameter is written twice)| is missing$`)

// functionKeys calls the functions that write a map as text with the literal keys of their maps. Only what they say
// about a key is known before there are values.
func functionKeys(v *View, say Say) {
	for _, x := range v.Plan.Expressions {
		ast.PreOrderVisit(x.Tree().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
			if e.Kind() != ast.CallKind || len(e.AsCall().Args()) != 1 {
				return
			}
			m, _ := sample(celast.AsWritten(e.AsCall().Args()[0])).(map[string]any)
			if m == nil {
				return
			}
			if err := functions.TryFormat(e.AsCall().FunctionName(), m); err != nil {
				sayKeys(say, place(x.Expression, e), e.AsCall().FunctionName(), m, err.Error())
			}
		}))
	}
}

// sayKeys reports what a function says about the keys of a map, or about a literal driver.
func sayKeys(say Say, at expression.Place, fn string, m map[string]any, says string) {
	if list, ok := strings.CutPrefix(says, "a key is unknown: the keys are "); ok {
		known := strings.Split(list, ", ")
		for _, key := range plan.SortedKeys(m) {
			if !slices.Contains(known, key) {
				say(at, "%s accepts no key %s%s", fn, key, suggest.ThereAre(key, known, ""))
			}
		}
		return
	}
	if structural().MatchString(says) || strings.HasPrefix(says, "driver is not ") && m["driver"] != unknown {
		say(at, "%s refuses its argument: %s", fn, says)
	}
}

// unknown is the value of an expression in a sample.
const unknown = "1"

// sample returns a value like the one of an expression: maps with literal keys, and texts. It returns nil for a map
// with another key.
func sample(e ast.Expr) any {
	if text, ok := celast.Text(e); ok {
		return text
	}
	if e.Kind() != ast.MapKind {
		return unknown
	}
	out := map[string]any{}
	for _, entry := range e.AsMap().Entries() {
		key, ok := celast.Text(entry.AsMapEntry().Key())
		if !ok {
			return nil
		}
		if out[key] = sample(celast.AsWritten(entry.AsMapEntry().Value())); out[key] == nil {
			return nil
		}
	}
	return out
}

// setByCrossplane are the fields of spec that Crossplane sets, or that it adds to each XRD.
var setByCrossplane = []string{ //nolint:gochecknoglobals // a table
	"crossplane", "claimRef", "resourceRef", "resourceRefs", "compositionRef", "compositionSelector",
	"compositionRevisionRef", "compositionRevisionSelector", "compositionUpdatePolicy", "writeConnectionSecretToRef",
}

// optionalField finds fields of the composite that exports wait for, and that no author must set.
func optionalField(v *View, say Say) {
	if v.Known.Schema == nil || v.Known.Composite.Kind == "" {
		return
	}
	s := schema.Node{Struct: wire.Of(v.Known.Schema(v.Known.Composite))}
	told := map[string]bool{}
	for _, x := range v.Plan.Needed {
		for _, r := range x.Reads() {
			own := r.Variable == expression.Composite ||
				(r.Variable == expression.Resource || r.Variable == expression.Self) && x.Source().From == "" && !x.Source().Own
			ofCrossplane := slices.Contains(setByCrossplane, plan.StepName(r, 1))
			if !own || ofCrossplane || r.Need != expression.Required || plan.StepName(r, 0) != "spec" {
				continue
			}
			if path := mayLack(s, r.Path); path != "" && !told[path] {
				told[path] = true
				say(plan.Place(x, r), "waits for ever if the author does not set %s, which the XRD does "+
					"not require: read it with .? and orValue(...), or give it a default in the XRD", path)
			}
		}
	}
}

// mayLack returns the path up to the first field that a schema neither requires nor sets, or nothing.
func mayLack(n schema.Node, path []expression.Step) string {
	at := "composite"
	if n.Is("x-kubernetes-preserve-unknown-fields") {
		return "" // it is what expressions show, and not an XRD
	}
	for i, step := range path {
		name, _ := step.Key.(string)
		next, ok := n.Property(name)
		if !ok {
			return ""
		}
		required := false
		for _, r := range n.Get("required").List().All() {
			required = required || r.Is(name)
		}
		at += "." + name
		if i > 0 && !required && !next.Get("default").Exists() {
			return at
		}
		n = next
	}
	return ""
}
