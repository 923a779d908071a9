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

// A Result is the result of a migration.
type Result struct {
	YAML      []byte // a list with one pipeline step for each document that exports
	Steps     int    // steps that export something, and are not comments
	Decisions int    // comments that a person must act on
	Reason    string // why there is no step, without any value of the documents
}

// Migrate converts documents into pipeline steps, in their order. It returns a result, or what is wrong with
// the documents.
func Migrate(ctx context.Context, env *expression.Environment, documents []Document) (*Result, []error) {
	m := &migration{
		ctx: ctx, env: env, catalog: catalog.NewCatalog(),
		composed: map[string]bool{}, sources: map[string]string{}, taken: map[string]bool{},
	}
	migrates := make([]func(decode.Value) *step, len(documents))
	for i, d := range documents {
		migrates[i] = m.learn(d)
	}
	all, names := m.wrong, map[string]bool{}
	result := &Result{}
	var sections, reasons []string
	for i, d := range documents {
		r := &reading{Document: d}
		s := m.step(r, migrates[i])
		all = append(all, r.wrong...)
		if s == nil {
			continue
		}
		s.nameApart(names)
		if s.live() {
			result.Steps++
		}
		sections, reasons = append(sections, s.print()), append(reasons, s.reasons...)
	}
	if len(all) > 0 {
		return nil, all
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
	result.YAML, result.Decisions = []byte(text), len(decisions().FindAllString(text, -1))
	return result, nil
}

// A migration is the migration of all documents together, because an ExternalSecret may read what a Composition
// composes.
type migration struct {
	ctx      context.Context //nolint:containedctx // lives as long as one Migrate
	env      *expression.Environment
	catalog  *catalog.Catalog
	composed map[string]bool   // the composition resource names in all Compositions
	sources  map[string]string // the names of sources, by remote secret
	taken    map[string]bool   // the names of sources and exports, except in Compositions
	reasons  []string          // why a Composition has nothing to migrate
	store    bool              // there is an ExternalSecret
	wrong    []error           // of definitions
}

// learn remembers a document that others refer to. It returns how a document is migrated, or nil.
func (m *migration) learn(d Document) func(decode.Value) *step {
	o, _ := d.Value.(map[string]any)
	apiVersion, _ := o["apiVersion"].(string)
	kind, _ := o["kind"].(string)
	switch group, _, _ := strings.Cut(apiVersion, "/"); {
	case strings.HasPrefix(group, "apiextensions.") && strings.HasSuffix(kind, "Definition"):
		if err := m.catalog.Add(o); err != nil {
			m.wrong = append(m.wrong, fmt.Errorf("%s: %w", d.Name, err))
		}
	case group == composition.Group && kind == composition.Kind:
		for name := range kindsOf(o) {
			m.composed[name] = true
		}
		return m.composition
	case group == "external-secrets.io" && kind == "ExternalSecret":
		m.store = true
		return m.externalSecret
	case isAzure(apiVersion):
		return m.azureDocument
	}
	return nil
}

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
	if len(r.wrong) == 0 {
		s.check(m, r)
	}
	return s
}

// checklist is the end of the output: what a person does with the steps, and how to go back.
func (m *migration) checklist() string {
	lines := []string{
		"",
		"Next steps:",
		"1. Settle each DECIDE, add the steps to your Composition, and remove what the comments above name. Then run:",
		"   function-export check composition.yaml",
		"2. Rehearse with each composite: function-export diff composition.yaml --cluster",
		"3. Apply the Composition, and switch one composite first. The condition ExportsReady of each composite must",
		"   become True. If its reason is Conflict, its message names the owner of the existing object. An object",
		"   that is taken over keeps its metadata.uid:",
		"   kubectl get secret NAME --namespace NAMESPACE --output jsonpath={.metadata.uid}",
		"4. To go back, apply the former Composition. Set prune: true only when you will not go back.",
	}
	if m.store {
		lines = append(lines, "An ExternalSecret deletes its Secret when it is deleted, and its Secret is not taken "+
			"over. To switch without an interruption,",
			"export under another name, change the applications to it, and delete the ExternalSecret last.")
	}
	return strings.Join(comments(lines), "\n") + "\n"
}
