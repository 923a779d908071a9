package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// A mention is where the Composition refers to a name that a composite's author asks for.
type mention struct {
	where string // who, and in which field

	// sure is set if the field says that it refers to a Secret, or a ConfigMap, of that
	// name; and desired if the resource is composed in this reconcile.
	sure, desired bool
}

// mentions are the names that the author of a composite asks for, and where the
// Composition refers to them: in sources, and in the composed resources, desired or
// observed. It may be a connection Secret that a provider is going to write, a password
// that it reads, or a Secret that an operator makes. No list of fields has them all, so
// each text counts that has the name in it.
type mentions struct {
	namespace string          // the composite's own
	names     map[string]bool // that are asked for
	lengths   [validation.DNS1123SubdomainMaxLength + 1]bool
	found     map[target]mention

	kinds map[string]object.Kind // of fields, by their names

	who     string // whose fields are walked
	desired bool
	path    []step
}

// A step is a field, or an item of a list if it has no name.
type step struct {
	field string
	item  int
}

// A spot is what a field says about the texts in it.
type spot struct {
	refers   object.Kind // what a name in it is of; both kinds if it is empty
	metadata bool        // it is the metadata of an object
	status   bool        // it is in the status of a resource, which others write
}

// mentioned finds where the Composition refers to the names of exports.
func (r *run) mentioned(exports []export, out *Result) map[target]mention {
	m := &mentions{namespace: r.namespace, names: map[string]bool{}, found: map[target]mention{}, kinds: map[string]object.Kind{}}
	for _, e := range exports {
		m.names[e.metadata.name], m.lengths[len(e.metadata.name)] = true, true
	}
	if len(m.names) == 0 {
		return nil
	}
	for _, s := range r.sourcesRead {
		if s.APIVersion == "v1" && s.Namespace == r.namespace && m.names[s.Name] {
			m.found[target{object.Kind(s.Kind), s.Namespace, s.Name}] = mention{where: "a source of the Composition refers to it"}
		}
	}
	for _, composed := range sortedKeys(r.Desired) {
		if !isTenants(composed) {
			m.resource(composed, r.Desired[composed], true)
		}
	}
	for _, g := range out.Generations {
		m.resource(g.Name, wire.Of(g.Desired), true)
	}
	for _, o := range out.Objects {
		m.resource(o.Name, wire.Of(o.Desired), true)
	}
	for _, composed := range sortedKeys(r.Observation.Resources) {
		m.resource(composed, r.Observation.Resources[composed].Object, false)
	}
	for _, composed := range sortedKeys(r.generations) {
		m.resource(composed, r.generations[composed].Object, false)
	}
	return m.found
}

// resource walks a composed resource.
func (m *mentions) resource(composed string, o wire.Struct, desired bool) {
	m.who, m.desired, m.path = fmt.Sprintf("the composed resource %q", composed), desired, m.path[:0]
	m.object(o, spot{})
}

func (m *mentions) value(v wire.Value, in spot) {
	switch v.Kind() {
	case wire.Text:
		m.text(v.Text(), in)
	case wire.Array:
		for i, e := range v.List().All() {
			m.below(step{item: i}, e, in)
		}
	case wire.Object:
		m.object(v.Struct(), in)
	}
}

// below walks a field, or an item of a list.
func (m *mentions) below(s step, v wire.Value, in spot) {
	m.path = append(m.path, s)
	m.value(v, in)
	m.path = m.path[:len(m.path)-1]
}

func (m *mentions) object(o wire.Struct, in spot) {
	for k, v := range o.All() {
		if in.metadata && notReferring[k] || object.IsReserved(k) || (k == "data" || k == "stringData") && kindOfV1(o) == object.Secret {
			continue
		}
		at := spot{status: in.status || len(m.path) == 0 && k == "status" && !m.desired}
		switch {
		case k == "name" && m.isElsewhere(o):
			continue
		case k == "name":
			at.refers = in.refers
			if kind := o.Get("kind"); kind.Exists() {
				at.refers = aKind(kind.Text())
			}
		case k == "metadata":
			at.metadata, at.refers = true, kindOfV1(o)
		default:
			at.refers = m.referredKind(k)
		}
		if strings.ContainsAny(k, "-.") && m.has(k) { // no field of a schema is called so
			m.note(k, mention{where: m.where(step{field: k})}, spot{status: at.status})
		}
		m.below(step{field: k}, v, at)
	}
}

// isElsewhere reports whether an object that refers to a name is about another namespace.
func (m *mentions) isElsewhere(o wire.Struct) bool {
	namespace := o.Get("namespace").Text()
	return namespace != "" && namespace != m.namespace
}

