package collect

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/types/ref"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/evaluate"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/rewrite"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// This file evaluates the entries of an export, and adds their keys to a collection. All exports of a composite author
// together have a quota, which is spent before a value is used.

// A Reader evaluates the entries of exports.
type Reader struct {
	Session *evaluate.Session
	Desired map[string]wire.Struct // by earlier steps
	Quota   *Quota                 // of the composite author; nil for the input's own exports
}

// Collect collects the data of an export. It reads dataFrom first, so that data is later and wins if the
// last value wins.
func (x Reader) Collect(e plan.Export) *Collection {
	c := New(len(e.Data), e.LastWins)
	for _, d := range e.DataFrom {
		if c.Ended() {
			return c
		}
		x.collectFrom(c, d, e.From)
	}
	scope := x.Session.Scope(e.From)
	for _, d := range e.Data {
		if c.Ended() {
			return c
		}
		in := Entry{Path: d.Path, Key: d.Key, Optional: d.Optional}
		if x.Quota.Exceeded() {
			c.Value(in, sensitive.Bytes{}, false, tooMuchOf(d))
			return c
		}
		if d.Key == "" {
			m, ok, err := x.values(d, e.From)
			spelled := d.Value.Keys() // messages may show literals
			c.Map(in, keysOf(m, func(name string) (out []rewrite.Origin) {
				if slices.Contains(spelled, name) {
					out = []rewrite.Origin{{Key: name}}
				}
				return out
			}), ok, err)
			continue
		}
		b, ok, err := evaluate.Value(x.Session, d.Value, scope, d.Value.Text)
		if err == nil && !x.Quota.Spend(1, len(d.Key)+b.Len()) {
			err = tooMuchOf(d)
		}
		c.Value(in, b, ok, err)
	}
	return c
}

// collectFrom adds the keys of an entry of dataFrom to the collection.
func (x Reader) collectFrom(c *Collection, d plan.DataFrom, from string) {
	var keys []rewrite.Key
	ok, err := true, x.Session.Explain(x.complete(d.Path, d.Resource), nil)
	if d.Find != nil {
		keys, err = x.find(d)
	}
	// An object must not lose keys while an input is incomplete.
	in := Entry{Path: d.Path, Optional: d.Optional && err == nil, Lacks: x.missingKeys(d)}
	if d.Find == nil && err == nil {
		keys, ok, err = x.extract(d, from)
	}
	if d.Input != "" || d.Find != nil { // an empty value has no name
		keys = slices.DeleteFunc(keys, func(k rewrite.Key) bool { return k.Value.Len() == 0 })
	}
	if len(keys) > 0 { // there are none with an error
		keys, err = d.Rewriter.Apply(x.Session.Budget, keys)
	}
	c.Map(in, keys, ok, withPath(d, err))
}

// missingKeys returns the missing input of an entry that has no keys.
func (x Reader) missingKeys(d plan.DataFrom) string {
	switch {
	case d.Find != nil:
		return x.whatMatches()
	case d.Input != "":
		return strconv.Quote(d.Input) + " to have a key"
	}
	return ""
}

// whatMatches describes the keys that a find can select.
func (x Reader) whatMatches() string {
	names := []string{}
	for _, name := range plan.SortedKeys(x.Session.Sees.Resources) {
		if _, _, generation := plan.ParseGeneration(name); !generation {
			names = append(names, name+"/<key>")
		}
	}
	if len(names) == 0 {
		names = []string{"<input>/<key>"}
	}
	return "a key that find matches: write its path and its name.regexp for names such as " + suggest.List(names)
}

// composed returns a composed resource, also one of an earlier step that is not observed yet.
func (x Reader) composed(name string) observation.Resource {
	if res, observed := x.Session.Sees.Resources[name]; observed {
		return res
	}
	return observation.Resource{Object: x.Desired[name]}
}

