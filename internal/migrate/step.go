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

// functionName is the name that Crossplane gives the function when it installs it
// for another package.
const functionName = "crossplane-contrib-function-export"

// A step is one of a pipeline, which is put together.
type step struct {
	name   string
	above  []string // comments
	remove []string // what it replaces

	// The lists of its input, in their order there.
	generators, secrets, configMaps *node

	taken          map[string]bool // names of composed resources
	generatorNames []string
}

func newStep() *step {
	return &step{name: "export-values", generators: &node{}, secrets: &node{}, configMaps: &node{}, taken: map[string]bool{}}
}

// lists of the input, in the order in which they are printed.
func (s *step) lists() []member {
	return []member{{"generators", s.generators}, {"secrets", s.secrets}, {"configMaps", s.configMaps}}
}

// empty reports whether nothing was found to migrate.
func (s *step) empty() bool {
	return len(s.generators.items)+len(s.secrets.items)+len(s.configMaps.items) == 0
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

func (s *step) print() string {
	top := mapping().withText("step", s.name).
		with("functionRef", mapping().withText("name", functionName)).
		with("input", s.input())
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
			f.list = append(f.list, Fault{f.document, "", err.Error()})
		}
		if len(list) == 0 || err != nil {
			return
		}
		why := map[*node][]string{}
		var order []*node
		for _, x := range list {
			n, rest := s.at(x.Field)
			if n == nil {
				f.list = append(f.list, Fault{f.document, "", "cannot be migrated: the step would have a fault: " + oneLine(x.Field+": "+x.Detail)})
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
				e.disable("nothing of it is left")
			}
		}
	}
}

var place = regexp.MustCompile(`^(generators|secrets|configMaps)\[(\d+)\](?:\.(data|dataFrom)\[(\d+)\]|\.metadata\.(\w+)|\.(type))?\.?(.*)$`)

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
