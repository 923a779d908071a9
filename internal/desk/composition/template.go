package composition

import (
	"maps"
	"slices"
	"strings"
	"text/template/parse"

	"github.com/crossplane-contrib/function-export/internal/engine/decode"
)

const (
	goTemplateName = "gotemplating.fn.crossplane.io/composition-resource-name"
	goTemplateMeta = "meta.gotemplating.fn.crossplane.io/" // its own objects are not composed
)

// goTemplate returns the manifests of an inline template whose names are literal. There may be other
// manifests, and some of these may not be composed, because a template has loops and branches.
func goTemplate(s *Step, input decode.Value, _ []Step) {
	s.Opaque = true
	left, right := input.Get("delims").Get("left").Text(), input.Get("delims").Get("right").Text()
	if left == "" || right == "" { // the function uses them only together
		left, right = "{{", "}}"
	}
	inline := input.Get("inline")
	parts := append([]decode.Value{inline.Get("template")}, inline.Get("templates").List()...)
	if source := input.Get("source").Text(); source != "Inline" {
		return
	}
	for _, part := range parts {
		for _, text := range withMarkers(part.Text(), left, right) {
			for _, o := range objects(text) {
				s.Resources = append(s.Resources, o.resources()...)
			}
		}
	}
	s.Resources = agreed(s.Resources)
}

// agreed returns one resource for each name. Its kind is unknown if there are two kinds.
func agreed(resources []Resource) []Resource {
	var out []Resource
	seen := map[string]int{}
	for _, r := range resources {
		i, again := seen[r.Name]
		if !again {
			seen[r.Name] = len(out)
			out = append(out, r)
			continue
		}
		if out[i].APIVersion != r.APIVersion || out[i].Kind != r.Kind {
			out[i].APIVersion, out[i].Kind = "", ""
		}
	}
	return out
}

// The markers of an action in the scanned text: for unknown text, for no text, and for the name of the composite.
const (
	someText  = '\x00'
	noText    = '\x01'
	composite = '\x02'
	markers   = "\x00\x01\x02"
	space     = " \t\r\n"
)

// withMarkers returns the texts of a Go template and of the templates that it defines, with a marker
// for each action. A template that cannot be parsed has no texts.
func withMarkers(text, left, right string) []string {
	trees := map[string]*parse.Tree{}
	t := parse.New("")
	t.Mode = parse.SkipFuncCheck
	if _, err := t.Parse(text, left, right, trees); err != nil {
		return nil
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(trees)) {
		var b strings.Builder
		writeNode(&b, trees[name].Root)
		out = append(out, b.String())
	}
	return out
}

func writeNode(b *strings.Builder, node parse.Node) {
	switch n := node.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, child := range n.Nodes {
				writeNode(b, child)
			}
		}
	case *parse.TextNode:
		b.Write(n.Text)
	case *parse.IfNode:
		writeBranches(b, n.BranchNode)
	case *parse.RangeNode:
		writeBranches(b, n.BranchNode)
	case *parse.WithNode:
		writeBranches(b, n.BranchNode)
	case *parse.BreakNode, *parse.ContinueNode:
		b.WriteByte(noText)
	case *parse.ActionNode:
		writeAction(b, n.Pipe)
	default:
		b.WriteByte(someText)
	}
}

func writeBranches(b *strings.Builder, n parse.BranchNode) {
	for _, branch := range []*parse.ListNode{n.List, n.ElseList} {
		b.WriteByte(noText)
		writeNode(b, branch)
	}
	b.WriteByte(noText)
}

// writeAction writes the annotation that has a template function of its own.
func writeAction(b *strings.Builder, pipe *parse.PipeNode) {
	if len(pipe.Decl) > 0 {
		b.WriteByte(noText)
		return
	}
	args := pipe.Cmds[0].Args
	if len(pipe.Cmds) == 1 && len(args) == 2 && args[0].String() == "setResourceNameAnnotation" {
		if name, ok := args[1].(*parse.StringNode); ok && !strings.ContainsAny(name.Text, "\n"+markers) {
			b.WriteString(goTemplateName + ": " + name.Text)
			return
		}
	}
	if len(pipe.Cmds) == 1 && len(args) == 1 && isCompositeName(args[0].String()) {
		b.WriteByte(composite)
		return
	}
	b.WriteByte(someText)
}

// isCompositeName reports whether an action writes the name of the composite, directly or through a variable with a
// usual name.
func isCompositeName(action string) bool {
	of, ok := strings.CutSuffix(action, ".metadata.name")
	return ok && (strings.HasSuffix(of, ".observed.composite.resource") || slices.Contains([]string{"$xr", "$oxr", "$composite"}, of))
}
