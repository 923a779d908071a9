package explain

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/crossplane-contrib/function-export/internal/desk/inspect"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

// The classes of nodes, from left to right.
const (
	classInput     = "input"
	classSecret    = "secret"
	classGenerator = "generator"
	classVariable  = "variable"
	classKey       = "key"
	classObject    = "object"
)

// A graph leads from inputs, through variables, to keys, and to the objects that have them. Its
// identifiers are generated, and contain no text of the input.
type graph struct {
	nodes strings.Builder // in Mermaid syntax, in a group for each input of the function
	edges []graphEdge
}

type graphEdge struct {
	from, to string

	secret   bool
	optional bool // over all inputs that the edge represents
}

// graphOf returns the graph of explanations, in their order.
func graphOf(list []explained) *graph {
	g := &graph{}
	for i, ex := range list {
		b := &graphBuilder{graph: g, id: fmt.Sprintf("g%d", i), ids: map[[2]string]string{}, ends: map[[2]string]int{}}
		fmt.Fprintf(&g.nodes, "  subgraph %s[\"%s\"]\n", b.id, mermaidText(ex.Title))
		b.add(ex.Explanation)
		g.nodes.WriteString("  end\n")
	}
	return g
}

// A graphBuilder adds one explanation.
type graphBuilder struct {
	*graph

	id         string
	generators []string
	objects    []inspect.ExplainedObject
	ids        map[[2]string]string // of nodes, by class and key
	ends       map[[2]string]int    // the edges by their ends
}

func (b *graphBuilder) add(ex *inspect.Explanation) {
	for _, g := range ex.Generators {
		b.generators = append(b.generators, g.Name)
	}
	b.objects = ex.Objects
	for _, v := range ex.Variables {
		b.key(v, b.variable(v.Names[0]))
	}
	for _, g := range ex.Generators {
		node := b.generator(g.Name)
		for _, k := range g.Expressions {
			b.key(k, node)
		}
	}
	for _, o := range ex.Objects {
		b.keys(objectText(o), o.Path, slices.Concat(o.Metadata, o.Keys))
	}
	b.keys("status", "status", ex.Status)
	b.keys("environment", "environment", ex.Environment)
}

// keys adds the keys of an object.
func (b *graphBuilder) keys(object, path string, keys []inspect.ExplainedKey) {
	if len(keys) == 0 {
		return
	}
	to := b.node(classObject, object, path)
	for _, k := range keys {
		from := b.node(classKey, keyNames(k), k.Path)
		b.key(k, from)
		b.edge(from, to, k.Secret(), false)
	}
}

// key adds the edges that lead to a node.
func (b *graphBuilder) key(k inspect.ExplainedKey, to string) {
	for _, in := range k.Inputs {
		secret, optional := in.Secret && !in.NonSensitive, in.Need == expression.Optional
		if len(in.Through) > 0 {
			b.edge(b.variable(in.Through[0]), to, secret, optional)
			continue
		}
		class := classInput
		if in.Secret {
			class = classSecret
		}
		name := inputText(k, in)
		same := name
		if name != in.Name {
			same += to // of this generator's
		}
		from := b.node(class, name, same)
		b.edge(from, to, secret, optional)
		for _, name := range b.generators {
			for _, variable := range []string{expression.Generated, expression.Candidate, expression.Previous} {
				if leadsTo(expression.PathText(variable, name), in.Name) {
					b.edge(b.generator(name), from, true, false)
				}
			}
		}
		for _, o := range b.objects {
			if leadsTo(expression.PathText(expression.Revisions, o.Name), in.Name) {
				b.edge(b.node(classObject, objectText(o), o.Path), from, false, false)
			}
		}
	}
}

func objectText(o inspect.ExplainedObject) string { return fmt.Sprintf("%s %s", o.Kind, o.Name) }

// leadsTo reports whether a path begins with another.
func leadsTo(path, longer string) bool {
	rest, ok := strings.CutPrefix(longer, path)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

func (b *graphBuilder) variable(name string) string {
	text := expression.PathText(expression.Variables, name)
	return b.node(classVariable, text, text)
}

func (b *graphBuilder) generator(name string) string {
	return b.node(classGenerator, "generator "+name, name)
}

// node returns the node of a class and a key, which exists once.
func (b *graphBuilder) node(class, label, key string) string {
	named := [2]string{class, key}
	if id, ok := b.ids[named]; ok {
		return id
	}
	id := fmt.Sprintf("%sn%d", b.id, len(b.ids))
	b.ids[named] = id
	brackets := nodeBrackets[class]
	fmt.Fprintf(&b.nodes, "    %s%s\"%s\"%s:::%s\n", id, brackets[0], mermaidText(label), brackets[1], class)
	return id
}

// edge adds an edge between two nodes, which exists once.
func (b *graphBuilder) edge(from, to string, secret, optional bool) {
	i, ok := b.ends[[2]string{from, to}]
	if !ok {
		b.ends[[2]string{from, to}] = len(b.edges)
		b.edges = append(b.edges, graphEdge{from, to, secret, optional})
		return
	}
	e := &b.edges[i]
	e.secret, e.optional = e.secret || secret, e.optional && optional
}

// nodeBrackets are the brackets around the label of a node, by class.
var nodeBrackets = map[string][2]string{
	classInput: {"[", "]"}, classSecret: {"[", "]"}, classGenerator: {"[[", "]]"},
	classVariable: {"([", "])"}, classKey: {"(", ")"}, classObject: {"[(", ")]"},
}

// printMermaid prints a flowchart. Dotted edges are optional; red ones are secret.
func printMermaid(w io.Writer, g *graph) error {
	var b strings.Builder
	b.WriteString("flowchart LR\n" + g.nodes.String())
	var secret []string
	for i, e := range g.edges {
		arrow, label := "-->", ""
		if e.optional {
			arrow = "-.->"
		}
		if e.secret {
			label = "|secret|"
			secret = append(secret, fmt.Sprint(i))
		}
		fmt.Fprintf(&b, "  %s %s%s %s\n", e.from, arrow, label, e.to)
	}
	if len(secret) > 0 {
		fmt.Fprintf(&b, "  linkStyle %s stroke:#c00,color:#c00\n", strings.Join(secret, ","))
	}
	b.WriteString("  classDef secret stroke:#c00\n  classDef object stroke-width:3px\n")
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("cannot write the graph: %w", err)
	}
	return nil
}

// mermaidText returns a text for use in quotes. All characters except letters, digits and a few
// signs between them are entities, which Mermaid reads as text. A dot or a dash after a number
// would start a list.
func mermaidText(s string) string {
	var b strings.Builder
	plain := func(r rune) bool {
		return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_')
	}
	runes := []rune(s)
	for i, r := range runes {
		between := i > 0 && i < len(runes)-1 && plain(runes[i-1]) && plain(runes[i+1])
		switch {
		case plain(r), r == ' ', r == ',', between && (r == '.' || r == '-' || r == '/'):
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			b.WriteByte(' ')
		default:
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return b.String()
}
