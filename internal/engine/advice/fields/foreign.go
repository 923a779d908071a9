package fields

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/definition"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/fieldpath"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/strict"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// filled returns what to write instead of the field with a value. from is the composed resource that the export reads.
func (f foreignField) filled(v *structpb.Value, from string) string {
	return (&filler{value: v, from: from}).fill(f.write)
}

// placeholder is a part of a text that is replaced.
var placeholder = lazy.MustCompile(`<[=.:A-Za-z0-9]*>`)

// A filler replaces parts of a text. See foreignField.
type filler struct {
	value    *structpb.Value
	from     string // the composed resource that the export reads
	invented bool   // the text has the name of a composed resource that the input does not have
}

func (f *filler) fill(text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(part string) string {
		path := strings.Trim(part, "<>")
		switch first := path[:1]; {
		case path == "data":
			return dataItem(f.value, f.from)
		case path == "secret":
			return f.resource(expression.Secret, expression.Secrets)
		case strings.HasPrefix(path, "field:"):
			return f.field(at(f.value, strings.TrimPrefix(path, "field:")))
		case first == "=":
			return quoted(expressionOr(at(f.value, path[1:])))
		case first == ".":
			return expression.PathText("", nameOr(at(f.value, path[1:]), path[strings.LastIndexByte(path, '.')+1:]))
		}
		return nameOr(at(f.value, path), unknown)
	})
}

// resource returns the variable for the composed resource of the export. If the export has none, the name of a resource
// is invented.
func (f *filler) resource(own, all string) string {
	if f.from != "" {
		return own
	}
	f.invented = true
	return all + ".db"
}

// field returns a field path of a patch as an expression.
func (f *filler) field(path *structpb.Value) string {
	segments, err := fieldpath.Parse(path.GetStringValue())
	isName := func(s fieldpath.Segment) bool {
		return s.Type == fieldpath.SegmentIndex || nameForm.MatchString(s.Field)
	}
	const most = 12
	if err != nil || len(segments) == 0 || len(segments) > most || slices.ContainsFunc(segments, func(s fieldpath.Segment) bool { return !isName(s) }) {
		return unknown
	}
	kind, text := at(f.value, "type").GetStringValue(), ""
	switch first := segments[0].Field; {
	case slices.Contains([]string{expression.Resources, expression.Composite, expression.Env}, first):
		text, segments = first, segments[1:] // it is already a path of CEL
	case strings.Contains(kind, "FromEnvironment"):
		text = expression.Env
	case strings.Contains(kind, "FromComposite"),
		kind == "" && first != "status" && f.from == "" && at(f.value, "name") == nil:
		text = expression.Composite
	default:
		text = f.resource(expression.Resource, expression.Resources)
	}
	for _, s := range segments {
		if s.Type == fieldpath.SegmentIndex {
			text += fmt.Sprintf("[%d]", s.Index)
			continue
		}
		text += expression.PathText("", s.Field)
	}
	return text
}

// entry returns an entry of another tool as it must be written, below the field that names it.
func entry(v *structpb.Value, keyField, from, value, note string) string {
	f := &filler{value: v, from: from}
	text := quoted(f.fill(value))
	if f.invented {
		note += ", with the name of the composed resource in place of db"
	}
	return fmt.Sprintf("{%s: %s, value: %s}%s", keyField, entryKey(v, keyField), text, note)
}

// entryKey returns what an entry of another tool writes: a key, or the path of a field.
func entryKey(v *structpb.Value, keyField string) string {
	to := at(v, "toFieldPath")
	if keyField == "fieldPath" {
		if to == nil {
			to = at(v, "fromFieldPath")
		}
		return nameOr(structpb.NewStringValue(strings.TrimPrefix(to.GetStringValue(), "status.")), unknown)
	}
	if path := to.GetStringValue(); path != "" {
		return nameOr(structpb.NewStringValue(path[strings.LastIndexByte(path, '.')+1:]), unknown)
	}
	for _, name := range []string{"secretKey", "key", "name", "fromConnectionSecretKey"} {
		if k := nameOr(at(v, name), ""); k != "" {
			return k
		}
	}
	return unknown
}

// dataItem returns the first item of a list of another tool, or the first key of an object, as an item of data.
func dataItem(v *structpb.Value, from string) string {
	for _, inner := range []string{"data", "stringData"} {
		if at(v, inner).GetStructValue() != nil {
			v = at(v, inner)
		}
	}
	item, k := at(v, "0"), firstName(v)
	switch {
	case nameOr(item, "") != "":
		return entry(structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"key": item}}), "key", from,
			"<secret><.key>", "")
	case k != "":
		return fmt.Sprintf("{key: %s, value: %s}", k, quoted(expressionOr(at(v, k))))
	}
	for _, f := range entryFields {
		if at(item, f.name) != nil {
			return entry(item, "key", from, f.value, f.note)
		}
	}
	return fmt.Sprintf("{key: %s, value: %s}", entryKey(item, "key"), quoted(expressionOr(at(item, "value"))))
}

