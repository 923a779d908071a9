package plan

import (
	"encoding/json"

	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// An exported is what the objects that are exported have of generations.
type exported struct {
	ids     map[string]bool // of the generations that their values are of
	names   map[string]bool // composition resource names of these
	used    map[string]int  // the highest number by generator: the generation may be gone
	unknown map[string]bool // generators of which something may have a value, nobody knows which
}

func readExported(exports []export, at []placement) exported {
	out := exported{ids: map[string]bool{}, names: map[string]bool{}, used: map[string]int{}, unknown: map[string]bool{}}
	for i, p := range at {
		if !p.observed.Exists() {
			continue
		}
		all := readGenerated(p.observed)
		for name, g := range all {
			out.ids[g.ID], out.names[generationName(name, g.Generation)] = true, true
			if isNumber(g.Generation) {
				out.used[name] = max(out.used[name], g.Generation)
			}
		}
		for _, name := range exports[i].generators {
			if _, ok := all[name]; !ok {
				out.unknown[name] = true
			}
		}
	}
	return out
}

// has reports whether something exported has a value of the generation, or may have one:
// an object that was put back after somebody took it away has another ID.
func (e exported) has(k *kept) bool {
	return e.ids[k.id()] || k.Adopted && (e.unknown[k.Generator] || e.names[generationName(k.Generator, k.Number)])
}

// A generatedFrom says which generation the values of something exported are of.
type generatedFrom struct {
	Generation int    `json:"generation"`
	ID         string `json:"uid"`
}

func readGenerated(o wire.Struct) map[string]generatedFrom {
	var out map[string]generatedFrom
	text := metadataOf(o).At("annotations", generator.AnnotationGenerated).Text()
	if text == "" || json.Unmarshal([]byte(text), &out) != nil {
		return nil
	}
	return out
}

// generatedState is the annotation of an object that holds values of generations.
func (r *run) generatedState(e export) map[string]string {
	all := map[string]generatedFrom{}
	for _, name := range e.generators {
		if k := r.current[name]; k != nil {
			all[name] = generatedFrom{k.Number, k.id()}
		}
	}
	if len(all) == 0 {
		return nil
	}
	text, _ := json.Marshal(all) // of strings and numbers
	return map[string]string{generator.AnnotationGenerated: string(text)}
}
