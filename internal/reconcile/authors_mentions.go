package reconcile

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/plan"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// givesWay reports whether an observed object of the author is no longer desired.
func (m mention) givesWay() bool { return m.sure && m.desired }

// A pathStep is a field, or an item of a list if it has no name.
type pathStep struct {
	field string
	item  int
}

// mentions find where the Composition refers to names of the composite author: in sources, and in desired or
// observed composed resources. An object can be a connection Secret that a provider will write, a password
// that it reads, or a Secret that an operator creates. No list of fields covers all of these, so each text
// with the name counts.
type mentions struct {
	namespace string          // the composite's own
	names     map[string]bool // of the author's objects
	lengths   [validation.DNS1123SubdomainMaxLength + 1]bool
	found     map[target]mention
	kinds     map[string]object.Kind // of fields, by their names

	who     string // the resource at hand
	desired bool
	path    []pathStep
}

// mentions returns where the Composition refers to the names of exports.
func (c composition) mentions(s *session, req *request, exports []plan.Export) map[target]mention {
	m := &mentions{
		namespace: s.namespace, names: map[string]bool{}, found: map[target]mention{}, kinds: map[string]object.Kind{},
	}
	for _, e := range exports {
		m.names[e.Metadata.Name], m.lengths[len(e.Metadata.Name)] = true, true
	}
	if len(m.names) == 0 {
		return nil
	}
	for _, src := range c.sources {
		if src.APIVersion == "v1" {
			t := target{object.Kind(src.Kind), src.Namespace, src.Name}
			m.found[t] = mention{where: "a source of the Composition refers to it"}
		}
	}
	for _, composed := range plan.SortedKeys(req.Desired) {
		if !plan.IsAuthors(composed) {
			m.resource(composed, req.Desired[composed], true)
		}
	}
	for _, g := range c.made.composed {
		m.resource(g.Name, wire.Of(g.Desired), true)
	}
	for _, o := range c.objects {
		m.resource(o.Name, wire.Of(o.Desired), true)
	}
	for _, composed := range plan.SortedKeys(s.observed.Resources) {
		m.resource(composed, s.observed.Resources[composed].Object, false)
	}
	for _, composed := range plan.SortedKeys(c.seen.generations) {
		m.resource(composed, c.seen.generations[composed].Object, false)
	}
	return m.found
}

// A fieldContext describes the texts in a field.
type fieldContext struct {
	refers   object.Kind // the kind of a name in it; both kinds if it is empty
	metadata bool        // it is the metadata of an object
	status   bool        // it is in the status of a resource, which others write
}

func (m *mentions) resource(composed string, o wire.Struct, desired bool) {
	m.who, m.desired, m.path = fmt.Sprintf("the composed resource %q", composed), desired, m.path[:0]
	m.object(o, fieldContext{})
}

// notReferring is metadata that Crossplane and Kubernetes write, with the name of the composite.
var notReferring = map[string]bool{"ownerReferences": true, "managedFields": true, "generateName": true, "uid": true}

func (m *mentions) object(o wire.Struct, in fieldContext) {
	for k, v := range o.All() {
		data := k == "data" || k == "stringData"
		if in.metadata && notReferring[k] || object.IsReserved(k) || data && kindOfV1(o) == object.Secret {
			continue
		}
		if k == "name" && m.isElsewhere(o) {
			continue
		}
		at := m.fieldContext(k, o, in)
		if strings.ContainsAny(k, "-.") && m.has(k) { // it is not a field of a schema
			m.note(k, mention{where: m.where(pathStep{field: k})}, fieldContext{status: at.status})
		}
		m.below(pathStep{field: k}, v, at)
	}
}

func (m *mentions) fieldContext(k string, o wire.Struct, in fieldContext) fieldContext {
	at := fieldContext{status: in.status || len(m.path) == 0 && k == "status" && !m.desired}
	kind := o.Get("kind")
	switch {
	case k == "name" && kind.Exists():
		at.refers = secretOrConfigMap(kind.Text())
	case k == "name":
		at.refers = in.refers
	case k == "metadata":
		at.metadata, at.refers = true, kindOfV1(o)
	default:
		at.refers = m.referredKind(k)
	}
	return at
}

// kindOfV1 returns the kind of a Secret, or a ConfigMap, and is empty for all others.
func kindOfV1(o wire.Struct) object.Kind {
	if !o.Get("apiVersion").Is("v1") {
		return ""
	}
	return secretOrConfigMap(o.Get("kind").Text())
}

// secretOrConfigMap is empty for all other kinds: their objects may make a Secret of their own name.
func secretOrConfigMap(kind string) object.Kind {
	if k := object.Kind(kind); k == object.Secret || k == object.ConfigMap {
		return k
	}
	return ""
}

// isElsewhere reports whether an object that refers to a name names another namespace.
func (m *mentions) isElsewhere(o wire.Struct) bool {
	namespace := o.Get("namespace").Text()
	return namespace != "" && namespace != m.namespace
}

// referredKind returns the kind that a field refers to, by the field's name: secretRef,
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

func (m *mentions) has(word string) bool {
	return len(word) < len(m.lengths) && m.lengths[len(word)] && m.names[word]
}

// note saves where a name is. The first place counts, but a certain one takes precedence. In the status of a
// resource only a certain one counts, because other texts may describe the author's own object.
func (m *mentions) note(name string, found mention, in fieldContext) {
	found.desired = m.desired
	if in.status && !found.sure {
		return
	}
	for _, kind := range []object.Kind{object.Secret, object.ConfigMap} {
		t := target{kind, m.namespace, name}
		if before, ok := m.found[t]; (in.refers == "" || in.refers == kind) && (!ok || found.sure && !before.sure) {
			m.found[t] = found
		}
	}
}

// where describes the field at hand, or a field below it.
func (m *mentions) where(below ...pathStep) string {
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

func (m *mentions) below(s pathStep, v wire.Value, in fieldContext) {
	m.path = append(m.path, s)
	m.value(v, in)
	m.path = m.path[:len(m.path)-1]
}

func (m *mentions) value(v wire.Value, in fieldContext) {
	switch v.Kind() {
	default:
	case wire.Text:
		m.text(v.Text(), in)
	case wire.Array:
		for i, e := range v.List().All() {
			m.below(pathStep{item: i}, e, in)
		}
	case wire.Object:
		m.object(v.Struct(), in)
	}
}

// text looks for names in a text: all of it, or a word of a path, a manifest, or the values of a Helm
// release.
func (m *mentions) text(text string, in fieldContext) {
	if m.has(text) {
		m.note(text, mention{where: m.where(), sure: in.refers != ""}, in)
		return
	}
	words(text, func(word string) {
		// A name and its namespace can be one word.
		before, after := strings.TrimSuffix(word, "."+m.namespace), strings.TrimPrefix(word, m.namespace+".")
		for _, name := range []string{word, before, after} {
			if m.has(name) {
				m.note(name, mention{where: m.where()}, fieldContext{status: in.status})
			}
		}
	})
}

// escaped is the number of characters that belong to the character before: \n and \u0022, %2F.
var escaped = map[byte][]int{'\\': {1, 5}, '%': {2}}

// words yields the words of a text that may be names: letters, digits, '-', '.' and '_', without the dot
// at the end of a sentence. In JSON within JSON an escaped character may precede a name.
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

func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || c == '-' || c == '.' || c == '_'
}