// Entry returns the field of an object that is an entry of another tool, and what to write instead of the object.
func (Adviser) Entry(n strict.Node) (name, message string) {
	keyField, data, s := "key", "", n.Schema
	switch {
	case s.GoType == "Source":
		for _, f := range sourceFields {
			if at(n.Value, f.name) != nil {
				text := foreignField{write: f.write}.filled(n.Value, "")
				return f.name, fmt.Sprintf("is a field of %s: write the entry as %s", f.tool, text)
			}
		}
		return "", ""
	case isEntry(s):
		keyField = s.Names[0]
	case s.Properties["dataFrom"] != nil:
		data = "an item of data: "
	default:
		return "", ""
	}
	for _, f := range entryFields {
		if at(n.Value, f.name) != nil && s.Properties[f.name] == nil {
			text := entry(n.Value, keyField, from(n), f.value, f.note)
			return f.name, fmt.Sprintf("is a field of %s: write the entry as %s%s", f.tool, data, text)
		}
	}
	switch k := keyedBy(n); {
	case s.Properties["name"] == nil && n.Fields()["name"] != nil && n.Fields()["key"] != nil && n.Fields()["value"] == nil:
		return "name", fmt.Sprintf("is a field of %s: write the entry as {key: %s, value: secrets.db.key}, with the names "+
			"of the composed resource and of its key in place of db and key", toolOld, nameOr(n.Fields()["name"], unknown))
	case k != "":
		return k, fmt.Sprintf("is an unknown field: write the entry as {%s: %s, value: %s}", keyField, k,
			quoted(expressionOr(at(n.Value, k))))
	}
	return "", ""
}

// keyedBy returns the only field of an entry such as {username: secret.username}, if its name is the key that is meant.
func keyedBy(n strict.Node) string {
	for k, v := range n.Fields() {
		_, isText := v.GetKind().(*structpb.Value_StringValue)
		isKnown := n.Schema.Properties[k] != nil || renamedFields[k] != "" || foreignFields[k].tool != ""
		if len(n.Fields()) == 1 && isEntry(n.Schema) && isText && !isKnown &&
			suggest.Nearest(k, n.Schema.Names) == "" && nameForm.MatchString(k) {
			return k
		}
	}
	return ""
}

// isEntry reports whether objects have a name and an expression as its value.
func isEntry(s *definition.Schema) bool {
	return s.Properties["value"] != nil && s.Properties["value"].Expression
}

// from returns the composed resource that the expressions of the export around a value read.
func from(n strict.Node) string {
	for around := &n; around != nil; around = around.Above {
		if name := nameOr(at(around.Value, "from"), ""); name != "" {
			return name
		}
	}
	return ""
}

// at returns the value at a path of fields and indices, or nil.
func at(v *structpb.Value, path string) *structpb.Value {
	for step := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '.' }) {
		if i, err := strconv.Atoi(step); err == nil {
			items := v.GetListValue().GetValues()
			if i >= len(items) {
				return nil
			}
			v = items[i]
			continue
		}
		v = v.GetStructValue().GetFields()[step]
	}
	return v
}

// nameForm is what a message repeats from a value: a name. Other text may be data.
var nameForm = lazy.MustCompile(`^[A-Za-z0-9_](?:[-._/A-Za-z0-9]{0,61}[A-Za-z0-9_])?$`)

// nameOr returns a value if it is a name.
func nameOr(v *structpb.Value, otherwise string) string {
	if s := v.GetStringValue(); nameForm.MatchString(s) {
		return s
	}
	return otherwise
}

// firstName returns the first key of an object that is a name, or an empty text.
func firstName(v *structpb.Value) string {
	for _, k := range slices.Sorted(maps.Keys(v.GetStructValue().GetFields())) {
		if nameForm.MatchString(k) {
			return k
		}
	}
	return ""
}

// expressionOr returns a text that is a path of CEL, or unknown. Any other text may be data, which messages do not
// repeat.
func expressionOr(v *structpb.Value) string {
	if s := strings.TrimSpace(v.GetStringValue()); strict.IsPath(s) {
		return s
	}
	return unknown
}

// quoted returns an expression as a YAML value in braces.
func quoted(cel string) string {
	if strings.ContainsAny(cel, "'[]{},:?") {
		return `"` + cel + `"`
	}
	return cel
}
