package plan

import (
	"fmt"
	"regexp"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/observation"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// checkStrictly checks the types of the input, where it wants that, once the schemas
// of all that it names were read.
func (r *run) checkStrictly(p *Plan, out *Result) field.ErrorList {
	switch {
	case !p.strict:
		return nil
	case !r.HasSchemas:
		out.Others = append(out.Others, Outcome{Warn: true, Message: "typeChecking: is Strict, but this Crossplane hands over no schemas, as v2.2 does: nothing is checked; check the input with fn check, and set it to Warn"})
		return nil
	}
	known := r.known(p)
	kinds := p.kinds()
	for _, name := range sortedKeys(known.Resources) {
		kinds = append(kinds, known.Resources[name])
	}
	if !r.readSchemas(append(kinds, known.Composite), out) {
		return nil
	}
	faults, err := p.checkTypes(r.budget, known)
	if err != nil {
		return field.ErrorList{field.Invalid(field.NewPath("typeChecking"), field.OmitValueType{}, "was stopped: "+err.Error()+": check the input with fn check, and set it to Warn")}
	}
	return faults
}

// explainWaiting warns where what is waited for cannot come. Schemas are large: only
// those are asked for of objects that are there, and lack a field that something waits
// for. Which these are is known at the first call, unless a source has to be read first.
func (r *run) explainWaiting(p *Plan, out *Result) {
	if p.strict || !r.HasSchemas || r.budget.Waiting == 0 && !out.Unread {
		return // nothing waits, and all is read: else it is not known yet what waits
	}
	kinds, waiting := r.unfinished(p)
	if len(kinds) == 0 || !r.readSchemas(kinds, out) {
		return
	}
	faults, err := p.checkTypes(r.budget, r.known(p))
	told := 0
	for _, f := range faults {
		if at := position.FindStringIndex(f.Field); at == nil || !waiting[f.Field[:at[0]]] {
			continue
		}
		if told++; told > limits.MessageItems {
			out.Others = append(out.Others, Outcome{State: Waiting, Warn: true, Message: "typeChecking: finds more that can never be there: check the input with fn check"})
			break
		}
		out.Others = append(out.Others, Outcome{State: Waiting, Warn: true, Message: f.Field + ": " + f.Detail})
	}
	if err != nil {
		out.Others = append(out.Others, Outcome{State: Waiting, Warn: true, Message: "typeChecking: was stopped: " + err.Error() + ": check the input with fn check"})
	}
}

// position is where in an expression a fault is, behind the expression's path.
var position = regexp.MustCompile(`:\d+:\d+$`)

// readSchemas asks for schemas, and reports whether all were read.
func (r *run) readSchemas(kinds []Kind, out *Result) bool {
	all := true
	for _, k := range kinds {
		if k.Kind == "" || k == (Kind{APIVersion: "v1", Kind: "Secret"}) || slices.Contains(out.Schemas, k) {
			continue
		}
		out.Schemas = append(out.Schemas, k)
		if _, ok := r.Schemas[k]; !ok {
			all, out.Unread = false, true
		}
	}
	return all
}

// known is what a request says of kinds: those of the composite and of each composed
// resource that an expression names, observed or desired by an earlier step. Later
// steps may compose others.
func (r *run) known(p *Plan) *Known {
	schemas := map[Kind]*structpb.Struct{} // each decoded once: they are large, and asked for by each expression
	out, left := &Known{}, limits.SchemaBytes
	schema := func(k Kind) *structpb.Struct {
		if _, ok := schemas[k]; ok {
			return schemas[k]
		}
		n := r.Schemas[k].Size()
		left -= n
		switch err := r.budget.Decode(n); {
		case left < 0:
			out.stopped = fmt.Errorf("the schemas that it reads have more than %d bytes together", limits.SchemaBytes)
		case err != nil:
			out.stopped = err
		default:
			schemas[k] = r.Schemas[k].Proto()
		}
		return schemas[k]
	}
	*out = Known{Composite: kindOfObject(r.Observation.Composite.Object), Resources: map[string]Kind{}, Schema: schema}
	for _, name := range p.inputs {
		if r.exports[name] {
			continue
		}
		res, observed := r.Observation.Resources[name]
		desired, composed := r.Desired[name]
		switch is, shall := kindOfObject(res.Object), kindOfObject(desired); {
		case observed && composed && is != shall: // it is about to be another
			out.Resources[name] = Kind{}
		case observed:
			out.Resources[name] = is
		case composed:
			out.Resources[name] = shall
		}
	}
	return out
}

func kindOfObject(s wire.Struct) Kind {
	apiVersion, kind, _, _ := object.Identity(s)
	return Kind{APIVersion: apiVersion, Kind: kind}
}

// unfinished are the kinds of objects that are there, and lack what is waited for, so
// many as may be asked for; and the paths of what waits for them.
func (r *run) unfinished(p *Plan) (kinds []Kind, waiting map[string]bool) {
	waiting = map[string]bool{}
	for _, x := range p.needed {
		scope := r.Observation.Scope(x.Source().From, r.variables.Val)
		for _, ref := range x.Absent(scope) {
			for _, res := range r.objectsOf(p, x, ref) {
				if k := kindOfObject(res.Object); !slices.Contains(kinds, k) && len(kinds) < limits.Schemas {
					kinds = append(kinds, k)
				}
				waiting[x.Source().Path] = true
			}
		}
	}
	return kinds, waiting
}

// neededExpressions are those that something waits for which is not optional, by
// themselves or through variables.
func (p *Plan) neededExpressions() []*expression.Expression {
	var out []*expression.Expression
	var add func(...*expression.Expression)
	add = func(list ...*expression.Expression) {
		for _, x := range list {
			if x == nil || slices.Contains(out, x) {
				continue
			}
			out = append(out, x)
			for _, r := range x.Reads() {
				i := slices.IndexFunc(p.variables, func(v variable) bool { return v.name == stepName(r.Reference, 0) })
				if r.Variable == expression.Variables && !r.Branched && i >= 0 {
					add(p.variables[i].value)
				}
			}
		}
	}
	for _, e := range p.exports {
		m := e.metadata
		add(m.nameExpr, m.namespaceExpr, m.labelsExpression, m.annotationsExpression)
		for _, d := range e.data {
			if !d.optional {
				add(d.value)
			}
		}
		for _, b := range e.dataFrom {
			if !b.optional {
				add(b.value)
			}
		}
	}
	for _, s := range p.status {
		if !s.optional {
			add(s.value)
		}
	}
	for _, f := range p.set {
		if !f.optional {
			add(f.value)
		}
	}
	for _, m := range p.makers {
		add(m.keepers, m.secret)
	}
	return out
}

// objectsOf are the objects that a reference is into, by itself or through a variable,
// of those that are there.
func (r *run) objectsOf(p *Plan, x *expression.Expression, ref expression.Reference) []observation.Resource {
	name, steps := x.Source().From, 1
	switch ref.Variable {
	case expression.Composite:
		name = ""
	case expression.Resource, expression.Self:
	case expression.Resources:
		name, steps = stepName(ref, 0), 2
	case expression.Variables:
		return r.objectsOfVariable(p, ref)
	default:
		return nil
	}
	if len(ref.Path) < steps {
		return nil
	}
	if name == "" {
		return []observation.Resource{r.Observation.Composite}
	}
	if res, ok := r.Observation.Resources[name]; ok {
		return []observation.Resource{res}
	}
	return nil
}

// objectsOfVariable are those that the variable reads, if the reference is into what it
// gives.
func (r *run) objectsOfVariable(p *Plan, ref expression.Reference) []observation.Resource {
	i := slices.IndexFunc(p.variables, func(v variable) bool { return v.name == stepName(ref, 0) })
	if i < 0 || len(ref.Path) < 2 {
		return nil
	}
	var out []observation.Resource
	for _, inner := range p.variables[i].value.References() {
		out = append(out, r.objectsOf(p, p.variables[i].value, inner)...)
	}
	return out
}
