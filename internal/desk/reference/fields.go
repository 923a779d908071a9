package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/definition"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// An Object of the input, with its fields. An object that the input has in several places is listed
// once.
type Object struct {
	Path, Does string
	Fields     []Field
	Rules      []string

	id string // of its fields
}

// A Field of an object.
type Field struct {
	ID, Name, Type, Values, Does string
}

// Names of fields in the messages of rules.
var (
	names     = regexp.MustCompile(`\b[a-z]\w*(?:\.\w+)*\b`)
	fieldList = regexp.MustCompile(`^(exactly|at most|at least) one of `)
	english   = map[string]bool{ // which are also English
		"data": true, "key": true, "name": true, "namespace": true, "set": true, "source": true, "type": true,
		"value": true,
	}
)

// A walk over the Go types of the input and their schemas.
type walk struct {
	objects []*Object
	paths   map[reflect.Type]string // where a type is listed
	missing []error
}

// fields returns all objects of the input, in its order.
func fields(crd []byte) ([]*Object, error) {
	var d struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema json.RawMessage `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(crd, &d); err != nil || len(d.Spec.Versions) != 1 {
		return nil, fmt.Errorf("cannot read the one version of the CustomResourceDefinition: %w", err)
	}
	s, err := definition.Parse(d.Spec.Versions[0].Schema.OpenAPIV3Schema)
	if err != nil {
		return nil, fmt.Errorf("cannot read the CustomResourceDefinition: %w", err)
	}
	w := &walk{paths: map[reflect.Type]string{}}
	w.object("", s, reflect.TypeFor[v1beta1.Exports]())
	return w.objects, errors.Join(w.missing...)
}

func (w *walk) object(path string, s *definition.Schema, t reflect.Type) {
	o := &Object{Path: path, Does: withoutType(s.Description, t), id: strings.ReplaceAll(path, "[]", "")}
	w.paths[t] = path
	w.objects = append(w.objects, o)
	for _, r := range s.Rules {
		text := r.Message
		if r.FieldPath != "" {
			text = strings.TrimPrefix(r.FieldPath, ".") + " " + text
		}
		listed := fieldList.MatchString(text)
		text = names.ReplaceAllStringFunc(text, func(word string) string {
			if s.Properties[word] == nil || english[word] && !listed {
				return word
			}
			return code(word)
		})
		if first, rest, _ := strings.Cut(text, " "); r.FieldPath != "" && !strings.HasPrefix(text, "`") {
			text = code(first) + " " + rest
		}
		o.Rules = append(o.Rules, upper(text)+".")
	}
	w.add(o, s, t)
}

// add the fields of a type to an object.
func (w *walk) add(o *Object, s *definition.Schema, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		below := s.Properties[name]
		switch {
		case f.Anonymous && f.Type.PkgPath() == t.PkgPath():
			w.add(o, s, f.Type)
			continue
		case f.Anonymous: // metadata, of which nothing is read
			continue
		case below == nil:
			w.missing = append(w.missing, fmt.Errorf("cannot find field %s of %s in the CustomResourceDefinition", name, t))
			continue
		case below.Description == "":
			w.missing = append(w.missing, fmt.Errorf("cannot describe field %s of %s: it has no comment", name, t))
		}
		path := strings.TrimPrefix(o.Path+"."+name, ".")
		out := Field{ID: strings.TrimPrefix(o.id+"."+name, "."), Name: name, Does: below.Description}
		if below.Default != nil {
			out.Does = withoutDefault(out.Does, fmt.Sprint(below.Default))
		}
		required := slices.Contains(s.Required, name)
		isObject := w.describe(&out, path, below, f.Type)
		if required {
			out.Type += ", **required**"
		}
		if isObject != nil {
			out.ID = "" // which has a heading to link to
			out.Does, _, _ = strings.Cut(out.Does, "\n\n")
		}
		o.Fields = append(o.Fields, out)
		if _, listed := w.paths[isObject]; isObject != nil && !listed {
			suffix := ""
			if below.Items != nil {
				below, suffix = below.Items, "[]"
			}
			w.object(path+suffix, below, isObject)
		}
	}
}

// withoutDefault returns a description without the sentence about the default, which the column of values has.
func withoutDefault(text, value string) string {
	for _, v := range []string{value, "`" + value + "`"} {
		text = strings.TrimSuffix(text, " If it is not set, it is "+v+".")
	}
	return text
}

