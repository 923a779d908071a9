package plan

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/budget"
	"github.com/crossplane-contrib/function-export/internal/collect"
	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/observation"
	"github.com/crossplane-contrib/function-export/internal/rewrite"
	"github.com/crossplane-contrib/function-export/internal/sensitive"
	"github.com/crossplane-contrib/function-export/internal/suggest"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// A bulk is one entry of dataFrom: an expression that gives keys, or what to find
// them by, and what becomes of their names.
type bulk struct {
	path     string // of the entry
	optional bool
	input    string                 // that extract names
	value    *expression.Expression // of extract and valueMap
	spelled  []string               // keys of value that a text may show; nil for all of them
	object   bool                   // the input is a ConfigMap source
	property []string               // of extract: the key whose value is opened, and what leads to its object
	find     *find
	rewriter *rewrite.Rewriter
}

// A find says which keys of which inputs are taken.
type find struct {
	path string
	name *rewrite.Pattern // may be nil
	tags map[string]string

	generators []string // whose outputs it takes
}

// reaches reports whether a key of the input can have the path.
func (f find) reaches(input string) bool {
	input += "/"
	return strings.HasPrefix(input, f.path) || strings.HasPrefix(f.path, input)
}

// takes reports whether a key of an input that is reached is taken.
func (f find) takes(b *budget.Budget, name string) (bool, error) {
	rest, ok := strings.CutPrefix(name, f.path)
	if !ok || f.name == nil {
		return ok, nil
	}
	return f.name.Match(b, rest)
}

// tagged reports whether an object has all tags for labels.
func (f find) tagged(o wire.Struct) bool {
	labels := metadataOf(o).Get("labels").Struct()
	for k, v := range f.tags {
		if l := labels.Get(k); l.Text() != v || !l.Exists() {
			return false
		}
	}
	return true
}

func (c *compiler) bulks(at *field.Path, list []v1beta1.DataFrom, from string, secret bool) []bulk {
	out := make([]bulk, 0, len(list))
	for i, d := range list {
		at := at.Child("dataFrom").Index(i)
		b := bulk{path: at.String(), optional: d.Optional}
		switch {
		case d.Extract != nil:
			c.extract(&b, at.Child("extract"), *d.Extract, secret)
		case d.Find != nil:
			c.find(&b, at.Child("find"), *d.Find, secret)
		case d.ValueMap != "":
			b.value = c.output(expression.Source{Text: d.ValueMap, Path: at.Child("valueMap").String(), From: from, Want: expression.WantTextMap})
			if !secret {
				c.refuseAllSecrets(b.value)
			}
			if b.value != nil && len(c.reading(b.value).uses) > 0 {
				b.spelled = append([]string{}, b.value.Keys()...)
			}
		}
		b.rewriter = c.rewriter(at, d)
		out = append(out, b)
	}
	return out
}

// extract compiles the expression that reads the input which extract names.
func (c *compiler) extract(b *bulk, at *field.Path, e v1beta1.Extract, secret bool) {
	if e.Key == "" {
		return // refused by validate
	}
	property, err := propertySegments(e.Property)
	if err != nil {
		c.fault(at.Child("property").String(), "%s", err.Error())
		return
	}
	b.input, b.property = e.Key, property
	s := expression.Source{Path: at.Child("key").String(), Want: expression.WantTextMap}
	i := slices.IndexFunc(c.sources, func(s v1beta1.Source) bool { return s.Name == e.Key })
	switch {
	case e.Key == expression.Env && len(property) == 0:
		c.fault(at.Child("property").String(), "must be set for the environment: name the field to take the members of")
		return
	case e.Key == expression.Env:
		s.Path, s.Want = at.Child("property").String(), expression.WantAny
		s.Text, b.property = expression.PathText(expression.Env, property...), nil
	case i >= 0 && !isSecret(c.sources[i]):
		if src := c.sources[i]; src.APIVersion != "v1" || src.Kind != "ConfigMap" || len(src.MatchLabels) > 0 {
			c.fault(s.Path, "source %q is not one ConfigMap or Secret: use its fields in a valueMap", e.Key)
			return
		}
		s.Want, b.object = expression.WantAny, true
		s.Text = expression.PathText(expression.Sources, e.Key)
	case e.Key == expression.Composite:
		s.Text = expression.Secret
	default:
		s.Text = expression.PathText(expression.Secrets, e.Key)
		if variable, name, ok := generatedInput(e.Key); ok && len(c.makers) > 0 {
			s.Text = expression.PathText(variable, name) // which compile refuses if there is none
		}
	}
	b.value = c.output(s)
	if b.value != nil && !secret && len(c.reading(b.value).uses) > 0 {
		c.fault(s.Path, "%q gives secret data, which flows into the data of Secrets only: extract a ConfigMap source or the environment, or export single keys", e.Key)
	}
}