// complete waits for a composed resource that may not have all of its connection details yet. Their names are
// unknown. The resource is not ready before all of them exist. If it is ready and its Secret is empty, it has none.
func (x Reader) complete(path, name string) error {
	res := x.composed(name)
	var missing []string
	var w *expression.Waiting
	switch {
	case errors.As(res.Withheld, &w):
		return w
	case res.Withheld != nil:
		return evaluate.Failed(path, "%s", res.Withheld.Error())
	}
	ready := object.IsReady(res.Object)
	if !ready && object.Condition(res.Object, "Ready").Exists() {
		missing = append(missing, expression.PathText(expression.Resources, name)+evaluate.ToBeReady)
	}
	if len(res.Details) == 0 && object.HasConnectionSecret(res.Object) && (!ready || !res.Published) {
		missing = append(missing, expression.PathText(expression.Secrets, name))
	}
	if len(missing) == 0 {
		return nil
	}
	return expression.NewWaiting(missing...)
}

// extract returns the keys of an entry's input, or of its map of values.
func (x Reader) extract(d plan.DataFrom, from string) ([]rewrite.Key, bool, error) {
	if d.Input != "" {
		from = "" // extract names its input itself
	}
	type data = map[string]sensitive.Bytes
	convert := d.Value.TextMap
	switch {
	case d.Object:
		convert = func(ref.Val, *budget.Budget) (data, bool, error) { return x.dataOf(d) }
	case d.Value.Source().Want == expression.WantAny:
		convert = d.Value.Members
	}
	m, ok, err := evaluate.Value(x.Session, d.Value, x.Session.Scope(from), convert)
	if err != nil || len(d.Property) == 0 {
		return rewriteKeys(d, m), ok, err
	}
	keys, err := openProperty(x.Session.Budget, d, m)
	return keys, true, err
}

// dataOf returns the data of a ConfigMap source.
func (x Reader) dataOf(d plan.DataFrom) (m map[string]sensitive.Bytes, ok bool, err error) {
	o := x.Session.Sees.Sources[d.Input].Objects[0]
	n := o.Get("data").Struct().Len() + o.Get("binaryData").Struct().Len()
	if err := x.Session.Budget.Spend(budget.Counted(2*n, o.Size())); err != nil {
		return nil, false, stopped(d, err)
	}
	if m, err = object.DataOf(o); err != nil {
		return nil, false, evaluate.Failed(d.Path, "%s", err.Error())
	}
	return m, true, nil
}

// rewriteKeys returns keys for a rewrite. Messages do not show a name that may be computed from a secret.
func rewriteKeys(d plan.DataFrom, m map[string]sensitive.Bytes) []rewrite.Key {
	return keysOf(m, func(name string) []rewrite.Origin {
		if d.Spelled != nil && !slices.Contains(d.Spelled, name) {
			name = "(computed)"
		}
		return []rewrite.Origin{{Input: d.Input, Key: name}}
	})
}

