package migrate

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/plan"
)

// functionName is what the examples call the function.
const functionName = "function-export"

// A step is one of a pipeline, which is put together.
type step struct {
	name   string
	above  []string // comments
	byHand []string // comments on what cannot be translated
	remove []string // what it replaces

	// The lists of its input, in their order there.
	sources, generators, secrets, configMaps *node

	steps          map[string]bool // names of the other steps of its pipeline
	taken          map[string]bool // names of composed resources, sources and exports
	generatorNames []string
}

func newStep() *step {
	return &step{name: "export-values", sources: &node{}, generators: &node{}, secrets: &node{}, configMaps: &node{}, taken: map[string]bool{}}
}

// lists of the input, in the order in which they are printed.
func (s *step) lists() []member {
	return []member{{"sources", s.sources}, {"generators", s.generators}, {"secrets", s.secrets}, {"configMaps", s.configMaps}}
}

// empty reports whether nothing was found to migrate.
func (s *step) empty() bool {
	return len(s.generators.items)+len(s.secrets.items)+len(s.configMaps.items) == 0
}

// live reports whether something is exported that is no comment.
func (s *step) live() bool { return len(s.secrets.live())+len(s.configMaps.live()) > 0 }

// nameApart gives the step a name that neither its pipeline has, nor a step before.
func (s *step) nameApart(before map[string]bool) {
	base := s.name
	for i := 2; s.steps[s.name] || before[s.name]; i++ {
		s.name = fmt.Sprintf("%s-%d", base, i)
	}
	before[s.name] = true
}

var notInName = regexp.MustCompile(`[^a-z0-9]+`)

// exportName makes a name of an export, which nothing else in the pipeline has, and
// which the name of an object can end with.
func (s *step) exportName(wish string) string {
	const most = 50 // leaves room for the composite's own, and for a number
	base := strings.Trim(notInName.ReplaceAllString(strings.ToLower(wish), "-"), "-")
	base = strings.Trim(base[:min(len(base), most)], "-")
	if base == "" {
		base = "export"
	}
	name := base
	for i := 2; s.taken[name]; i++ {
		name = fmt.Sprintf("%s-%d", base, i)
	}
	s.taken[name] = true
	return name
}

// input is the Exports, without its comments if it is not for a person.
func (s *step) input() *node {
	n := mapping().withText("apiVersion", v1beta1.APIVersion).withText("kind", v1beta1.Kind)
	for _, l := range s.lists() {
		if len(l.value.items) > 0 {
			n.with(l.name, l.value)
		}
	}
	return n
}

// print the step, as a comment if it would export nothing.
func (s *step) print() string {
	off := !s.live()
	if off { // to un-comment it once is enough
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

// check compiles the input, as it is printed. What has a fault becomes a comment
// with the reason, until all the rest compiles.
func (s *step) check(m *migration, f *faults) {
	for {
		s.settle()
		list, err := s.compile(m)
		if err != nil {
			f.list = append(f.list, Fault{f.document.Name, "", err.Error()})
		}
		if len(list) == 0 || err != nil {
			return
		}
		why := map[*node][]string{}
		var order []*node
		for _, x := range list {
			n, rest := s.at(x.Field)
			if n == nil {
				f.list = append(f.list, Fault{f.document.Name, "", "cannot be migrated: the step would have a fault: " + oneLine(x.Field+": "+x.Detail)})
				return
			}
			if !slices.Contains(order, n) {
				order = append(order, n)
			}
			why[n] = append(why[n], strings.TrimPrefix(rest+": "+x.Detail, ": "))
		}
		for _, n := range order {
			n.disable(why[n]...)
		}
	}
}

func (s *step) compile(m *migration) (field.ErrorList, error) {
	j, err := yaml.YAMLToJSONStrict([]byte(strings.Join(s.input().lines(), "\n")))
	input := &structpb.Struct{}
	if err == nil {
		err = input.UnmarshalJSON(j)
	}
	if err != nil {
		return nil, errors.New("cannot be migrated: its step would be no valid YAML")
	}
	_, list := plan.Compile(m.ctx, m.env, input)
	return list, m.ctx.Err()
}

// settle makes a comment of what has lost its generator, and of each export that has
// nothing left.
func (s *step) settle() {
	lost := map[string]bool{}
	for i, g := range s.generators.items {
		lost[generatedPrefix+s.generatorNames[i]] = g.off
	}
	for _, l := range []*node{s.secrets, s.configMaps} {
		for _, e := range l.live() {
			for _, d := range e.field("dataFrom").live() {
				if key := d.field("extract").field("key"); key != nil && lost[key.scalar] {
					d.disable("its generator is a comment")
				}
			}
			if len(e.field("data").live())+len(e.field("dataFrom").live()) == 0 {
				e.disable("nothing of it could be translated: write it by hand, and un-comment it")
			}
		}
	}
}

var place = regexp.MustCompile(`^(sources|generators|secrets|configMaps)\[(\d+)\](?:\.(data|dataFrom)\[(\d+)\]|\.metadata\.(\w+)|\.(type))?\.?(.*)$`)

// at is the node that a path of the compiled input leads to, or the nearest one
// above it that can be left out, and the rest of the path.
func (s *step) at(path string) (*node, string) {
	p := place.FindStringSubmatch(path)
	if p == nil {
		return nil, path
	}
	lists := map[string]*node{}
	for _, l := range s.lists() {
		lists[l.name] = l.value
	}
	n, rest := nth(lists[p[1]], p[2]), p[7]
	if n == nil {
		return nil, path
	}
	var inner *node
	switch {
	case p[3] != "":
		inner = nth(n.field(p[3]), p[4])
	case p[5] != "":
		inner = n.field("metadata").field(p[5])
	case p[6] != "":
		inner = n.field(p[6])
	}
	if inner != nil && !inner.off {
		return inner, rest
	}
	return n, rest
}

// nth of the items that are no comments.
func nth(n *node, index string) *node {
	i, err := strconv.Atoi(index)
	if live := n.live(); err == nil && i < len(live) {
		return live[i]
	}
	return nil
}