// propertySegments are the names in a field path.
func propertySegments(path string) ([]string, error) {
	if path == "" {
		return nil, nil
	}
	segments, err := fieldpath.Parse(path)
	if err != nil {
		return nil, errors.New("cannot be parsed as a field path: write for example credentials.admin")
	}
	out := make([]string, 0, len(segments))
	for _, s := range segments {
		if s.Type != fieldpath.SegmentField || s.Field == "*" {
			return nil, errors.New("must name fields only: leave out [ ]")
		}
		out = append(out, s.Field)
	}
	return out, nil
}

// find compiles a find, and notes which sources it reads: those whose keys can
// have the path. Composed resources come with their connection details anyway.
func (c *compiler) find(b *bulk, at *field.Path, f v1beta1.Find, secret bool) {
	if !secret {
		c.fault(at.String(), "finds secret data, which flows into the data of Secrets only: extract a ConfigMap source or the environment")
		return
	}
	b.find = &find{path: f.Path, tags: f.Tags}
	c.details.finds = append(c.details.finds, bulk{path: b.path, find: b.find})
	if f.Name != nil && f.Name.RegExp != "" {
		re, faults := rewrite.CompilePattern(at.Child("name", "regexp").String(), f.Name.RegExp)
		for _, f := range faults {
			c.fault(f.Path, "%s", f.Message)
		}
		b.find.name = re
	}
	variable, name, ok := generatedInput(f.Path)
	name, _, whole := strings.Cut(name, "/")
	switch {
	case !ok || len(c.makers) == 0:
	case variable == expression.Previous:
		c.fault(at.Child("path").String(), "finds no generation before: use extract, with key %s", variable+"."+name)
	case whole && c.maker(name) == nil:
		c.fault(at.Child("path").String(), "there is no generator %q%s", name, suggest.ThereAre(name, c.generatorNames()))
	}
	for _, name := range c.generatorNames() {
		if b.find.generates(name) {
			b.find.generators = append(b.find.generators, name)
		}
	}
	for _, s := range c.sources {
		if isSecret(s) && b.find.reaches(s.Name) {
			c.outputs.addUse(use{input: s.Name, key: anything, place: at.String()})
		}
	}
}

func (c *compiler) rewriter(at *field.Path, d v1beta1.DataFrom) *rewrite.Rewriter {
	o := rewrite.Options{Conversion: d.ConversionStrategy, Decoding: d.DecodingStrategy}
	for i, r := range d.Rewrite {
		o.Rules = append(o.Rules, c.rule(at.Child("rewrite").Index(i), r))
	}
	r, faults := rewrite.Compile(o)
	for _, f := range faults {
		c.fault(at.String()+"."+f.Path, "%s", f.Message)
	}
	return r
}

func (c *compiler) rule(at *field.Path, r v1beta1.Rewrite) rewrite.Rule {
	var out rewrite.Rule
	if x := r.RegExp; x != nil {
		out.Regexp = &rewrite.Regexp{Source: x.Source}
		if x.Target != nil {
			out.Regexp.Target = *x.Target
		}
	}
	if m := r.Merge; m != nil {
		out.Merge = &rewrite.Merge{Strategy: m.Strategy, Into: m.Into, Priority: m.Priority, PriorityPolicy: m.PriorityPolicy, ConflictPolicy: m.ConflictPolicy}
	}
	if t := r.Transform; t != nil {
		out.Transform = &rewrite.Transform{Template: t.Template}
		if t.KeyExpression != "" {
			out.Transform.Key = c.keyExpression(at.Child("transform", "keyExpression"), t.KeyExpression)
		}
	}
	return out
}

// keyExpression is the function that an expression over a key is. It never runs
// if the expression has a fault.
func (c *compiler) keyExpression(at *field.Path, text string) func(string, *budget.Budget) (string, error) {
	x, faults := c.env.Keys().Compile(expression.Source{Text: text, Path: at.String(), Want: expression.WantString})
	for _, f := range faults {
		c.fault(f.Path, "%s", f.Message)
	}
	return func(key string, b *budget.Budget) (string, error) { return x.Rename(key, b) }
}

