package reconcile

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/types/ref"

	"github.com/crossplane-contrib/function-export/internal/budget"
	"github.com/crossplane-contrib/function-export/internal/collect"
	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/observation"
	"github.com/crossplane-contrib/function-export/internal/plan"
	"github.com/crossplane-contrib/function-export/internal/rewrite"
	"github.com/crossplane-contrib/function-export/internal/sensitive"
	"github.com/crossplane-contrib/function-export/internal/suggest"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// A quoted key is a literal key of the input.
type quoted string

func (q quoted) String() string { return strconv.Quote(string(q)) }

// A quota is how many keys and bytes the objects of a composite author can still have together. A nil
// quota has no limit.
type quota struct{ bytes, keys int }

func (s *quota) exceeded() bool { return s != nil && (s.bytes < 0 || s.keys < 0) }

// spend reports whether the quota was sufficient.
func (s *quota) spend(keys, bytes int) bool {
	if s != nil {
		s.keys -= keys
		s.bytes -= bytes
	}
	return !s.exceeded()
}

// collect collects the data of an export. It reads dataFrom first, so that data is later and wins if the
// last value wins.
func (ex exporter) collect(e plan.Export) *collect.Collection {
	c := collect.New(len(e.Data), e.LastWins)
	for _, d := range e.DataFrom {
		if c.Ended() {
			return c
		}
		ex.collectFrom(c, d, e.From)
	}
	for _, d := range e.Data {
		if c.Ended() {
			return c
		}
		in := collect.Entry{Path: d.Path, Key: d.Key, Optional: d.Optional}
		if ex.quota.exceeded() {
			c.Value(in, sensitive.Bytes{}, false, tooMuchOf(d))
			return c
		}
		if d.Key == "" {
			m, ok, err := ex.values(d, e.From)
			c.Map(in, keysOf(d, m), ok, err)
			continue
		}
		b, ok, err := valueOf(ex.session, d.Value, ex.scope(e.From), d.Value.Text)
		if err == nil && !ex.quota.spend(1, len(d.Key)+b.Len()) {
			err = tooMuchOf(d)
		}
		c.Value(in, b, ok, err)
	}
	return c
}

// collectFrom adds the keys of an entry of dataFrom to the collection.
func (ex exporter) collectFrom(c *collect.Collection, d plan.DataFrom, from string) {
	var keys []rewrite.Key
	ok, err := true, ex.explain(ex.complete(d.Path, d.Resource), nil)
	if d.Find != nil {
		keys, err = ex.find(d)
	}
	// An object must not lose keys while an input is incomplete.
	in := collect.Entry{Path: d.Path, Optional: d.Optional && err == nil, Lacks: ex.missingKeys(d)}
	if d.Find == nil && err == nil {
		keys, ok, err = ex.extract(d, from)
	}
	if d.Input != "" || d.Find != nil { // an empty value has no name
		keys = slices.DeleteFunc(keys, func(k rewrite.Key) bool { return k.Value.Len() == 0 })
	}
	if len(keys) > 0 { // there are none with an error
		keys, err = d.Rewriter.Apply(ex.budget, keys)
	}
	c.Map(in, collectKeys(keys), ok, withPath(d, err))
}

// missingKeys returns the missing input of an entry that has no keys.
func (ex exporter) missingKeys(d plan.DataFrom) string {
	switch {
	case d.Find != nil:
		return ex.whatMatches()
	case d.Input != "":
		return strconv.Quote(d.Input) + " to have a key"
	}
	return ""
}

// whatMatches describes the keys that a find can select.
func (ex exporter) whatMatches() string {
	if ex.inputs.found == "" { // the same for all finds
		names := []string{}
		for _, name := range plan.SortedKeys(ex.observed.Resources) {
			if _, _, generation := plan.ParseGeneration(name); !generation {
				names = append(names, name+"/<key>")
			}
		}
		if len(names) == 0 {
			names = []string{"<input>/<key>"}
		}
		ex.inputs.found = suggest.List(names)
	}
	return "a key that find matches: write its path and its name.regexp for names such as " + ex.inputs.found
}

// A finder finds keys by their names, <input>/<key>, in all secret inputs of this step.
type finder struct {
	exporter
	plan.DataFrom

	keys    []rewrite.Key
	waiting []string
	stopped error
}

// find returns the keys of an entry. It waits for missing inputs that it can reach: sources, and
// resources whose connection details are missing.
func (ex exporter) find(d plan.DataFrom) ([]rewrite.Key, error) {
	f := &finder{exporter: ex, DataFrom: d}
	if err := ex.budget.Spend(int64(len(ex.observed.Resources) + len(ex.desired))); err != nil {
		return nil, stopped(d, err)
	}
	if err := f.resources(); err != nil {
		return nil, err
	}
	f.generators()
	if err := f.sources(); err != nil {
		return nil, err
	}
	switch {
	case f.stopped != nil:
		return nil, stopped(d, f.stopped)
	case len(f.waiting) > 0:
		return nil, ex.explain(expression.NewWaiting(f.waiting...), nil)
	}
	return f.keys, nil
}

