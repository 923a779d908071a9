// Package migrate turns what people export with today into pipeline steps of this
// function.
//
// Documents come in, as values; pipeline steps come out, as YAML: of Compositions
// with connection details, of ExternalSecrets, and of resources of Azure Service
// Operator that export. What no machine can know is a comment in the YAML, for a
// person to decide, and what would not compile is a comment with the reason: all
// else that comes out was compiled. The values of a document stand in the YAML, and
// in no fault. Nothing is read or written here, and the same documents always give
// the same bytes.
package migrate

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/expression"
)

// decide begins each comment that a person has to act on.
const decide = "DECIDE: "

const nothing = "nothing to migrate: neither a Composition with connectionDetails or CompositeConnectionDetails, nor an ExternalSecret, nor a resource of Azure Service Operator with operatorSpec"

// decisions are lines that are such comments: a quoted text never begins a line.
var decisions = regexp.MustCompile(`(?m)^[ #]*# ` + decide)

// A Document is an object of a file.
type Document struct {
	Name  string // in texts: the file, and which of its documents it is
	Value any    // as JSON has it

	// At is the name of the place of a field, at a path of keys (string) and indices
	// (int), or of the nearest one above it that there is. Without it that is Name.
	At func(path ...any) string
}

// A Result is what documents were turned into.
type Result struct {
	YAML      []byte // a list with one pipeline step for each document that exports
	Steps     int    // those that are no comments, for they export something
	Ignored   int    // documents that have nothing to migrate
	Decisions int    // comments that a person has to act on
}

// Migrate turns documents into pipeline steps, in their order. There is either a
// result or faults. It is a fault, too, if no document has anything to migrate.
func Migrate(ctx context.Context, env *expression.Environment, documents []Document) (*Result, []Fault) {
	m := &migration{ctx: ctx, env: env, generators: generatorsOf(documents), referred: map[string]bool{}}
	var sections []string
	var all []Fault
	live, names := 0, map[string]bool{}
	others := len(documents)
	for _, d := range documents {
		f := &faults{document: d}
		s := m.document(cursor{value: d.Value, faults: f})
		if s != nil && len(f.list) == 0 {
			s.check(m, f)
		}
		all = append(all, f.list...)
		if s != nil {
			s.nameApart(names)
			if s.live() {
				live++
			}
			sections = append(sections, s.print())
			others--
		}
	}
	for _, key := range sortedKeys(m.referred) {
		all = append(all, m.generators[key].faults.list...)
		others--
	}
	if len(sections) == 0 && len(all) == 0 {
		all = append(all, Fault{Message: nothing})
	}
	if len(all) > 0 {
		return nil, unique(all)
	}
	text := strings.Join(sections, "---\n")
	return &Result{[]byte(text), live, others, len(decisions.FindAllString(text, -1))}, nil
}

// unique drops what was said before: a field is looked at more than once.
func unique(list []Fault) []Fault {
	var out []Fault
	for _, f := range list {
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

// A migration is that of all documents together: an ExternalSecret refers to its
// generators.
type migration struct {
	ctx        context.Context //nolint:containedctx // lives as long as one Migrate
	env        *expression.Environment
	generators map[string]cursor // specs, by kind and name
	referred   map[string]bool   // those of them that an ExternalSecret uses
}

// document is the step of one, or nil if there is nothing to migrate.
func (m *migration) document(c cursor) *step {
	o, _ := c.value.(map[string]any)
	apiVersion, _ := o["apiVersion"].(string)
	kind, _ := o["kind"].(string)
	group, _, _ := strings.Cut(apiVersion, "/")
	switch {
	case group == "apiextensions.crossplane.io" && kind == "Composition":
		return m.composition(c)
	case group == "external-secrets.io" && kind == "ExternalSecret":
		return m.externalSecret(c)
	case isAzure(apiVersion):
		return m.azureDocument(c)
	}
	return nil
}

// isAzure reports whether Azure Service Operator has the type.
func isAzure(apiVersion string) bool {
	group, _, ok := strings.Cut(apiVersion, "/")
	return ok && strings.HasSuffix(group, ".azure.com")
}

// title of a document, for the comment above its step.
func title(c cursor) string {
	name := c.get("metadata", "name").text()
	return fmt.Sprintf("From %s %s (%s).", c.get("kind").text(), name, c.faults.document.Name)
}