// collectBulk adds the keys of one entry of dataFrom to the collection.
func (r *run) collectBulk(ctx context.Context, c *collect.Collection, b bulk, from string) {
	e := collect.Entry{Path: b.path, Optional: b.optional}
	var keys []rewrite.Key
	ok := true
	var err error
	if b.find != nil {
		keys, err = r.found(b)
		e.Optional = b.optional && err == nil // an object must not shrink while an input is away
	} else {
		keys, ok, err = r.extracted(ctx, b, from)
	}
	if b.input != "" || b.find != nil {
		keys = slices.DeleteFunc(keys, func(k rewrite.Key) bool { return k.Value.Len() == 0 }) // nobody asked for it by name
	}
	if err == nil && ok && len(keys) > 0 {
		keys, err = b.rewriter.Apply(r.budget, keys)
	}
	c.Map(e, named(keys), ok, b.placed(err))
}

// placed gives an error of a rewrite the path of the entry. What a rule misses
// may still come.
func (b bulk) placed(err error) error {
	var f *rewrite.Failed
	if !errors.As(err, &f) {
		return err
	}
	if f.Missing {
		return expression.NewWaiting(f.Reason)
	}
	path := b.path
	if f.Path != "" {
		path += "." + f.Path
	}
	reason := f.Reason
	if f.Cause != nil {
		reason += ": " + f.Cause.Error()
	}
	return &expression.Failed{Path: path, Reason: reason}
}

func named(keys []rewrite.Key) []collect.Key {
	out := make([]collect.Key, 0, len(keys))
	for i := range keys {
		out = append(out, collect.Key{Name: keys[i].Name, Value: keys[i].Value, From: &keys[i]})
	}
	return out
}

// extracted are the keys that extract or valueMap gives.
func (r *run) extracted(ctx context.Context, b bulk, from string) ([]rewrite.Key, bool, error) {
	if b.input != "" {
		from = "" // extract names its input itself
	}
	v, err := r.evaluate(ctx, b.value, from)
	if err == nil {
		err = r.ready(b.input)
	}
	if err != nil {
		return nil, false, err
	}
	var m map[string]sensitive.Bytes
	ok := true
	switch {
	case b.object:
		m, err = r.dataOf(b)
	case b.value.Source().Want == expression.WantAny:
		m, ok, err = b.value.Members(v, r.budget)
	default:
		m, ok, err = b.value.TextMap(v, r.budget)
	}
	if err != nil || !ok || len(b.property) == 0 {
		return b.keys(m), ok, err
	}
	keys, err := b.open(r.budget, m)
	return keys, true, err
}

// dataOf a ConfigMap source.
func (r *run) dataOf(b bulk) (map[string]sensitive.Bytes, error) {
	o := r.Observation.Sources[b.input].Objects[0]
	n := o.Get("data").Struct().Len() + o.Get("binaryData").Struct().Len()
	if err := r.budget.Spend(budget.Counted(2*n, o.Size())); err != nil {
		return nil, b.stopped(err)
	}
	m, err := object.DataOf(o)
	if err != nil {
		return nil, &expression.Failed{Path: b.path, Reason: err.Error()}
	}
	return m, nil
}

// stopped says that the budget does not pay for an entry.
func (b bulk) stopped(err error) error {
	return &expression.Failed{Path: b.path, Reason: "was stopped: " + err.Error() + ": export fewer keys, or use fewer and simpler rules"}
}

// open takes the members of the JSON value that the property names.
func (b bulk) open(budget *budget.Budget, m map[string]sensitive.Bytes) ([]rewrite.Key, error) {
	origin := rewrite.Origin{Input: b.input, Key: b.property[0]}
	v, ok := m[origin.Key]
	if !ok {
		return nil, &rewrite.Failed{Reason: origin.String(), Missing: true}
	}
	return rewrite.Open(budget, rewrite.Key{Name: origin.Key, Value: v, Origins: []rewrite.Origin{origin}}, b.property[1:])
}

// keys as a rewrite wants them. A name that was computed from a secret is not
// shown.
func (b bulk) keys(m map[string]sensitive.Bytes) []rewrite.Key {
	out := make([]rewrite.Key, 0, len(m))
	for _, name := range sortedKeys(m) {
		origin := rewrite.Origin{Input: b.input, Key: name}
		if b.spelled != nil && !slices.Contains(b.spelled, name) {
			origin.Key = "(computed)"
		}
		out = append(out, rewrite.Key{Name: name, Value: m[name], Origins: []rewrite.Origin{origin}})
	}
	return out
}

