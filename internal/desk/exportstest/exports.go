package exportstest

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/pipeline"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/decode"
)

// A Setup is what a test begins with, and what it gets later.
type Setup struct {
	*pipeline.Setup

	// Later are the pipelines from a moment on, by its index.
	Later map[int]*pipeline.Pipeline

	// Functions run the steps that are not recorded and that this function does not run, by the name of the function.
	Functions map[string]world.Function
}

// Pipelines returns the pipelines in the order of their moments.
func (s *Setup) Pipelines() []*pipeline.Pipeline {
	out := append(make([]*pipeline.Pipeline, 0, 1+len(s.Later)), s.Pipeline)
	for _, moment := range slices.Sorted(maps.Keys(s.Later)) {
		out = append(out, s.Later[moment])
	}
	return out
}

// generators returns the generators in the inputs by name, also in those of later Compositions.
func (s *Setup) generators() map[string]map[string]any {
	out := map[string]map[string]any{}
	for _, p := range s.Pipelines() {
		maps.Copy(out, p.Generators())
	}
	return out
}

// exports are the exports of a pipeline: the expression of each key, with those of the variables that it reads. The key
// of a map is empty.
type exports map[string]map[string]string

func newExports(p *pipeline.Pipeline) exports {
	out := exports{}
	for _, input := range p.Exports() {
		in := read(input)
		for _, e := range slices.Concat(in.Get("secrets").List(), in.Get("configMaps").List()) {
			name := e.Get("name").Text()
			out[name] = map[string]string{}
			for _, item := range e.Get("data").List() {
				text := cmp.Or(item.Get("value").Text(), item.Get("valueMap").Text())
				for _, v := range slices.Backward(in.Get("variables").List()) { // a variable reads only those before it
					if strings.Contains(text, "variables."+v.Get("name").Text()) {
						text += " " + v.Get("value").Text()
					}
				}
				out[name][item.Get("key").Text()] = text
			}
		}
	}
	delete(out, "")
	return out
}

// read reads a value whose fields may be missing or wrong.
func read(v any) decode.Value { return decode.Value{Raw: v, Report: func(decode.Path, string) {}} }

// exportOf returns the name of the export that composes an object: an object of a list has a key after it.
func exportOf(resource string) string {
	name, _, _ := strings.Cut(resource, "/")
	return name
}

// expression returns the expression of a key of an object.
func (e exports) expression(resource, key string) string {
	keys := e[exportOf(resource)]
	if text, ok := keys[key]; ok {
		return text
	}
	return keys[""]
}