// describe a field by its type and values. It returns the type of the object that it holds, if any.
func (w *walk) describe(f *Field, path string, s *definition.Schema, t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	f.Values = strings.Join(values(s), "; ")
	switch {
	case isExpression(f.Name, s):
		f.Type, f.Values = "CEL", "" // all have the same limit
	case s.PreserveUnknown:
		f.Type = "any object"
	case s.AdditionalProperties != nil && f.Name == "outputs":
		f.Type = "map of CEL"
	case s.AdditionalProperties != nil:
		f.Type = "map of strings"
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		f.Type = "list of " + w.link(path+"[]", t.Elem())
		return t.Elem()
	case t.Kind() == reflect.Slice:
		f.Type = "list of strings"
	case t.PkgPath() == reflect.TypeFor[v1beta1.Exports]().PkgPath() && t.Kind() == reflect.Struct:
		f.Type = w.link(path, t)
		return t
	case t.Name() == "Duration":
		f.Type = "duration"
	default:
		f.Type = s.Type
	}
	return nil
}

// link to the object of a type.
func (w *walk) link(path string, t reflect.Type) string {
	path = cmp.Or(w.paths[t], path)
	return "[" + code(path) + "](#" + anchor(path) + ")"
}

// isExpression reports whether a field is CEL. The value of a label has the name of an expression,
// and is too short for one.
func isExpression(name string, s *definition.Schema) bool {
	named := name == "value" || name == "valueMap" || strings.HasSuffix(name, "Expression")
	return named && s.MaxLength != nil && *s.MaxLength == limits.ExpressionCharacters
}

// values that a field may have.
func values(s *definition.Schema) []string {
	var out []string
	if s.Enum != nil {
		texts := make([]string, 0, len(s.Enum))
		for _, e := range s.Enum {
			texts = append(texts, fmt.Sprint(e))
		}
		out = append(out, codes(texts))
	}
	if s.Default != nil {
		out = append(out, "default "+code(fmt.Sprint(s.Default)))
	}
	out = append(out, between(s.MinLength, s.MaxLength, "character"), between(s.MinItems, s.MaxItems, "item"),
		between(s.MinProperties, s.MaxProperties, "entry"), between(whole(s.Minimum), whole(s.Maximum), ""))
	if s.Pattern != nil {
		out = append(out, "matches "+code(s.Pattern.String()))
	}
	switch s.ListType {
	case "set":
		out = append(out, "no duplicates")
	case "map":
		out = append(out, "unique "+codes(s.ListMapKeys))
	}
	if s.Items != nil && s.Items.Type != "object" {
		for _, v := range values(s.Items) {
			out = append(out, "each "+v)
		}
	}
	if s.Type != "object" {
		for _, r := range s.Rules {
			out = append(out, cell(r.Message))
		}
	}
	return slices.DeleteFunc(out, func(t string) bool { return t == "" })
}

func whole(f *float64) *int {
	if f == nil {
		return nil
	}
	i := int(*f)
	return &i
}

// between two bounds, of which either may be missing. A lower bound of 0 is one for numbers only.
func between(low, high *int, noun string) string {
	if low != nil && *low == 0 && (noun != "" || high != nil) {
		low = nil
	}
	last, text := 0, ""
	switch {
	case low != nil && high != nil:
		last, text = *high, fmt.Sprintf("%s to %s", count(int64(*low)), count(int64(*high)))
	case low != nil:
		last, text = *low, "at least "+count(int64(*low))
	case high != nil:
		last, text = *high, "at most "+count(int64(*high))
	default:
		return ""
	}
	if last != 1 && noun != "" {
		noun = strings.TrimSuffix(noun, "y") + map[bool]string{true: "ies", false: "s"}[strings.HasSuffix(noun, "y")]
	}
	return strings.TrimSpace(text + " " + noun)
}

// count is a number with separated thousands.
func count(n int64) string {
	text := fmt.Sprint(n)
	var b bytes.Buffer
	for i, r := range text {
		if i > 0 && (len(text)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// withoutType is the comment of a type without the name of the type at its beginning.
func withoutType(text string, t reflect.Type) string {
	for _, article := range []string{"A ", "An ", ""} {
		if rest, ok := strings.CutPrefix(text, article+t.Name()+" "); ok {
			return upper(strings.TrimPrefix(rest, "is "))
		}
	}
	return text
}

// upper is a text that begins a sentence. Code stays as it is.
func upper(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
