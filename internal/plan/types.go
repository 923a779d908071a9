package plan

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	"github.com/google/cel-go/common/types"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/schema"
	"github.com/crossplane-contrib/function-export/internal/suggest"
)

// Known is what is known of the objects that an input reads. All of it is optional:
// of what is not known nothing is refused.
type Known struct {
	// Composite is its kind.
	Composite Kind

	// Resources are what the other steps of the pipeline compose, by name, with the kind
	// of each, which is not known where it is zero. Closed says that they compose no
	// others.
	Resources map[string]Kind
	Closed    bool

	// Required are the names of the Composition's own required resources.
	Required []string

	// Environment is what expressions see of it, null where a value is not known; nil if
	// it may have any field. See EnvironmentAfter.
	Environment *structpb.Struct

	// ConnectionKeys are the keys of connection details, by the name of the composed
	// resource, or composite.
	ConnectionKeys map[string][]string

	// Schema finds the OpenAPI v3 schema of a kind, or nil. It may be nil.
	Schema func(Kind) *structpb.Struct
}

// A Kind of objects.
type Kind struct{ APIVersion, Kind string }

// String is the kind for people.
func (k Kind) String() string { return k.Kind + " of " + k.APIVersion }

// A compiled expression, and what it was compiled in.
type compiled struct {
	*expression.Expression

	env *expression.Environment
	own Kind // of the generation that it is about, or zero
}

// A compositePath is a literal field of the input that holds a path of the composite.
type compositePath struct{ at, path string }

// compositePaths of the input.
func compositePaths(in *v1beta1.Exports) []compositePath {
	var out []compositePath
	if in.Environment != nil {
		list := environmentPath().Child("environmentConfigs")
		for i, e := range in.Environment.EnvironmentConfigs {
			if e.Selector == nil {
				continue
			}
			for j, l := range e.Selector.MatchLabels {
				if l.Type == v1beta1.EnvironmentLabelFromComposite || l.Type == "" {
					out = append(out, compositePath{list.Index(i).Child("selector", "matchLabels").Index(j).Child("valueFromFieldPath").String(), l.ValueFromFieldPath})
				}
			}
		}
	}
	if in.FromComposite != nil {
		out = append(out, compositePath{field.NewPath("fromComposite", "fieldPath").String(), in.FromComposite.FieldPath})
	}
	return out
}