func openProperty(b *budget.Budget, d plan.DataFrom, m map[string]sensitive.Bytes) ([]rewrite.Key, error) {
	origin := rewrite.Origin{Input: d.Input, Key: d.Property[0]}
	v, ok := m[origin.Key]
	if !ok {
		return nil, &rewrite.Failed{Reason: origin.String(), Missing: true}
	}
	return rewrite.Open(b, rewrite.Key{Value: v, Origins: []rewrite.Origin{origin}}, d.Property[1:])
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

func tooMuchOf(d plan.Entry) error {
	return evaluate.Failed(d.Path, "returns too much data: %s", TooMuch)
}

// values evaluates an entry that produces several keys.
func (x Reader) values(d plan.Entry, from string) (map[string]sensitive.Bytes, bool, error) {
	m, ok, err := evaluate.Value(x.Session, d.Value, x.Session.Scope(from), d.Value.TextMap)
	bytes := 0
	for k, v := range m {
		bytes += len(k) + v.Len()
	}
	if !x.Quota.Spend(len(m), bytes) {
		err = tooMuchOf(d)
	}
	return m, ok, err
}

// keysOf returns keys with their origins, which messages show.
func keysOf(m map[string]sensitive.Bytes, origins func(name string) []rewrite.Origin) []rewrite.Key {
	out := make([]rewrite.Key, 0, len(m))
	for _, name := range plan.SortedKeys(m) {
		out = append(out, rewrite.Key{Name: name, Value: m[name], Origins: origins(name)})
	}
	return out
}

// A finder finds keys by their names, <input>/<key>, in all secret inputs of this step, as External Secrets' find does.
type finder struct {
	Reader
	entry plan.DataFrom

	keys    []rewrite.Key
	waiting []string
}

// find returns the keys of an entry. It waits for missing inputs that it can reach: sources, and
// resources whose connection details are missing.
func (x Reader) find(d plan.DataFrom) ([]rewrite.Key, error) {
	f := &finder{Reader: x, entry: d}
	for _, read := range []func() error{f.resources, f.sources} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	if len(f.waiting) > 0 {
		return nil, x.Session.Explain(expression.NewWaiting(f.waiting...), nil)
	}
	return f.keys, nil
}

func stopped(d plan.DataFrom, err error) error {
	return evaluate.Failed(d.Path, "was stopped: %s: export fewer keys, or use fewer and simpler rules", err.Error())
}

func (f *finder) resources() error {
	var names []string
	for name := range f.Session.Sees.Resources {
		names = append(names, name)
	}
	for name := range f.Desired { // by an earlier step
		_, exists := f.Session.Sees.Resources[name]
		if _, _, generation := plan.ParseGeneration(name); !exists && !generation {
			names = append(names, name)
		}
	}
	if err := f.Session.Budget.Spend(int64(len(names))); err != nil {
		return stopped(f.entry, err)
	}
	slices.Sort(names)
	for _, name := range names {
		o := f.composed(name)
		if !f.entry.Find.Reaches(name) || !f.tagged(o.Object) {
			continue
		}
		if err := f.take(name, o.Details); err != nil {
			return err
		}
		var w *expression.Waiting
		if err := f.complete(f.entry.Path, name); errors.As(err, &w) {
			f.waiting = append(f.waiting, w.Inputs...)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// tagged reports whether the find can select a key of an object by the object's labels.
func (f *finder) tagged(o wire.Struct) bool {
	return f.entry.Find.Tagged(plan.MetadataOf(o).Get("labels").Struct())
}

// findCost is the cost of an input, in keys, because its labels and conditions are read.
const findCost = 4

// take adds the keys of an input that the find selects.
func (f *finder) take(input string, d observation.Details) error {
	if err := f.Session.Budget.Spend(int64(findCost + 2*len(d))); err != nil {
		return stopped(f.entry, err)
	}
	for _, key := range plan.SortedKeys(d) {
		name := input + "/" + key
		rest, taken := strings.CutPrefix(name, f.entry.Find.Path)
		if pattern := f.entry.Find.Name; taken && pattern != nil {
			var err error
			if taken, err = pattern.Match(f.Session.Budget, rest); err != nil {
				return stopped(f.entry, err)
			}
		}
		if taken {
			origins := []rewrite.Origin{{Input: input, Key: key}}
			f.keys = append(f.keys, rewrite.Key{Name: name, Value: sensitive.New(d[key]), Origins: origins})
		}
	}
	return nil
}

func (f *finder) sources() error {
	for _, name := range plan.SortedKeys(f.Session.Sees.Sources) {
		s := f.Session.Sees.Sources[name]
		spelled := expression.PathText(expression.Secrets, name)
		switch {
		case !s.Secret || !f.entry.Find.Reaches(name):
		case s.Failed != "":
			return evaluate.Failed(f.entry.Path, "reads %s, which cannot be used: %s", spelled, s.Failed)
		case s.Withheld != nil:
			return f.Session.Explain(s.Withheld, nil)
		case len(s.Objects) == 0 && (!s.Optional || !s.Read):
			f.waiting = append(f.waiting, spelled)
		case len(s.Objects) > 0 && f.tagged(s.Objects[0]):
			if err := f.take(name, s.Details); err != nil {
				return err
			}
		}
	}
	return nil
}
