// Package migrate converts objects that export values today into pipeline steps of this function.
//
// It reads Compositions with connection details or with Secrets in Go templates, ExternalSecrets, and
// resources of Azure Service Operator that export. Templates are parsed, and never run. A decision that
// a person must make is a comment in the YAML. A part that would not compile is a comment with the
// reason. Everything else was compiled. The values of a document are in the YAML, but not in
// diagnostics. The same documents always produce the same bytes.
package migrate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/catalog"
	"github.com/crossplane-contrib/function-export/internal/desk/composition"
	"github.com/crossplane-contrib/function-export/internal/engine/decode"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// decide begins each comment that a person must act on.
const decide = "DECIDE: "

const nothing = "nothing to migrate: neither a Composition with connectionDetails or with a Secret in a template, " +
	"nor an ExternalSecret, nor a resource of Azure Service Operator with operatorSpec"

var decisions = lazy.MustCompile(`(?m)^[ #]*# ` + decide)

// A Document is an object of a file.
type Document struct {
	Name  string // for messages: the file, and the position of the document in it
	Value any    // as decoded from JSON

	// At returns the name of the position of a field, at a path of keys (string) and indices (int), or of
	// its nearest existing parent. It is nil if only Name is known.
	At func(path ...any) string
}

// A Result is the result of a migration.
type Result struct {
	YAML      []byte // a list with one pipeline step for each document that exports
	Steps     int    // steps that export something, and are not comments
	Ignored   int    // documents without anything to migrate
	Decisions int    // comments that a person must act on
	Reason    string // why there is no step, without any value of the documents
}

// Migrate converts documents into pipeline steps, in their order. It returns a result or diagnostics.
func Migrate(ctx context.Context, env *expression.Environment, documents []Document) (*Result, []Diagnostic) {
	m := &migration{ctx: ctx, env: env, generators: generatorsOf(documents), configMaps: configMapsOf(documents),
		composed: composedBy(documents),
		sources:  map[string]string{}, taken: map[string]bool{}, read: map[string]bool{}}
	var sections, reasons []string
	var all []Diagnostic
	var definitions int
	m.catalog, definitions, all = definitionsOf(documents)
	result, names := &Result{Ignored: len(documents) - definitions}, map[string]bool{}
	for _, d := range documents {
		r := &reading{Document: d}
		s := m.document(r)
		if s != nil && len(r.list) == 0 {
			s.check(m, r)
		}
		all = append(all, r.list...)
		if s != nil {
			s.nameApart(names)
			if s.live() {
				result.Steps++
			}
			sections, reasons = append(sections, s.print()), append(reasons, s.reasons...)
			result.Ignored--
		}
	}
	for _, key := range slices.Sorted(maps.Keys(m.generators)) {
		if g := m.generators[key]; g.used {
			all = append(all, g.list...)
			result.Ignored--
		}
	}
	for _, found := range m.read {
		if found {
			result.Ignored--
		}
	}
	if len(all) > 0 {
		return nil, unique(all)
	}
	switch {
	case result.Steps > 0:
	case len(sections) == 0:
		result.Reason = strings.Join(append(m.reasons, nothing), "; ")
		return result, nil
	default:
		result.Reason = strings.Join(append(reasons, "each part needs a decision: the comments say why"), "; ")
	}
	text := strings.Join(sections, "---\n") + checklistFor(documents)
	result.YAML, result.Decisions = []byte(text), len(decisions.FindAllString(text, -1))
	return result, nil
}

// configMapsOf returns the data of the ConfigMaps among the documents, by name.
func configMapsOf(documents []Document) map[string]map[string]any {
	out := map[string]map[string]any{}
	for _, d := range documents {
		o, _ := d.Value.(map[string]any)
		metadata, _ := o["metadata"].(map[string]any)
		name, isName := metadata["name"].(string)
		data, isData := o["data"].(map[string]any)
		if o["apiVersion"] == "v1" && o["kind"] == "ConfigMap" && isName && isData {
			out[name] = data
		}
	}
	return out
}

// composedBy returns the composition resource names in the Compositions among the documents.
func composedBy(documents []Document) map[string]bool {
	out := map[string]bool{}
	for _, d := range documents {
		o, _ := d.Value.(map[string]any)
		c, _ := composition.Read(o) // parts that cannot be read have no names
		if c == nil {
			continue
		}
		for _, s := range c.Steps {
			for _, r := range s.Resources {
				out[r.Name] = true
			}
		}
	}
	return out
}

// unique removes repetitions, because a field is read more than once.
func unique(list []Diagnostic) []Diagnostic {
	var out []Diagnostic
	for _, d := range list {
		if !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out
}

// A migration is the migration of all documents together, because an ExternalSecret refers to its
// generators.
type migration struct {
	ctx        context.Context //nolint:containedctx // lives as long as one Migrate
	env        *expression.Environment
	catalog    *catalog.Catalog
	generators map[string]*generator     // by kind and name
	configMaps map[string]map[string]any // the data by name, for templates
	read       map[string]bool           // whether a ConfigMap was read
	composed   map[string]bool           // the composition resource names in all Compositions
	sources    map[string]string         // the names of sources, by remote secret
	taken      map[string]bool           // the names of sources and exports, except in Compositions
	reasons    []string                  // why a Composition has nothing to migrate
}

// document returns the step of a document, or nil if there is nothing to migrate.
func (m *migration) document(r *reading) *step {
	o, _ := r.Value.(map[string]any)
	apiVersion, _ := o["apiVersion"].(string)
	kind, _ := o["kind"].(string)
	group, _, _ := strings.Cut(apiVersion, "/")
	var migrate func(decode.Value) *step
	switch {
	case group == "apiextensions.crossplane.io" && kind == "Composition":
		migrate = m.composition
	case group == "external-secrets.io" && kind == "ExternalSecret":
		migrate = m.externalSecret
	case group == "external-secrets.io" && kind == "ClusterExternalSecret":
		migrate = m.clusterExternalSecret
	case isAzure(apiVersion):
		migrate = m.azureDocument
	default:
		return nil
	}
	c := r.root()
	title := fmt.Sprintf("From %s %s (%s).", kind, c.Get("metadata", "name").Text(), r.Name)
	s := migrate(c)
	if s != nil {
		s.above = slices.Insert(s.above, 0, title)
	}
	return s
}

// isAzure reports whether Azure Service Operator has the type.
func isAzure(apiVersion string) bool {
	group, _, ok := strings.Cut(apiVersion, "/")
	return ok && strings.HasSuffix(group, ".azure.com")
}
