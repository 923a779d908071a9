package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/definition"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// An Object of the input, with its fields. An object that the input has in several places is listed
// once.
type Object struct {
	Path, Does string
	Fields     []Field
	Rules      []string
	Shares     string // the sentence about the fields that it has like an earlier object
}

// A Field of an object. Expression is the name of the field beside it that returns the same value, if there is one.
type Field struct {
	Name, Type, Values, Does, Expression string
}

// Text is the item of the list of fields.
func (f Field) Text() string {
	text := code(f.Name)
	if f.Expression != "" {
		text += ", " + code(f.Expression)
	}
	text += ": " + f.Type
	if f.Values != "" {
		text += "; " + f.Values
	}
	return text + strings.TrimRight(". "+plain(f.Does), " ")
}

// Names of fields in the messages of rules.
var (
	names      = regexp.MustCompile(`\b[a-z]\w*(?:\.\w+)*\b`)
	fieldNames = regexp.MustCompile(`\[[^\]]*\]`) // as controller-gen lists them
	fieldList  = regexp.MustCompile(`^(exactly|at most|at least) one of `)
	remedy     = regexp.MustCompile(`: (add|name|write) .*$`) // which is for the person who broke the rule
	unset      = regexp.MustCompile(`\s+If\s+it\s+is\s+not\s+set,\s+it\s+is\s+((?:[^.]|[.]\S)+)[.]`)
	english    = strings.Fields("data key name namespace set source type value") // which are also English
)

// A walk over the schemas of the input.
type walk struct {
	objects []*Object
	paths   map[string]string // where an object is listed, by its Go type
}

// fields returns all objects of the input, in its order.
func fields(s *definition.Schema) []*Object {
	w := &walk{paths: map[string]string{}}
	w.object("", s)
	return w.objects
}

// leastShared is how many fields two objects must share so that the page lists them once.
const leastShared = 3

// share leaves out of each object the fields and the rules that an earlier object lists alike.
func share(objects []*Object) {
	for i, o := range objects {
		for _, earlier := range objects[:i] {
			o.like(earlier)
		}
	}
}

// like leaves out the fields and the rules that the earlier object has.
func (o *Object) like(earlier *Object) {
	var names []string
	var own []Field
	for _, f := range o.Fields {
		if slices.Contains(earlier.Fields, f) {
			names = append(names, f.Name)
		} else {
			own = append(own, f)
		}
	}
	if len(names) < leastShared {
		return
	}
	o.Fields = own
	o.Rules = slices.DeleteFunc(o.Rules, func(r string) bool { return slices.Contains(earlier.Rules, r) })
	o.Shares = fmt.Sprintf("These fields and their rules are those of [%s](#%s): %s.", code(earlier.Path),
		anchor(earlier.Path), codes(names))
}

func (w *walk) object(path string, s *definition.Schema) {
	o := &Object{Path: path, Does: withoutType(s.Description, s.GoType)}
	w.paths[s.GoType] = path
	w.objects = append(w.objects, o)
	for _, r := range s.Rules {
		if !pairRule(s, r) && !strings.Contains(r.Message, "has no effect") {
			o.Rules = append(o.Rules, rule(s, r))
		}
	}
	for _, name := range s.Names {
		if path != "" || name != "apiVersion" && name != "kind" && name != "metadata" { // which the page has itself
			w.field(o, name, s)
		}
	}
}

// expressionOf is the end of the name of a field that returns the value of the field without it.
const expressionOf = "Expression"

// paired reports whether a field only returns the value of the field without Expression.
func paired(s *definition.Schema, name string) bool {
	literal, ok := strings.CutSuffix(name, expressionOf)
	expression := s.Properties[name]
	return ok && expression != nil && s.Properties[literal] != nil &&
		strings.HasPrefix(expression.Description, "Returns `"+literal+"`")
}

// pairRule reports whether a rule says that a field and its expression exclude each other, which the page says once.
func pairRule(s *definition.Schema, r *definition.Rule) bool {
	fields, some, exclusive := r.Presence()
	pair := func(f string) bool { return paired(s, strings.Trim(f, "_")) }
	return exclusive && !some && len(fields) == 2 && slices.ContainsFunc(fields, pair)
}

// rule is the message of a rule as a sentence, with the names of fields as code.
func rule(s *definition.Schema, r *definition.Rule) string {
	text := fieldNames.ReplaceAllStringFunc(r.Message, func(list string) string {
		return strings.ReplaceAll(strings.Trim(list, "[]"), " ", ", ")
	})
	text = strings.Replace(text, "the fields in ", "", 1)
	if r.FieldPath != "" {
		text = strings.TrimPrefix(r.FieldPath, ".") + " " + text
	}
	listed := fieldList.MatchString(text)
	text = names.ReplaceAllStringFunc(text, func(word string) string {
		if s.Properties[word] == nil || slices.Contains(english, word) && !listed {
			return word
		}
		return code(word)
	})
	if first, rest, _ := strings.Cut(text, " "); r.FieldPath != "" && !strings.HasPrefix(text, "`") {
		text = code(first) + " " + rest
	}
	return upper(remedy.ReplaceAllString(text, "")) + "."
}