// kindOfV1 is that of a Secret, or a ConfigMap, and empty for all others.
func kindOfV1(o wire.Struct) object.Kind {
	if !o.Get("apiVersion").Is("v1") {
		return ""
	}
	return aKind(o.Get("kind").Text())
}

// aKind is a Secret, or a ConfigMap. What is none may make a Secret of its own name.
func aKind(kind string) object.Kind {
	if k := object.Kind(kind); k == object.Secret || k == object.ConfigMap {
		return k
	}
	return ""
}

// notReferring is metadata that Crossplane and Kubernetes write: it has the name of the
// composite in it.
var notReferring = map[string]bool{"ownerReferences": true, "managedFields": true, "generateName": true, "uid": true} //nolint:gochecknoglobals // a table

// referredKind is what a field refers to by its name, if that says it: secretRef,
// writeConnectionSecretToRef, imagePullSecrets, configMapKeyRef, secretName.
func (m *mentions) referredKind(field string) object.Kind {
	kind, known := m.kinds[field]
	if known {
		return kind
	}
	lower := strings.ToLower(field)
	switch secret, configMap := strings.Contains(lower, "secret"), strings.Contains(lower, "configmap"); {
	case secret && !configMap:
		kind = object.Secret
	case configMap && !secret:
		kind = object.ConfigMap
	}
	m.kinds[field] = kind
	return kind
}

// text looks for names in a text: all of it, or a word of a path, of a manifest, or of
// the values of a Helm release.
func (m *mentions) text(text string, in spot) {
	if m.has(text) {
		m.note(text, mention{where: m.where(), sure: in.refers != ""}, in)
		return
	}
	words(text, func(word string) {
		// Some write a name and its namespace as one word.
		for _, name := range []string{word, strings.TrimSuffix(word, "."+m.namespace), strings.TrimPrefix(word, m.namespace+".")} {
			if m.has(name) {
				m.note(name, mention{where: m.where()}, spot{status: in.status})
			}
		}
	})
}

func (m *mentions) has(word string) bool {
	return len(word) < len(m.lengths) && m.lengths[len(word)] && m.names[word]
}

// note where a name is. The first place counts, and a sure one more than others. In the
// status of a resource only a sure one does: it may tell of the author's own object.
func (m *mentions) note(name string, found mention, in spot) {
	found.desired = m.desired
	if in.status && !found.sure {
		return
	}
	for _, kind := range []object.Kind{object.Secret, object.ConfigMap} {
		t := target{kind, m.namespace, name}
		if before, ok := m.found[t]; (in.refers == "" || in.refers == kind) && (!ok || before.weight() < found.weight()) {
			m.found[t] = found
		}
	}
}

// weight is greater for a mention that tells more.
func (m mention) weight() int {
	switch {
	case m.givesWay():
		return 2
	case m.sure:
		return 1
	}
	return 0
}

// givesWay reports whether an object that was there before is let go of.
func (m mention) givesWay() bool { return m.sure && m.desired }

// where is the field at hand, or one below it.
func (m *mentions) where(below ...step) string {
	var b strings.Builder
	for _, s := range slices.Concat(m.path, below) {
		switch {
		case s.field == "":
			fmt.Fprintf(&b, "[%d]", s.item)
		case strings.ContainsAny(s.field, "./[] "):
			b.WriteString("[" + s.field + "]")
		case b.Len() > 0:
			b.WriteString("." + s.field)
		default:
			b.WriteString(s.field)
		}
	}
	return fmt.Sprintf("%s refers to that name in %s", m.who, b.String())
}

// words of a text that may be names: letters, digits, '-', '.' and '_', without the dot
// that ends a sentence. In JSON within JSON an escaped character may be in front of one.
func words(text string, yield func(string)) {
	start := -1
	for i := range len(text) + 1 {
		if i < len(text) && isWord(text[i]) {
			if start < 0 {
				start = i
			}
			continue
		}
		if start < 0 {
			continue
		}
		word := text[start:i]
		yield(strings.Trim(word, "."))
		if start > 0 {
			for _, n := range escaped[text[start-1]] {
				if n < len(word) {
					yield(strings.Trim(word[n:], "."))
				}
			}
		}
		start = -1
	}
}

// escaped is how many characters belong to the one before them: \n and \u0022, %2F.
var escaped = map[byte][]int{'\\': {1, 5}, '%': {2}} //nolint:gochecknoglobals // a table

func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || c == '-' || c == '.' || c == '_'
}
