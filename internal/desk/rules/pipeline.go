package rules

import (
	"path"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/composition"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// This file has the rules about several steps of a pipeline, and about the installed functions.

// ours is the name of this function. Crossplane adds the organization if it installs it as a dependency.
const ours = "function-export"

// FunctionRef is the path of diagnostics about the functionRef of a step, which is beside the input.
const FunctionRef = "functionRef.name"

// others are functions that are often in a pipeline.
var others = []string{ //nolint:gochecknoglobals // a table
	"function-auto-ready", "function-cel-filter", "function-cue", "function-environment-configs",
	"function-extra-resources", "function-go-templating", "function-kcl", "function-kro",
	"function-patch-and-transform", "function-python", "function-pythonic", "function-sequencer",
}

func (v *View) function() (name string, step composition.Step) {
	if v.Composition == nil {
		return "", step
	}
	step = v.Composition.Steps[v.Index]
	return step.Function, step
}

// resources returns the composed resources of all steps of the pipeline.
func (v *View) resources() (out []composition.Resource) {
	if v.Composition != nil {
		for _, s := range v.Composition.Steps {
			out = append(out, s.Resources...)
		}
	}
	return out
}

// installed returns the Function of the files with a name, or nil.
func (v *View) installed(name string) *Function {
	i := slices.IndexFunc(v.Functions, func(f Function) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &v.Functions[i]
}

// otherFunction finds a step whose input is for this function, and which runs another one.
func otherFunction(v *View, say Say) {
	name, step := v.function()
	if name == "" || step.Group() == "" {
		return
	}
	if f := v.installed(name); f != nil {
		image, _, _ := strings.Cut(f.Package, "@")
		if base, _, _ := strings.Cut(path.Base(image), ":"); slices.Contains(others, base) {
			say(field(FunctionRef), "is a Function with the package %s, but the input is for %s: write the name of "+
				"the Function with this package", base, ours)
		}
		return
	}
	meant := ""
	for _, s := range v.Composition.Steps {
		if s.Function == name && s.Group() != "" && s.Group() != step.Group() {
			meant = ours
		}
	}
	for _, o := range others {
		if organization, isOther := strings.CutSuffix(name, o); isOther {
			meant = organization + ours
		}
	}
	if meant != "" {
		*say(field(FunctionRef), "is another function, but the input is for %s: write name: %s", ours, meant) =
			setText(FunctionRef, meant)
	}
}

// unknownFunction finds a functionRef without a Function, if the files contain this function, or its name is
// misspelled.
func unknownFunction(v *View, say Say) {
	name, _ := v.function()
	if name == "" || v.installed(name) != nil || strings.HasSuffix(name, ours) {
		return
	}
	var names []string
	for _, f := range v.Functions {
		if strings.Contains(f.Package, "/"+ours) {
			names = append(names, f.Name)
		}
	}
	switch {
	case len(names) > 0:
		say(field(FunctionRef), "no Function in the files is named %s: write name: %s", name, suggest.List(names))
	case suggest.Nearest(name, []string{ours}) != "":
		*say(field(FunctionRef), "did you mean %s?", ours) = setText(FunctionRef, ours)
	}
}

// A target is an object that a step composes, by its name in the cluster.
type target struct{ kind, namespace, name string }

// compositeName matches expressions that return the composite's name, with text around it.
var compositeName = lazy.MustCompile(`^(?:'([^']*)'\+)?composite\.metadata\.name(?:\+'([^']*)')?$`)

// objectOf returns the name of an object of an export, with the name of the composite as [composition.CompositeName],
// or the expression that returns it. It is empty if it is different for each item.
func objectOf(e plan.Export) string {
	switch m := e.Metadata; {
	case e.ForEach != nil || e.Author:
		return ""
	case m.Name != "":
		return m.Name
	case m.NameExpr == nil:
		return composition.CompositeName + "-" + e.Name
	default:
		text := strings.ReplaceAll(strings.Join(strings.Fields(m.NameExpr.Source().Text), ""), `"`, "'")
		if parts := compositeName().FindStringSubmatch(text); parts != nil {
			return parts[1] + composition.CompositeName + parts[2]
		}
		return text
	}
}

// sameObject finds objects that this step and another one compose, and two exports of this step with one name.
func sameObject(v *View, say Say) {
	first := v.elsewhere()
	for _, e := range v.Plan.Exports {
		o, ok := targetOf(e)
		if !ok {
			continue
		}
		if other, taken := first[o]; taken {
			say(field(e.NamePath().String()), "%s also composes this %s: leave one of them out, or give this one "+
				"another name", other, o.kind)
		}
		first[o] = e.Name
	}
}

// targetOf returns the object of an export, if its name is known.
func targetOf(e plan.Export) (target, bool) {
	o := target{string(e.Kind), e.Metadata.Namespace, objectOf(e)}
	return o, o.name != "" && e.Metadata.NamespaceExpr == nil
}

// elsewhere returns the objects that other steps compose under other names. The names of exports are refused as a
// mistake of the types.
func (v *View) elsewhere() map[target]string {
	out := map[target]string{}
	if v.Composition == nil {
		return out
	}
	for i, s := range v.Composition.Steps {
		if i == v.Index {
			continue
		}
		for _, r := range s.Resources {
			if r.Object != "" && r.APIVersion == "v1" && !v.Plan.ExportNamed(r.Name) {
				out[target{r.Kind, r.Namespace, r.Object}] = r.Name + " of the step " + s.Name
			}
		}
		if v.Plans[i] == nil {
			continue
		}
		for _, e := range v.Plans[i].Exports {
			if o, ok := targetOf(e); ok && !v.Plan.ExportNamed(e.Name) {
				out[o] = e.Name + " of the step " + s.Name
			}
		}
	}
	return out
}

// sameStatusField finds a status field that another step also writes.
func sameStatusField(v *View, say Say) {
	if v.Composition == nil {
		return
	}
	for i, s := range v.Composition.Steps {
		fields := slices.Clone(s.Status)
		if p := v.Plans[i]; p != nil && i < v.Index {
			for _, f := range p.Status {
				fields = append(fields, f.Path)
			}
		}
		for _, f := range v.Plan.Status {
			isWritten := func(o string) bool { return o == f.Path || strings.HasPrefix(f.Path, o+".") }
			if i != v.Index && slices.ContainsFunc(fields, isWritten) {
				say(field(f.At.Child("fieldPath").String()), "step %s also writes this field, and the last step "+
					"wins: leave one of them out", s.Name)
			}
		}
	}
}

// composedLater finds resources that expressions read, and that only a later step composes.
func composedLater(v *View, say Say) {
	if v.Composition == nil {
		return
	}
	later := map[string]string{}
	for i, s := range v.Composition.Steps {
		for _, r := range s.Resources {
			switch _, known := later[r.Name]; {
			case i < v.Index:
				later[r.Name] = "" // also before
			case i > v.Index && !known:
				later[r.Name] = s.Name
			}
		}
	}
	told := map[string]bool{}
	for _, x := range v.Plan.Expressions {
		for _, r := range x.References() {
			name, _ := of(x.Expression, r)
			if step := later[name]; step != "" && !told[name] && !v.Plan.ExportNamed(name) {
				told[name] = true
				say(plan.Place(x.Expression, r), "is composed by the step %s, which comes later: move this step "+
					"after it", step)
			}
		}
	}
}

// unknownConnectionKey finds connection details that the provider of a kind never writes.
func unknownConnectionKey(v *View, say Say) {
	bases := map[string]map[string]any{}
	for _, r := range v.resources() {
		bases[r.Name] = r.Base
	}
	for _, x := range v.Plan.Expressions {
		for _, r := range x.References() {
			name, below := of(x.Expression, r)
			key := plan.StepName(r, below)
			isDetail := r.Variable == expression.Secret || r.Variable == expression.Secrets
			if _, flagged := v.Known.ConnectionKeys[name]; flagged || !isDetail || name == "" ||
				key == plan.Anything || x.Dynamic(r) {
				continue
			}
			kind := v.Known.Resources[name]
			keys := KeysOf(kind, bases[name])
			if keys == nil || slices.Contains(keys, numbered(key)) || strings.HasPrefix(key, attribute) {
				continue
			}
			say(plan.Place(x.Expression, r), "the connection details of %s have no key %s%s", kind, key,
				suggest.ThereAre(key, keys, "they have no keys"))
		}
	}
}