// Kinds that the input reads, beside those of composed resources, in the order of
// their first use.
func (p *Plan) Kinds() []Kind {
	var out []Kind
	add := func(k Kind) {
		if k.Kind != "" && !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	for _, s := range p.declared {
		if !isSecret(s) {
			add(Kind{s.APIVersion, s.Kind})
		}
	}
	for _, m := range p.makers {
		if m.manifest != nil {
			add(Kind{m.manifest.apiVersion, m.manifest.kind})
		}
	}
	return out
}

// Check finds the faults of an input that Compile and CheckTypes find, both at once:
// those of types also in what is right of an input that is not. known says what is
// known of a plan, of which a part may be missing.
func Check(ctx context.Context, env *expression.Environment, input *structpb.Struct, known func(*Plan) *Known) (faults, typed field.ErrorList) {
	if _, size := digestOf(input); size > limits.InputBytes {
		return tooLarge(size), nil
	}
	p, faults := compile(ctx, env, input)
	if p == nil {
		return faults, nil
	}
	return faults, p.CheckTypes(known(p))
}

// CheckTypes finds what can never work in the input, given what is known of the
// objects that it reads: a field that they do not have, a string where a number is,
// a comparison that cannot hold, a key that no connection detail has. They are in
// the order of the input.
func (p *Plan) CheckTypes(known *Known) field.ErrorList {
	c := &typeCheck{
		Known: known, plan: p, types: schema.NewTypes(), composed: maps.Clone(known.Resources),
		variables: map[string]*types.Type{}, results: map[*expression.Expression]*types.Type{},
	}
	c.composite = c.kind(known.Composite)
	c.names()
	c.containers()
	for _, x := range p.expressions {
		c.expression(x)
	}
	for _, e := range p.exports {
		if e.from != "" {
			c.isComposed(e.at("from").String(), e.from)
		}
	}
	for _, s := range p.status {
		c.status(s)
	}
	for _, m := range p.makers {
		c.manifest(m)
	}
	for _, f := range p.compositePaths {
		c.compositePath(f)
	}
	sortFaults(c.faults)
	return slices.CompactFunc(c.faults, func(a, b *field.Error) bool { return *a == *b })
}

// A typeCheck is one way through the input.
type typeCheck struct {
	*Known

	plan      *Plan
	composed  map[string]Kind // by all steps
	types     *schema.Types
	composite *types.Type
	resources *types.Type
	sources   *types.Type
	variables map[string]*types.Type // those above
	results   map[*expression.Expression]*types.Type
	faults    field.ErrorList
}

func (c *typeCheck) fault(path, format string, args ...any) {
	c.faults = append(c.faults, &field.Error{Type: field.ErrorTypeInvalid, Field: path, BadValue: field.OmitValueType{}, Detail: fmt.Sprintf(format, args...)})
}

func (c *typeCheck) schema(k Kind) *structpb.Struct {
	if c.Known.Schema == nil || k.Kind == "" || k == (Kind{"v1", "Secret"}) { // whose data is hidden
		return nil
	}
	return schema.OfKind(c.Known.Schema(k))
}

func (c *typeCheck) kind(k Kind) *types.Type {
	if s := c.schema(k); s != nil {
		return c.types.Of(k.String(), s)
	}
	return types.DynType
}

// names refuses those that two writers, or readers, would mean different things by.
func (c *typeCheck) names() {
	if c.composed == nil {
		c.composed = map[string]Kind{}
	}
	for _, s := range c.plan.declared {
		if _, ok := c.composed[s.Name]; ok && isSecret(s) {
			i := slices.IndexFunc(c.plan.declared, func(d v1beta1.Source) bool { return d.Name == s.Name })
			c.fault(field.NewPath("sources").Index(i).Child("name").String(), "%s", twoMeanings(s.Name))
		}
	}
	for _, e := range c.plan.exports {
		if _, ok := c.Resources[e.name]; ok {
			c.fault(e.at("name").String(), "%s", composedTwice(e.name))
		}
		c.composed[e.name] = Kind{"v1", string(e.kind)}
	}
}

func (c *typeCheck) containers() {
	members := map[string]*types.Type{}
	for name, k := range c.composed {
		members[name] = c.kind(k)
	}
	var lacks func(string) string
	if c.Closed {
		lacks = c.notComposed
	}
	c.resources = c.types.Container(expression.Resources, members, lacks)

	members = map[string]*types.Type{}
	for _, s := range c.plan.declared {
		t := c.kind(Kind{s.APIVersion, s.Kind})
		switch {
		case len(s.MatchLabels) > 0 && s.MatchName+s.NameExpression != "":
			t = types.DynType // which is a fault
		case len(s.MatchLabels) > 0:
			t = types.NewListType(t)
		}
		members[s.Name] = t
	}
	c.sources = c.types.Container(expression.Sources, members, nil)
}

// notComposed says that no step composes a resource.
func (c *typeCheck) notComposed(name string) string {
	return fmt.Sprintf("no step of the pipeline composes a resource named %s", name) + suggest.DidYouMean(suggest.Nearest(name, sortedKeys(c.composed)))
}

// isComposed refuses the name of a composed resource that there is none of.
func (c *typeCheck) isComposed(path, name string) bool {
	_, ok := c.composed[name]
	if !ok && c.Closed {
		c.fault(path, "%s", c.notComposed(name))
	}
	return ok || !c.Closed
}

// typing is what is known of the variables of one expression.
func (c *typeCheck) typing(x compiled) expression.Typing {
	about := c.composite
	switch from := x.Source().From; {
	case x.Source().Own:
		about = c.kind(x.own)
	case from != "":
		about = c.kind(c.composed[from])
	}
	variables := map[string]*types.Type{
		expression.Composite: c.composite,
		expression.Resource:  about,
		expression.Self:      about,
		expression.Resources: c.resources,
		expression.Sources:   c.sources,
		expression.Variables: c.types.Container(expression.Variables, c.variables, nil),
	}
	if c.Environment != nil {
		variables[expression.Env] = c.types.Of(expression.Env, schema.Like(c.Environment))
	}
	return expression.Typing{Objects: c.types, Variables: variables, Values: func(r expression.Reference) []string { return c.values(x, r) }}
}

// values are the strings that what a reference reads is one of.
func (c *typeCheck) values(x compiled, r expression.Reference) []string {
	path := make([]any, 0, len(r.Path))
	for _, s := range r.Path {
		path = append(path, s.Key)
	}
	kind, from := c.Known.Composite, x.Source().From
	switch r.Variable {
	case expression.Composite:
	case expression.Resource, expression.Self:
		if x.Source().Own {
			kind = x.own
		} else if from != "" {
			kind = c.composed[from]
		}
	case expression.Resources:
		kind = c.composed[stepName(r, 0)]
		path = path[min(1, len(path)):]
	default:
		return nil
	}
	at, _ := schema.At(c.schema(kind), path...)
	return schema.Values(at)
}

func (c *typeCheck) expression(x compiled) {
	result, faults := x.env.CheckTypes(x.Expression, c.typing(x))
	c.results[x.Expression] = result
	for i, v := range c.plan.variables {
		if v.value == x.Expression {
			c.variables[c.plan.variables[i].name] = result
		}
	}
	for _, f := range faults {
		path := f.Path
		if isSynthetic(x.Source().Path) {
			path = x.Source().Path
		}
		c.fault(path, "%s", f.Message)
	}
	c.connectionKeys(x)
}

// isSynthetic reports whether an expression is not in the input as such: it was made
// of a literal field.
func isSynthetic(path string) bool {
	return strings.HasSuffix(path, ".extract.key") || strings.HasSuffix(path, ".extract.property")
}

// connectionKeys refuses a key that is not among the connection details of what it is
// read from.
func (c *typeCheck) connectionKeys(x compiled) {
	for _, r := range x.References() {
		input, key := x.Source().From, stepName(r, 0)
		switch {
		case r.Variable == expression.Secrets:
			input, key = stepName(r, 0), stepName(r, 1)
		case r.Variable != expression.Secret || x.Source().Own:
			continue
		case input == "":
			input = expression.Composite
		}
		isSource := slices.ContainsFunc(c.plan.declared, func(s v1beta1.Source) bool { return s.Name == input })
		if input == anything || isSource {
			continue
		}
		if r.Variable == expression.Secrets && !c.isComposed(place(x.Expression, r), input) {
			continue
		}
		keys, ok := c.ConnectionKeys[input]
		if ok && key != anything && !slices.Contains(keys, key) {
			c.fault(place(x.Expression, r), "the connection details of %s have no key %s: they have %s%s", input, key, strings.Join(keys, ", "), suggest.DidYouMean(suggest.Nearest(key, keys)))
		}
	}
}

// status refuses a field that the composite does not have: Crossplane fails to write
// all of the status for it, after everything else was applied.
func (c *typeCheck) status(s statusField) {
	want := c.fieldAt(c.composite, s.at.Child("fieldPath").String(), append([]string{"status"}, s.segments...))
	if want != nil && s.value != nil {
		c.fits(s.value, want, "status."+s.path)
	}
}

// manifest refuses what set writes into fields that the kind does not have.
func (c *typeCheck) manifest(m maker) {
	if m.manifest == nil {
		return
	}
	kind := c.kind(Kind{m.manifest.apiVersion, m.manifest.kind})
	for i, f := range m.manifest.set {
		at := m.path.Child(kindResource, "set").Index(i).Child("fieldPath").String()
		segments, err := propertySegments(f.at.String())
		if err != nil || f.value == nil {
			continue // it has an index
		}
		if want := c.fieldAt(kind, at, segments); want != nil {
			c.fits(f.value, want, f.at.String())
		}
	}
}

// fieldAt is the type of a field, or nil if that is not known, or it is a fault.
func (c *typeCheck) fieldAt(t *types.Type, at string, segments []string) *types.Type {
	for _, s := range segments {
		switch {
		case t.Kind() == types.MapKind:
			t = t.Parameters()[1]
		case t.Kind() != types.StructKind:
			return nil
		default:
			next, ok := c.types.Field(t.TypeName(), s)
			if !ok {
				c.fault(at, "%s", c.types.Lacks(t.TypeName(), s))
				return nil
			}
			t = next
		}
	}
	return t
}

// fits refuses a result that a field cannot take.
func (c *typeCheck) fits(x *expression.Expression, want *types.Type, name string) {
	have := c.results[x]
	if have == nil || isFit(have, want) {
		return
	}
	mend := ""
	if want.Kind() == types.StringKind {
		mend = ": wrap it in string(...)"
	}
	c.fault(x.Source().Path, "gives %s, but %s is %s%s", typeName(have), name, typeName(want), mend)
}

// isFit reports whether a value may be of a type, as far as is known.
func isFit(have, want *types.Type) bool {
	if have.Kind() == types.OpaqueKind && len(have.Parameters()) == 1 {
		have = have.Parameters()[0] // an optional
	}
	isObject := func(t *types.Type) bool { return t.Kind() == types.StructKind || t.Kind() == types.MapKind }
	open := func(t *types.Type) bool {
		return slices.Contains([]types.Kind{types.DynKind, types.AnyKind, types.ErrorKind, types.TypeParamKind, types.NullTypeKind}, t.Kind())
	}
	switch {
	case open(have), open(want), isObject(have) && isObject(want):
		return true
	case have.Kind() == types.ListKind && want.Kind() == types.ListKind:
		return isFit(have.Parameters()[0], want.Parameters()[0])
	case have.Kind() == types.DoubleKind && want.Kind() == types.IntKind: // a whole one is
		return true
	case have.Kind() == types.UintKind:
		return want.Kind() == types.IntKind
	}
	return have.Kind() == want.Kind()
}

// typeName is a type for people.
func typeName(t *types.Type) string {
	switch t.Kind() { //nolint:exhaustive // the others are called what they are
	case types.IntKind, types.UintKind:
		return "an integer"
	case types.BoolKind:
		return "a boolean"
	case types.DoubleKind:
		return "a number"
	case types.StructKind, types.MapKind:
		return "an object"
	case types.ListKind:
		return "a list"
	case types.OpaqueKind:
		if len(t.Parameters()) == 1 {
			return typeName(t.Parameters()[0])
		}
	}
	return "a " + t.TypeName()
}

// compositePath refuses a path that the composite does not have.
func (c *typeCheck) compositePath(f compositePath) {
	segments, err := fieldpath.Parse(f.path)
	if err != nil || f.path == "" {
		return // refused by validate
	}
	names := make([]string, 0, len(segments))
	for _, s := range segments {
		if s.Type != fieldpath.SegmentField {
			break
		}
		names = append(names, s.Field)
	}
	c.fieldAt(c.composite, f.at, names)
}
