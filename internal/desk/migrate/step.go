package migrate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// functionName is the name of the function in the examples.
const functionName = "function-export"

// A step is a pipeline step under construction.
type step struct {
	name    string
	above   []string // comments
	byHand  []string // comments on parts that cannot be translated
	reasons []string // why, without the parts
	remove  []string // the objects and fields that it replaces
	details []*node  // connection details of Go templates

	// The lists of its input.
	sources, generators, secrets, configMaps *node

	steps          map[string]bool // names of the other steps of its pipeline
	taken          map[string]bool // names of composed resources, sources and exports
	generatorNames []string
}

func newStep(above string) *step {
	return &step{
		name: "export-values", above: []string{above}, taken: map[string]bool{},
		sources: &node{}, generators: &node{}, secrets: &node{}, configMaps: &node{},
	}
}

// source adds a source of kind Secret. The name of its object is only needed if it differs.
func (s *step) source(name, object string) {
	if object == name {
		object = ""
	}
	s.sources.items = append(s.sources.items, mapping().withText("name", name).withText("apiVersion", "v1").
		withText("kind", "Secret").withText("matchName", object))
}

// lists returns the lists of the input, in the order in which they are printed.
func (s *step) lists() []member {
	return []member{{"sources", s.sources}, {"generators", s.generators}, {"secrets", s.secrets},
		{"configMaps", s.configMaps}}
}

// empty reports whether nothing was found to migrate.
func (s *step) empty() bool {
	return len(s.generators.items)+len(s.secrets.items)+len(s.configMaps.items) == 0
}

// live reports whether something is exported that is not a comment.
func (s *step) live() bool { return len(s.secrets.live())+len(s.configMaps.live()) > 0 }

// nameApart gives the step a unique name in its pipeline and in the result.
func (s *step) nameApart(before map[string]bool) {
	s.name = numbered(s.name, func(name string) bool { return s.steps[name] || before[name] })
	before[s.name] = true
}

var notInName = lazy.MustCompile(`[^a-z0-9]+`)

// exportName returns a name for an export that is unique in the pipeline.
func (s *step) exportName(text string) string {
	name := freeName(text, func(name string) bool { return s.taken[name] })
	s.taken[name] = true
	return name
}

// freeName returns a name that is not taken and that is a valid end of an object name.
func freeName(text string, taken func(name string) bool) string {
	const most = 50 // so that the name of the composite and a number also fit
	base := strings.Trim(notInName().ReplaceAllString(strings.ToLower(text), "-"), "-")
	base = cmp.Or(strings.Trim(base[:min(len(base), most)], "-"), "export")
	return numbered(base, taken)
}

// numbered returns the name, with a number if it is taken.
func numbered(base string, taken func(name string) bool) string {
	name := base
	for i := 2; taken(name); i++ {
		name = fmt.Sprintf("%s-%d", base, i)
	}
	return name
}

// input returns the Exports.
func (s *step) input() *node {
	n := mapping().withText("apiVersion", v1beta1.APIVersion).withText("kind", v1beta1.Kind)
	for _, l := range s.lists() {
		if len(l.value.items) > 0 {
			n.with(l.name, l.value)
		}
	}
	return n
}

// print prints the step, as a comment if it would export nothing.
func (s *step) print() string {
	off := !s.live()
	if off { // it must be uncommented only once
		for _, e := range append(slices.Clone(s.secrets.items), s.configMaps.items...) {
			e.off = false
		}
	}
	top := mapping().withText("step", s.name).
		with("functionRef", mapping().withText("name", functionName)).
		with("input", s.input())
	top.off = off
	all := (&node{items: []*node{top}}).note(s.above...)
	for _, r := range s.remove {
		all.note("Remove " + r + ".")
	}
	return strings.Join(append(comments(all.above), all.lines()...), "\n") + "\n"
}

// check compiles the input as it is printed. A part with an error becomes a comment with the reason,
// until everything else compiles.
func (s *step) check(m *migration, r *reading) {
compile:
	for {
		s.settle()
		list, err := s.compile(m)
		if err != nil {
			r.report(nil, err.Error())
		}
		if len(list) == 0 || err != nil {
			return
		}
		why := map[*node][]string{}
		for _, d := range list {
			n, rest := s.at(d.Place())
			if n == nil {
				r.report(nil, "cannot be migrated: the step would have an error: "+oneLine(d.Error()))
				return
			}
			if n.leaveOut(rest, d.Message) {
				continue compile
			}
			why[n] = append(why[n], strings.TrimLeft(rest+": "+d.Message, ": "))
		}
		for n, reasons := range why {
			n.disable(reasons...)
		}
	}
}

func (s *step) compile(m *migration) (diagnostic.List, error) {
	j, err := yaml.YAMLToJSONStrict([]byte(strings.Join(s.input().lines(), "\n")))
	input := &structpb.Struct{}
	if err == nil {
		err = input.UnmarshalJSON(j)
	}
	if err != nil {
		return nil, errors.New("cannot be migrated: its step would not be valid YAML")
	}
	_, list := plan.Compile(m.ctx, m.env, input)
	return list, m.ctx.Err()
}

// settle disables exports without any data.
func (s *step) settle() {
	for _, l := range []*node{s.secrets, s.configMaps} {
		for _, e := range l.live() {
			if len(e.field("data").live())+len(e.field("dataFrom").live()) == 0 {
				e.disable("no part of it could be translated: write it manually, and uncomment it")
			}
		}
	}
}

var place = lazy.MustCompile(`^(sources|generators|secrets|configMaps)\[(\d+)\](?:\.(data|dataFrom)\[(\d+)\])?\.?(.*)$`)

// at returns the item at a path of the compiled input that can be a comment, and the rest of the path.
func (s *step) at(path string) (*node, string) {
	p := place().FindStringSubmatch(path)
	if p == nil {
		return nil, path
	}
	n := nth((&node{fields: s.lists()}).field(p[1]), p[2])
	return cmp.Or(nth(n.field(p[3]), p[4]), n), p[5]
}

// nth returns an item, not counting comments.
func nth(n *node, index string) *node {
	i, err := strconv.Atoi(index)
	if live := n.live(); err == nil && i < len(live) {
		return live[i]
	}
	return nil
}