// findWeighs is how many keys an input weighs by itself: its labels and conditions are
// looked at.
const findWeighs = 4

// found are the keys that find gives: of all secret inputs that this step sees,
// by <input>/<key>. It waits for an input that it reaches and that is still to
// come: a source, or a resource that is to have connection details and has none.
func (r *run) found(b bulk) ([]rewrite.Key, error) {
	var out []rewrite.Key
	var waiting []string
	var spent error
	take := func(input string, o wire.Struct, d observation.Details) {
		if spent == nil {
			spent = r.budget.Spend(budget.Counted(findWeighs+2*len(d), 0))
		}
		if spent != nil {
			return
		}
		for _, key := range sortedKeys(d) {
			name := input + "/" + key
			taken, err := b.find.takes(r.budget, name)
			if err != nil {
				spent = err
				return
			}
			if taken {
				out = append(out, rewrite.Key{Name: name, Value: sensitive.New(d[key]), Origins: []rewrite.Origin{{Input: input, Key: key}}})
			}
		}
		if len(d) == 0 && writesDetails(o) {
			waiting = append(waiting, expression.PathText(expression.Secrets, input))
		}
		var w *expression.Waiting
		if errors.As(r.ready(input), &w) {
			waiting = append(waiting, w.Inputs...)
		}
	}
	if err := r.budget.Spend(budget.Counted(len(r.Observation.Resources)+len(r.Desired), 0)); err != nil {
		return nil, b.stopped(err)
	}
	for _, name := range sortedKeys(r.Observation.Resources) {
		o := r.Observation.Resources[name]
		var w *expression.Waiting
		switch {
		case !b.find.reaches(name) || !b.find.tagged(o.Object):
		case errors.As(o.Withheld, &w):
			waiting = append(waiting, w.Inputs...)
		case o.Withheld != nil:
			return nil, failed(b.path, "%s", o.Withheld.Error())
		default:
			take(name, o.Object, o.Details)
		}
	}
	for _, name := range sortedKeys(r.Desired) {
		_, observed := r.Observation.Resources[name]
		_, _, generation := parseGeneration(name) // of an earlier step, which no find means
		if !observed && !generation && b.find.reaches(name) && b.find.tagged(r.Desired[name]) {
			take(name, r.Desired[name], nil)
		}
	}
	for _, name := range b.find.generators {
		input := expression.PathText(expression.Generated, name)
		g := r.Observation.Generated[name]
		if g.Outputs == nil {
			waiting = append(waiting, input+" ("+g.Waits+")")
			continue
		}
		take(expression.Generated+"."+name, wire.Struct{}, g.Outputs)
	}
	for _, name := range sortedKeys(r.Observation.Sources) {
		s := r.Observation.Sources[name]
		switch {
		case !s.Secret || !b.find.reaches(name):
		case s.Failed != "":
			return nil, &expression.Failed{Path: b.path, Reason: "reads " + expression.PathText(expression.Secrets, name) + ", which cannot be used: " + s.Failed}
		case len(s.Objects) == 0 && (!s.Optional || !s.Read):
			waiting = append(waiting, expression.PathText(expression.Secrets, name))
		case len(s.Objects) > 0 && b.find.tagged(s.Objects[0]):
			take(name, s.Objects[0], s.Details)
		}
	}
	if spent != nil {
		return nil, b.stopped(spent)
	}
	if len(waiting) > 0 {
		return nil, r.explain(expression.NewWaiting(waiting...))
	}
	return out, nil
}

// ready waits for a composed resource that says it is not ready. Which connection
// details there will be is not known; before they are all there it is not ready.
func (r *run) ready(input string) error {
	for _, c := range r.Observation.Resources[input].Object.At("status", "conditions").List().All() {
		if c := c.Struct(); c.Get("type").Is("Ready") && !c.Get("status").Is("True") {
			return expression.NewWaiting(expression.PathText(expression.Resources, input) + " to be ready")
		}
	}
	return nil
}

// writesDetails reports whether a resource is to have connection details.
func writesDetails(o wire.Struct) bool {
	return o.At("spec", "writeConnectionSecretToRef").Exists()
}
