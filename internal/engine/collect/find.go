package collect

import (
	"errors"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/evaluate"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/rewrite"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// This file finds the keys of all secret inputs by their names, as External Secrets' find does.

// A finder finds keys by their names, <input>/<key>, in all secret inputs of this step.
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
