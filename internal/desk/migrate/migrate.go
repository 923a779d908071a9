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
	m := &migration{
		ctx: ctx, env: env, catalog: catalog.NewCatalog(), generators: map[string]*generator{},
		composed: map[string]bool{}, sources: map[string]string{}, taken: map[string]bool{},
	}
	migrates := make([]func(decode.Value) *step, len(documents))
	for i, d := range documents {
		migrates[i] = m.learn(d)
	}
	all, names := m.wrong, map[string]bool{}
	result := &Result{Ignored: len(documents) - m.definitions}
	var sections, reasons []string
	for i, d := range documents {
		r := &reading{Document: d}
		s := m.step(r, migrates[i])
		all = append(all, r.list...)
		if s == nil {
			continue
		}
		s.nameApart(names)
		if s.live() {
			result.Steps++
		}
		sections, reasons = append(sections, s.print()), append(reasons, s.reasons...)
		result.Ignored--
	}
	for _, key := range slices.Sorted(maps.Keys(m.generators)) {
		if g := m.generators[key]; g.used {
			all = append(all, g.list...)
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
	text := strings.Join(sections, "---\n") + m.checklist()
	result.YAML, result.Decisions = []byte(text), len(decisions.FindAllString(text, -1))
	return result, nil
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
	generators map[string]*generator // by kind and name
	composed   map[string]bool       // the composition resource names in all Compositions
	sources    map[string]string     // the names of sources, by remote secret
	taken      map[string]bool       // the names of sources and exports, except in Compositions
	reasons    []string              // why a Composition has nothing to migrate

	store       bool         // there is an ExternalSecret
	definitions int          // documents that define kinds
	wrong       []Diagnostic // of definitions
}

// learn remembers a document that others refer to. It returns how a document is migrated, or nil.
func (m *migration) learn(d Document) func(decode.Value) *step {
	o, _ := d.Value.(map[string]any)
	apiVersion, _ := o["apiVersion"].(string)
	kind, _ := o["kind"].(string)
	metadata, _ := o["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	group, _, _ := strings.Cut(apiVersion, "/")
	switch group + "/" + kind {
	case composition.Group + "/CompositeResourceDefinition", "apiextensions.k8s.io/CustomResourceDefinition":
		m.definitions++
		if err := m.catalog.Add(o); err != nil {
			m.wrong = append(m.wrong, Diagnostic{Document: d.Name, Message: err.Error()})
		}
	case composition.Group + "/" + composition.Kind:
		for name := range kindsOf(o) {
			m.composed[name] = true
		}
		return m.composition
	case storeGroup + "/ExternalSecret":
		m.store = true
		return m.externalSecret
	case storeGroup + "/ClusterExternalSecret":
		m.store = true
		return m.clusterExternalSecret
	}
	switch {
	case group == "generators."+storeGroup:
		m.generators[kind+"/"+name] = &generator{reading: reading{Document: d}}
	case isAzure(apiVersion):
		return m.azureDocument
	}
	return nil
}

// storeGroup is the API group of External Secrets.
const storeGroup = "external-secrets.io"

// step returns the checked step of a document, or nil if there is nothing to migrate.
func (m *migration) step(r *reading, migrate func(decode.Value) *step) *step {
	if migrate == nil {
		return nil
	}
	c := r.root()
	title := fmt.Sprintf("From %s %s (%s).", c.Get("kind").Text(), c.Get("metadata", "name").Text(), r.Name)
	s := migrate(c)
	if s == nil {
		return nil
	}
	s.above = slices.Insert(s.above, 0, title)
	if len(r.list) == 0 {
		s.check(m, r)
	}
	return s
}

// isAzure reports whether Azure Service Operator has the type.
func isAzure(apiVersion string) bool {
	group, _, ok := strings.Cut(apiVersion, "/")
	return ok && strings.HasSuffix(group, ".azure.com")
}
