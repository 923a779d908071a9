package reconcile

import (
	"errors"
	"slices"
	"strconv"

	"cel.dev/cel-go/common/types/ref"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/collect"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/rewrite"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
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
func (x exporter) collect(e plan.Export) *collect.Collection {
	c := collect.New(len(e.Data), e.LastWins)
	for _, d := range e.DataFrom {
		if c.Ended() {
			return c
		}
		x.collectFrom(c, d, e.From)
	}
	scope := x.session.scope(e.From)
	for _, d := range e.Data {
		if c.Ended() {
			return c
		}
		in := collect.Entry{Path: d.Path, Key: d.Key, Optional: d.Optional}
		if x.session.quota.exceeded() {
			c.Value(in, sensitive.Bytes{}, false, tooMuchOf(d))
			return c
		}
		if d.Key == "" {
			m, ok, err := x.values(d, e.From)
			c.Map(in, keysOf(d, m), ok, err)
			continue
		}
		b, ok, err := valueOf(x.session, d.Value, scope, d.Value.Text)
		if err == nil && !x.session.quota.spend(1, len(d.Key)+b.Len()) {
			err = tooMuchOf(d)
		}
		c.Value(in, b, ok, err)
	}
	return c
}

// collectFrom adds the keys of an entry of dataFrom to the collection.
func (x exporter) collectFrom(c *collect.Collection, d plan.DataFrom, from string) {
	var keys []rewrite.Key
	ok, err := true, x.session.explain(x.complete(d.Path, d.Resource), nil)
	if d.Find != nil {
		keys, err = x.find(d)
	}
	// An object must not lose keys while an input is incomplete.
	in := collect.Entry{Path: d.Path, Optional: d.Optional && err == nil, Lacks: x.missingKeys(d)}
	if d.Find == nil && err == nil {
		keys, ok, err = x.extract(d, from)
	}
	if d.Input != "" || d.Find != nil { // an empty value has no name
		keys = slices.DeleteFunc(keys, func(k rewrite.Key) bool { return k.Value.Len() == 0 })
	}
	if len(keys) > 0 { // there are none with an error
		keys, err = d.Rewriter.Apply(x.session.budget, keys)
	}
	c.Map(in, collectKeys(keys), ok, withPath(d, err))
}

// missingKeys returns the missing input of an entry that has no keys.
func (x exporter) missingKeys(d plan.DataFrom) string {
	switch {
	case d.Find != nil:
		return x.whatMatches()
	case d.Input != "":
		return strconv.Quote(d.Input) + " to have a key"
	}
	return ""
}

// whatMatches describes the keys that a find can select.
func (x exporter) whatMatches() string {
	if x.session.inputs.found == "" { // the same for all finds
		names := []string{}
		for _, name := range plan.SortedKeys(x.session.observed.Resources) {
			if _, _, generation := plan.ParseGeneration(name); !generation {
				names = append(names, name+"/<key>")
			}
		}
		if len(names) == 0 {
			names = []string{"<input>/<key>"}
		}
		x.session.inputs.found = suggest.List(names)
	}
	return "a key that find matches: write its path and its name.regexp for names such as " + x.session.inputs.found
}

// composed returns a composed resource, also one of an earlier step that is not observed yet.
func (x exporter) composed(name string) observation.Resource {
	if res, observed := x.session.observed.Resources[name]; observed {
		return res
	}
	return observation.Resource{Object: x.desired[name]}
}

// complete waits for a composed resource that may not have all of its connection details yet. Their names are
// unknown. The resource is not ready before all of them exist. If it is ready and its Secret is empty, it has none.
func (x exporter) complete(path, name string) error {
	res := x.composed(name)
	var missing []string
	var w *expression.Waiting
	switch {
	case errors.As(res.Withheld, &w):
		return w
	case res.Withheld != nil:
		return failed(path, "%s", res.Withheld.Error())
	}
	ready := isReady(res.Object)
	if !ready && conditionOf(res.Object, "Ready").Exists() {
		missing = append(missing, expression.PathText(expression.Resources, name)+toBeReady)
	}
	if len(res.Details) == 0 && writesDetails(res.Object) && (!ready || !res.Published) {
		missing = append(missing, expression.PathText(expression.Secrets, name))
	}
	if len(missing) == 0 {
		return nil
	}
	return expression.NewWaiting(missing...)
}

// extract returns the keys of an entry's input, or of its map of values.
func (x exporter) extract(d plan.DataFrom, from string) ([]rewrite.Key, bool, error) {
	if d.Input != "" {
		from = "" // extract names its input itself
	}
	type data = map[string]sensitive.Bytes
	scope := x.session.scope(from)
	m, ok, err := valueOf(x.session, d.Value, scope, func(v ref.Val, b *budget.Budget) (data, bool, error) {
		switch {
		case d.Object:
			m, err := x.dataOf(d)
			return m, true, err
		case d.Value.Source().Want == expression.WantAny:
			return d.Value.Members(v, b)
		}
		return d.Value.TextMap(v, b)
	})
	if err != nil || len(d.Property) == 0 {
		return rewriteKeys(d, m), ok, err
	}
	keys, err := openProperty(x.session.budget, d, m)
	return keys, true, err
}

// dataOf returns the data of a ConfigMap source.
func (x exporter) dataOf(d plan.DataFrom) (map[string]sensitive.Bytes, error) {
	o := x.session.observed.Sources[d.Input].Objects[0]
	n := o.Get("data").Struct().Len() + o.Get("binaryData").Struct().Len()
	if err := x.session.budget.Spend(budget.Counted(2*n, o.Size())); err != nil {
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
func (x exporter) values(d plan.Entry, from string) (map[string]sensitive.Bytes, bool, error) {
	type data = map[string]sensitive.Bytes
	scope := x.session.scope(from)
	m, ok, err := valueOf(x.session, d.Value, scope, func(v ref.Val, b *budget.Budget) (data, bool, error) {
		if x.session.quota != nil && d.Value.Entries(v) > x.session.quota.keys {
			x.session.quota.keys = -1 // reading all of them takes too long
			return nil, false, nil
		}
		return d.Value.TextMap(v, b)
	})
	bytes := 0
	for k, v := range m {
		bytes += len(k) + v.Len()
	}
	if !x.session.quota.spend(len(m), bytes) {
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