// field adds a field to an object.
func (w *walk) field(o *Object, name string, s *definition.Schema) {
	below, path := s.Properties[name], strings.TrimPrefix(o.Path+"."+name, ".")
	if paired(s, name) {
		return // the row of the literal field names it
	}
	out := Field{Name: name, Does: below.Description}
	if paired(s, name+expressionOf) {
		out.Expression = name + expressionOf
	}
	object := w.describe(&out, path, below)
	if m := unset.FindStringSubmatch(out.Does); m != nil {
		if below.Default == nil {
			out.Values = strings.TrimPrefix(out.Values+"; default "+strings.Join(strings.Fields(m[1]), " "), "; ")
		}
		out.Does = unset.ReplaceAllString(out.Does, "")
	}
	if slices.Contains(s.Required, name) {
		out.Type += ", **required**"
	}
	if object != nil {
		out.Does = firstSentence(out.Does)
		if strings.HasPrefix(withoutType(object.Description, object.GoType), out.Does) {
			out.Does = "" // which is below that heading
		}
	}
	o.Fields = append(o.Fields, out)
	if object == nil {
		return
	}
	if _, listed := w.paths[object.GoType]; !listed {
		if below.Items != nil {
			path += "[]"
		}
		w.object(path, object)
	}
}

// describe a field by its type and values. It returns the schema of the object that it holds, if any.
func (w *walk) describe(f *Field, path string, s *definition.Schema) *definition.Schema {
	f.Values = strings.Join(values(s), "; ")
	switch {
	case s.Expression:
		f.Type, f.Values = "CEL", "" // all have the same limit
	case s.PreserveUnknown:
		f.Type = "any object"
	case s.AdditionalProperties != nil && s.AdditionalProperties.Expression:
		f.Type = "map of CEL"
	case s.AdditionalProperties != nil:
		f.Type = "map of strings"
	case s.Items != nil && s.Items.Type == "object":
		f.Type = "list of " + w.link(path+"[]", s.Items)
		return s.Items
	case s.Items != nil:
		f.Type = "list of strings"
	case s.Type == "object":
		f.Type = w.link(path, s)
		return s
	case s.GoType == "Duration":
		f.Type = "duration"
	default:
		f.Type = s.Type
	}
	return nil
}

// withoutReason is the message of a rule without the reason and the advice after it.
func withoutReason(message string) string {
	for _, mark := range []string{", because", ", which", ": ", "; to "} {
		message, _, _ = strings.Cut(message, mark)
	}
	return message
}

// firstSentence of a text.
func firstSentence(text string) string {
	first, _, more := strings.Cut(strings.Join(strings.Fields(text), " "), ". ")
	if more {
		first += "."
	}
	return first
}

// link to an object.
func (w *walk) link(path string, s *definition.Schema) string {
	path = cmp.Or(w.paths[s.GoType], path)
	return "[" + code(path) + "](#" + anchor(path) + ")"
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
	least := s.MinLength
	if least != nil && *least == 1 { // an empty text is a mistake anywhere
		least = nil
	}
	out = append(out, between(least, s.MaxLength, "character"), items(s),
		between(s.MinProperties, s.MaxProperties, "entry"), between(s.Minimum, s.Maximum, ""))
	if s.Pattern != "" {
		out = append(out, "matches "+code(s.Pattern))
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
			out = append(out, withoutReason(r.Message))
		}
	}
	return slices.DeleteFunc(out, func(t string) bool { return t == "" })
}

// items is how many items a list may have, without the limit that the page says once.
func items(s *definition.Schema) string {
	text := between(s.MinItems, s.MaxItems, "item")
	if s.Items != nil && s.Items.Type == "object" && text == fmt.Sprintf("at most %d items", limits.ListItems) {
		return ""
	}
	return text
}

// between two bounds, of which either may be missing. A lower bound of 0 is one for numbers only.
func between[N int | float64](low, high *N, noun string) string {
	if low != nil && *low == 0 && (noun != "" || high != nil) {
		low = nil
	}
	last, text := cmp.Or(high, low), ""
	switch {
	case low != nil && high != nil:
		text = fmt.Sprintf("%s to %s", count(int64(*low)), count(int64(*high)))
	case low != nil:
		text = "at least " + count(int64(*low))
	case high != nil:
		text = "at most " + count(int64(*high))
	default:
		return ""
	}
	if *last != 1 && noun != "" {
		noun = strings.Replace(noun+"s", "ys", "ies", 1)
	}
	return strings.TrimSpace(text + " " + noun)
}

// count is a number with separated thousands.
func count(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// withoutType is the comment of a Go type without its name at the beginning.
func withoutType(text, name string) string {
	for _, article := range []string{"A ", "An ", ""} {
		if rest, ok := strings.CutPrefix(text, article+name+" "); ok {
			return upper(strings.TrimPrefix(rest, "is "))
		}
	}
	return text
}

// upper is a text that begins a sentence. Code stays as it is.
func upper(text string) string {
	return strings.ToUpper(text[:min(1, len(text))]) + text[min(1, len(text)):]
}