func stopped(d plan.DataFrom, err error) error {
	return failed(d.Path, "was stopped: %s: export fewer keys, or use fewer and simpler rules", err.Error())
}

func (f *finder) resources() error {
	var names []string
	for name := range f.observed.Resources {
		if f.DataFrom.Find.Reaches(name) {
			names = append(names, name)
		}
	}
	for name := range f.desired {
		_, exists := f.observed.Resources[name]
		if _, _, generation := plan.ParseGeneration(name); !exists && !generation && f.DataFrom.Find.Reaches(name) {
			names = append(names, name) // by an earlier step
		}
	}
	slices.Sort(names)
	for _, name := range names {
		o := f.composed(name)
		if !f.tagged(o.Object) {
			continue
		}
		f.take(name, o.Details)
		var w *expression.Waiting
		if err := f.complete(f.DataFrom.Path, name); errors.As(err, &w) {
			f.inputs.add(name)
			f.waiting = append(f.waiting, w.Inputs...)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// tagged reports whether the find can select a key of an object by the object's labels.
func (f *finder) tagged(o wire.Struct) bool {
	return f.DataFrom.Find.Tagged(plan.MetadataOf(o).Get("labels").Struct())
}

// findCost is the cost of an input, in keys, because its labels and conditions are read.
const findCost = 4

// take adds the keys of an input that the find selects.
func (f *finder) take(input string, d observation.Details) {
	if f.stopped == nil {
		f.stopped = f.budget.Spend(int64(findCost + 2*len(d)))
	}
	if f.stopped != nil {
		return
	}
	for _, key := range plan.SortedKeys(d) {
		name := input + "/" + key
		rest, taken := strings.CutPrefix(name, f.DataFrom.Find.Path)
		if pattern := f.DataFrom.Find.Name; taken && pattern != nil {
			if taken, f.stopped = pattern.Match(f.budget, rest); f.stopped != nil {
				return
			}
		}
		if taken {
			origins := []rewrite.Origin{{Input: input, Key: key}}
			f.keys = append(f.keys, rewrite.Key{Name: name, Value: sensitive.New(d[key]), Origins: origins})
		}
	}
}

// composed returns a composed resource, also one of an earlier step that is not observed yet.
func (ex exporter) composed(name string) observation.Resource {
	if res, observed := ex.observed.Resources[name]; observed {
		return res
	}
	return observation.Resource{Object: ex.desired[name]}
}

// complete waits for a composed resource that may not have all of its connection details yet. Their names are
// unknown. The resource is not ready before all of them exist. If it is ready and its Secret is empty, it has none.
func (ex exporter) complete(path, name string) error {
	res := ex.composed(name)
	var missing []string
	var w *expression.Waiting
	switch {
	case errors.As(res.Withheld, &w):
		return w
	case res.Withheld != nil:
		return failed(path, "%s", res.Withheld.Error())
	}
	ready := false
	for _, c := range res.Object.At("status", "conditions").List().All() {
		c := c.Struct()
		switch {
		case !c.Get("type").Is("Ready"):
		case c.Get("status").Is("True"):
			ready = true
		default:
			missing = append(missing, expression.PathText(expression.Resources, name)+toBeReady)
		}
	}
	if len(res.Details) == 0 && writesDetails(res.Object) && (!ready || !res.Published) {
		missing = append(missing, expression.PathText(expression.Secrets, name))
	}
	if len(missing) == 0 {
		return nil
	}
	return expression.NewWaiting(missing...)
}

func (f *finder) generators() {
	for _, name := range f.DataFrom.Find.Generators {
		if g := f.observed.Generated[name]; g.Outputs == nil {
			f.waiting = append(f.waiting, expression.PathText(expression.Generated, name)+" ("+g.Waits+")")
		} else {
			f.take(expression.Generated+"."+name, g.Outputs)
		}
	}
}

func (f *finder) sources() error {
	for _, name := range plan.SortedKeys(f.observed.Sources) {
		s := f.observed.Sources[name]
		spelled := expression.PathText(expression.Secrets, name)
		switch {
		case !s.Secret || !f.DataFrom.Find.Reaches(name):
		case s.Failed != "":
			return failed(f.Path, "reads %s, which cannot be used: %s", spelled, s.Failed)
		case len(s.Objects) == 0 && (!s.Optional || !s.Read):
			f.waiting = append(f.waiting, spelled)
		case s.Withheld != nil:
			return s.Withheld
		case len(s.Objects) > 0 && f.tagged(s.Objects[0]):
			f.take(name, s.Details)
		}
	}
	return nil
}

// extract returns the keys of an entry's input, or of its map of values.
func (ex exporter) extract(d plan.DataFrom, from string) ([]rewrite.Key, bool, error) {
	if d.Input != "" {
		from = "" // extract names its input itself
	}
	type data = map[string]sensitive.Bytes
	m, ok, err := valueOf(ex.session, d.Value, ex.scope(from), func(v ref.Val, b *budget.Budget) (data, bool, error) {
		switch {
		case d.Object:
			m, err := ex.dataOf(d)
			return m, true, err
		case d.Value.Source().Want == expression.WantAny:
			return d.Value.Members(v, b)
		}
		return d.Value.TextMap(v, b)
	})
	if err != nil || len(d.Property) == 0 {
		return rewriteKeys(d, m), ok, err
	}
	keys, err := openProperty(ex.budget, d, m)
	return keys, true, err
}

// dataOf returns the data of a ConfigMap source.
func (ex exporter) dataOf(d plan.DataFrom) (map[string]sensitive.Bytes, error) {
	o := ex.observed.Sources[d.Input].Objects[0]
	n := o.Get("data").Struct().Len() + o.Get("binaryData").Struct().Len()
	if err := ex.budget.Spend(budget.Counted(2*n, o.Size())); err != nil {
		return nil, stopped(d, err)
	}
	m, err := object.DataOf(o)
	if err != nil {
		return nil, failed(d.Path, "%s", err.Error())
	}
	return m, nil
}

// rewriteKeys returns keys for a rewrite. Messages do not show a name that may be computed from a secret.
func rewriteKeys(d plan.DataFrom, m map[string]sensitive.Bytes) []rewrite.Key {
	out := make([]rewrite.Key, 0, len(m))
	for _, name := range plan.SortedKeys(m) {
		origin := rewrite.Origin{Input: d.Input, Key: name}
		if d.Spelled != nil && !slices.Contains(d.Spelled, name) {
			origin.Key = "(computed)"
		}
		out = append(out, rewrite.Key{Name: name, Value: m[name], Origins: []rewrite.Origin{origin}})
	}
	return out
}

func openProperty(b *budget.Budget, d plan.DataFrom, m map[string]sensitive.Bytes) ([]rewrite.Key, error) {
	origin := rewrite.Origin{Input: d.Input, Key: d.Property[0]}
	v, ok := m[origin.Key]
	if !ok {
		return nil, &rewrite.Failed{Reason: origin.String(), Missing: true}
	}
	return rewrite.Open(b, rewrite.Key{Value: v, Origins: []rewrite.Origin{origin}}, d.Property[1:])
}

func collectKeys(keys []rewrite.Key) []collect.Key {
	out := make([]collect.Key, 0, len(keys))
	for i := range keys {
		out = append(out, collect.Key{Name: keys[i].Name, Value: keys[i].Value, From: &keys[i]})
	}
	return out
}

// withPath adds the path of the entry to an error of a rewrite. A key that a rule does not find may still appear.
func withPath(d plan.DataFrom, err error) error {
	var f *rewrite.Failed
	if !errors.As(err, &f) {
		return err
	}
	if f.Missing {
		return expression.NewWaiting(f.Reason)
	}
	path, reason := d.Path, f.Reason
	if f.Path != "" {
		path += "." + f.Path
	}
	if f.Cause != nil {
		reason += ": " + f.Cause.Error()
	}
	return &expression.Failed{Path: path, Reason: reason}
}

func tooMuchOf(d plan.Entry) error { return failed(d.Path, "returns too much data: %s", tooMuch) }

// values evaluates an entry that produces several keys.
func (ex exporter) values(d plan.Entry, from string) (map[string]sensitive.Bytes, bool, error) {
	type data = map[string]sensitive.Bytes
	m, ok, err := valueOf(ex.session, d.Value, ex.scope(from), func(v ref.Val, b *budget.Budget) (data, bool, error) {
		if ex.quota != nil && d.Value.Entries(v) > ex.quota.keys {
			ex.quota.keys = -1 // reading all of them takes too long
			return nil, false, nil
		}
		return d.Value.TextMap(v, b)
	})
	bytes := 0
	for k, v := range m {
		bytes += len(k) + v.Len()
	}
	if !ex.quota.spend(len(m), bytes) {
		err = tooMuchOf(d)
	}
	return m, ok, err
}

// keysOf returns the keys of a map of values. Messages may show keys that are literals in the expression.
func keysOf(d plan.Entry, m map[string]sensitive.Bytes) []collect.Key {
	spelled := d.Value.Keys()
	out := make([]collect.Key, 0, len(m))
	for _, name := range plan.SortedKeys(m) {
		k := collect.Key{Name: name, Value: m[name]}
		if slices.Contains(spelled, name) {
			k.From = quoted(name)
		}
		out = append(out, k)
	}
	return out
}
