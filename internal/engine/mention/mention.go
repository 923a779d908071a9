// Package mention finds where a Composition refers to the names of objects that a composite author requests: in
// sources, and in desired or observed composed resources.
//
// An object can be a connection Secret that a provider will write, a password that it reads, or a Secret that an
// operator creates. No list of fields covers all of these, so each text with the name counts. A name is certain only in
// a field that refers to a Secret, or to a ConfigMap.
package mention

import (
	"fmt"
	"iter"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/lifecycle"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A Mention is where the Composition refers to the name of an object of the composite author.
type Mention struct {
	Where   string // which resource, and which field
	Sure    bool   // the field refers to a Secret, or a ConfigMap, of that name
	Desired bool   // the resource is composed in this reconcile
}

// Names are the names of the objects that composite authors request, in the namespace of the composite.
type Names struct {
	Namespace string
	Names     map[string]bool
}

// Resources are composed resources, by their composition resource names.
type Resources map[string]wire.Struct

// In returns where desired and observed resources refer to the names. The resources that come first count first.
func (n Names) In(observed Resources, desired ...Resources) map[lifecycle.Place]Mention {
	m := &finder{namespace: n.Namespace, names: n.Names, found: map[lifecycle.Place]Mention{}}
	if len(n.Names) == 0 {
		return m.found
	}
	for _, resources := range desired {
		m.resources(resources, true)
	}
	m.resources(observed, false)
	return m.found
}

type finder struct {
	namespace string
	names     map[string]bool
	found     map[lifecycle.Place]Mention
	composed  string // the composition resource name of the resource at hand
	desired   bool
	path      []pathStep
}

// A pathStep is a field, or an item of a list if it has no name.
type pathStep struct {
	field string
	item  int
}

// A fieldContext describes the texts in a field.
type fieldContext struct {
	refers   object.Kind // the kind of a name in it; both kinds if it is empty
	metadata bool        // it is the metadata of an object
	status   bool        // it is in the status of a resource, which others write
}

func (m *finder) resources(objects Resources, desired bool) {
	for _, name := range plan.SortedKeys(objects) {
		if !plan.IsAuthors(name) {
			m.composed, m.desired = name, desired
			m.object(objects[name], fieldContext{})
		}
	}
}

// notReferring is metadata that Crossplane and Kubernetes write, with the name of the composite.
var notReferring = map[string]bool{"ownerReferences": true, "managedFields": true, "generateName": true, "uid": true}

func (m *finder) object(o wire.Struct, in fieldContext) {
	ns := o.Get("namespace").Text()
	isElsewhere := ns != "" && ns != m.namespace
	for k, v := range o.All() {
		isData := (k == "data" || k == "stringData") && kindOfV1(o) == object.Secret
		if isData || in.metadata && notReferring[k] || object.IsReserved(k) || k == "name" && isElsewhere {
			continue
		}
		at := m.fieldContext(k, o, in)
		m.path = append(m.path, pathStep{field: k})
		if strings.ContainsAny(k, "-.") && m.names[k] { // it is not a field of a schema
			m.note(k, false, fieldContext{status: at.status})
		}
		m.value(v, at)
		m.path = m.path[:len(m.path)-1]
	}
}

func (m *finder) value(v wire.Value, in fieldContext) {
	switch v.Kind() {
	default:
	case wire.Text:
		m.text(v.Text(), in)
	case wire.Array:
		for i, e := range v.List().All() {
			m.path = append(m.path, pathStep{item: i})
			m.value(e, in)
			m.path = m.path[:len(m.path)-1]
		}
	case wire.Object:
		m.object(v.Struct(), in)
	}
}

func (m *finder) fieldContext(k string, o wire.Struct, in fieldContext) fieldContext {
	at := fieldContext{status: in.status || len(m.path) == 0 && k == "status" && !m.desired, metadata: k == "metadata"}
	switch kind := o.Get("kind"); {
	case k == "name" && kind.Exists():
		at.refers = KindOf(kind.Text())
	case k == "name":
		at.refers = in.refers
	case k == "metadata":
		at.refers = kindOfV1(o)
	default:
		at.refers = referredKind(k)
	}
	return at
}

// kindOfV1 returns the kind of a Secret, or a ConfigMap, and is empty for all others.
func kindOfV1(o wire.Struct) object.Kind {
	if !o.Get("apiVersion").Is("v1") {
		return ""
	}
	return KindOf(o.Get("kind").Text())
}

// KindOf returns the kind of a Secret, or a ConfigMap. It is empty for all other kinds: their objects may make a Secret
// of their own name.
func KindOf(kind string) object.Kind {
	if k := object.Kind(kind); k == object.Secret || k == object.ConfigMap {
		return k
	}
	return ""
}

// referredKind returns the kind that a field refers to, by the field's name: secretRef,
// writeConnectionSecretToRef, imagePullSecrets, configMapKeyRef, secretName.
func referredKind(field string) object.Kind {
	lower := strings.ToLower(field)
	switch secret, configMap := strings.Contains(lower, "secret"), strings.Contains(lower, "configmap"); {
	case secret && !configMap:
		return object.Secret
	case configMap && !secret:
		return object.ConfigMap
	}
	return ""
}

// note saves where a name is. The first place counts, but a certain one takes precedence. In the status of a
// resource only a certain one counts, because other texts may describe the author's own object.
func (m *finder) note(name string, sure bool, in fieldContext) {
	if in.status && !sure {
		return
	}
	for _, kind := range []object.Kind{object.Secret, object.ConfigMap} {
		t := lifecycle.Place{Kind: string(kind), Namespace: m.namespace, Name: name}
		if before, ok := m.found[t]; (in.refers == "" || in.refers == kind) && (!ok || sure && !before.Sure) {
			m.found[t] = Mention{m.where(), sure, m.desired}
		}
	}
}

// where describes the field at hand.
func (m *finder) where() string {
	var b strings.Builder
	for _, s := range m.path {
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
	return fmt.Sprintf("the composed resource %q refers to that name in %s", m.composed, b.String())
}

// text looks for names in a text: all of it, or a word of a path, a manifest, or the values of a Helm
// release. A name and its namespace can be one word.
func (m *finder) text(text string, in fieldContext) {
	if m.names[text] {
		m.note(text, in.refers != "", in)
		return
	}
	for word := range words(text) {
		before, after := strings.TrimSuffix(word, "."+m.namespace), strings.TrimPrefix(word, m.namespace+".")
		for _, name := range []string{word, before, after} {
			if m.names[name] {
				m.note(name, false, fieldContext{status: in.status})
			}
		}
	}
}

// escaped is the number of characters that belong to the character before.
var escaped = map[byte][]int{'\\': {1, 5}, '%': {2}}

// words yields the words of a text that may be names: letters, digits, '-', '.' and '_', without the dot
// at the end of a sentence. In JSON within JSON, an escaped character may precede a name: \n and \u0022, %2F.
func words(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		rest, before := text, byte(0)
		for rest != "" {
			end := strings.IndexFunc(rest, func(r rune) bool { return !isWord(r) })
			if end < 0 {
				end = len(rest)
			}
			word := rest[:end]
			for _, n := range escaped[before] {
				if n < len(word) && !yield(strings.Trim(word[n:], ".")) {
					return
				}
			}
			if word != "" && !yield(strings.Trim(word, ".")) {
				return
			}
			if end == len(rest) {
				return
			}
			before, rest = rest[end], rest[end+1:]
		}
	}
}

func isWord(c rune) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || c == '-' || c == '.' || c == '_'
}
