package exportstest

import (
	"maps"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/pipeline"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
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

// exports are the exports of a pipeline: the expression of each key that has one.
type exports map[string]map[string]string

func newExports(p *pipeline.Pipeline) exports {
	out := exports{}
	for _, input := range p.Exports() {
		variables, _ := input["variables"].([]any)
		for _, list := range []string{"secrets", "configMaps"} {
			entries, _ := input[list].([]any)
			for _, entry := range entries {
				fields, _ := entry.(map[string]any)
				if name, _ := fields["name"].(string); name != "" {
					out[name] = expressionsOf(fields, variables)
				}
			}
		}
	}
	return out
}

// expressionsOf returns the expression of each key of an export, with the texts of the variables that it reads. The key
// of a map is empty.
func expressionsOf(export map[string]any, variables []any) map[string]string {
	out := map[string]string{}
	data, _ := export["data"].([]any)
	for _, item := range data {
		fields, _ := item.(map[string]any)
		key, _ := fields["key"].(string)
		text, _ := fields["value"].(string)
		if key == "" {
			text, _ = fields["valueMap"].(string)
		}
		for _, v := range slices.Backward(variables) { // a variable reads only those before it
			variable, _ := v.(map[string]any)
			if name, _ := variable["name"].(string); strings.Contains(text, "variables."+name) {
				value, _ := variable["value"].(string)
				text += " " + value
			}
		}
		out[key] = text
	}
	return out
}

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
