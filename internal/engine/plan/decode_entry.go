package plan

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/fieldpath"
)

// An entry of another tool, which is written as an entry of this input.
type entry struct {
	object *structpb.Struct
	typ    reflect.Type // that it is decoded into
	from   string       // the composed resource that the export reads
}

const (
	example = "db"  // the name of a composed resource that a message invents
	most    = 8     // transforms and combined values that a message shows
	unknown = "..." // a value that a message cannot repeat
)

// text returns the entry as it must be written. It contains names and paths of the entry, but no other
// values.
func (e entry) text() string {
	if e.typ == reflect.TypeFor[v1beta1.Source]() {
		return e.source()
	}
	value, note := e.value()
	for i, t := range e.of("transforms").GetListValue().GetValues() {
		if value != unknown && i < most {
			value = transformed(t, value)
		}
	}
	key, optional := e.keyField(), ""
	if at(e.of("policy"), "fromFieldPath").GetStringValue() == v1beta1.Optional && key != "name" {
		optional = ", optional: true"
	}
	return fmt.Sprintf("{%s: %s, value: %s%s}%s", key, e.key(), quoted(value), optional, note)
}

func (e entry) of(name string) *structpb.Value { return e.object.GetFields()[name] }

// keyField is the field that names an entry.
func (e entry) keyField() string {
	if hasEntries(e.typ) {
		return "key"
	}
	return fieldsOf(e.typ).names[0]
}

// source returns a source.
func (e entry) source() string {
	if ref := e.of("externalRef"); ref != nil {
		return fmt.Sprintf("{name: %s, apiVersion: %s, kind: %s, matchName: %s}", nameOr(e.of("name"), nameOr(e.of("id"), unknown)),
			nameOr(at(ref, "apiVersion"), unknown), nameOr(at(ref, "kind"), unknown), nameOr(at(ref, "metadata.name"), unknown))
	}
	selector := "matchName: " + nameOr(at(e.of("ref"), "name"), unknown)
	if e.of("selector") != nil {
		selector = "matchLabels: {" + nameOr(at(e.of("selector"), "matchLabels.0.key"), unknown) + ": ...}"
	}
	name := nameOr(e.of("name"), nameOr(e.of("into"), unknown))
	return fmt.Sprintf("{name: %s, apiVersion: %s, kind: %s, %s}", name,
		nameOr(e.of("apiVersion"), unknown), nameOr(e.of("kind"), unknown), selector)
}

// key returns what the entry writes: a key, or the path of a field.
func (e entry) key() string {
	to, field := e.of("toFieldPath"), e.keyField()
	if to.GetStringValue() == "" && field == "fieldPath" {
		to = e.of("fromFieldPath")
	}
	if segments := parsed(to); segments != nil {
		if field == "fieldPath" && e.typ == reflect.TypeFor[v1beta1.StatusField]() && segments[0].Field == "status" {
			segments = segments[1:]
		}
		if field == "fieldPath" {
			return segments.String()
		}
		return nameOr(structpb.NewStringValue(segments[len(segments)-1].Field), unknown)
	}
	names := []string{"secretKey", "key", "name", "fromConnectionSecretKey"}
	if e.isOld() {
		names = []string{"name"}
	}
	for _, name := range names {
		if k := nameOr(e.of(name), ""); k != "" {
			return k
		}
	}
	if len(e.object.GetFields()) == 1 {
		for k := range e.object.GetFields() {
			return k
		}
	}
	return unknown
}

// value returns the expression of the entry, and a note about the names that it invents.
func (e entry) value() (text, note string) {
	switch {
	case e.of("fromConnectionSecretKey") != nil:
		return e.ofResource(expression.Secret, expression.Secrets, keys(nameOr(e.of("fromConnectionSecretKey"), "key")))
	case e.of("remoteRef") != nil:
		return referred(e.of("remoteRef"), "key", "property", expression.Secrets)
	case at(e.of("valueFrom"), "secretKeyRef") != nil:
		return referred(at(e.of("valueFrom"), "secretKeyRef"), "name", "key", expression.Secrets)
	case at(e.of("valueFrom"), "configMapKeyRef") != nil:
		return referred(at(e.of("valueFrom"), "configMapKeyRef"), "name", "key", expression.Sources, "data")
	case e.of("secretName") != nil:
		return expression.PathText(expression.Secrets, nameOr(e.of("secretName"), example), nameOr(e.of("keyName"), "key")),
			", where the Secret is a composed resource or an item of sources"
	case e.isOld():
		return expression.PathText(expression.Secrets, example, nameOr(e.of("property"), "key")),
			", with the names of the composed resource and of its key in place of " + example + " and key"
	case e.of("combine") != nil:
		return e.combined()
	case e.of("fromFieldPath") != nil:
		return e.field(e.of("fromFieldPath"))
	case len(e.object.GetFields()) == 1:
		for _, v := range e.object.GetFields() {
			return expressionOr(v), ""
		}
	case e.of("type").GetStringValue() == "FromValue":
		return "'text'", ": a text has quotes of its own in CEL"
	case e.of("patchSetName") != nil:
		return unknown, " for each patch of the set"
	}
	return expressionOr(e.of("value")), ""
}

// referred returns the expression of a reference to a key of an object. below are the fields between
// the object and its keys.
func referred(ref *structpb.Value, name, key, variable string, below ...string) (text, note string) {
	path := append([]string{nameOr(at(ref, name), example)}, below...)
	if at(ref, key) == nil {
		note = ", with the name of its key in place of key"
	}
	return expression.PathText(variable, append(path, nameOr(at(ref, key), "key"))...), note
}

// combined returns the values of a combine as one text.
func (e entry) combined() (text, note string) {
	variables := at(e.of("combine"), "variables").GetListValue().GetValues()
	variables = variables[:min(len(variables), most)]
	values, formats := make([]string, len(variables)), make([]string, len(variables))
	for i, v := range variables {
		formats[i] = "%s"
		values[i], note = e.field(at(v, "fromFieldPath"))
	}
	return fmt.Sprintf("'%s'.format([%s])", strings.Join(formats, "-"), strings.Join(values, ", ")), note
}

// field returns the expression of a field of the composite, the environment or a composed resource.
func (e entry) field(path *structpb.Value) (text, note string) {
	segments := parsed(path)
	if segments == nil {
		segments = fieldpath.Segments{fieldpath.Field("status"), fieldpath.Field("field")}
	}
	switch kind, first := e.of("type").GetStringValue(), segments[0].Field; {
	case slices.Contains([]string{expression.Resources, expression.Composite, expression.Env}, first):
		return pathBelow(first, segments[1:]), "" // it is already a path of CEL
	case strings.HasSuffix(kind, "FromEnvironmentFieldPath") || kind == "CombineFromEnvironment":
		return pathBelow(expression.Env, segments), ""
	case kind == "FromCompositeFieldPath" || kind == "CombineFromComposite" || kind == "" && !e.readsResource():
		return pathBelow(expression.Composite, segments), ""
	}
	return e.ofResource(expression.Resource, expression.Resources, segments)
}

// readsResource reports whether a patch without a type reads a composed resource: a connection detail, a patch of an
// export that has from, or a patch that writes the status of the composite.
func (e entry) readsResource() bool {
	writesStatus := e.typ == reflect.TypeFor[v1beta1.StatusField]() && e.of("toFieldPath") != nil
	return writesStatus || e.of("name") != nil || e.from != ""
}

// ofResource returns a path below the composed resource of the export. If the export has none, the
// path has the name of a resource, and a note says so.
func (e entry) ofResource(own, all string, path fieldpath.Segments) (text, note string) {
	if e.from != "" {
		return pathBelow(own, path), ""
	}
	return pathBelow(all, append(keys(example), path...)), ", with the name of the composed resource in place of " + example
}

func keys(name string) fieldpath.Segments { return fieldpath.Segments{fieldpath.Field(name)} }

// pathBelow returns the CEL of a field path below a variable.
func pathBelow(variable string, path fieldpath.Segments) string {
	for _, s := range path {
		if s.Type == fieldpath.SegmentIndex {
			variable += fmt.Sprintf("[%d]", s.Index)
			continue
		}
		variable += expression.PathText("", s.Field)
	}
	return variable
}

// parsed returns a field path that consists of names, or nil.
func parsed(path *structpb.Value) fieldpath.Segments {
	segments, err := fieldpath.Parse(path.GetStringValue())
	const steps = 12
	if err != nil || len(segments) == 0 || len(segments) > steps || segments[0].Type != fieldpath.SegmentField {
		return nil
	}
	if slices.ContainsFunc(segments, func(s fieldpath.Segment) bool {
		return s.Type == fieldpath.SegmentField && !nameForm.MatchString(s.Field)
	}) {
		return nil
	}
	return segments
}

// The transforms of function-patch-and-transform in CEL, by the type, and by the type of the result
// or of the conversion.
var transforms = map[string]string{ //nolint:gochecknoglobals // a table
	"string": "'text %%s'.format([%s])", "string/ToUpper": "%s.upperAscii()", "string/ToLower": "%s.lowerAscii()",
	"string/ToBase64": "base64.encode(bytes(%s))", "string/FromBase64": "string(base64.decode(%s))",
	"convert": "string(%s)", "convert/int": "int(%s)", "convert/int64": "int(%s)",
	"convert/float64": "double(%s)", "convert/bool": "bool(%s)",
	"map": "{'from': 'to'}[%s]", "math": "%s * 2", "match": "(%s == 'from' ? 'to' : 'otherwise')",
}

// transformed returns a value after a transform. Its texts and numbers are examples.
func transformed(t *structpb.Value, value string) string {
	kind := at(t, "type").GetStringValue()
	detail := at(t, "string.convert").GetStringValue() + at(t, "convert.toType").GetStringValue()
	for _, name := range []string{kind + "/" + detail, kind} {
		if format, ok := transforms[name]; ok {
			return fmt.Sprintf(format, value)
		}
	}
	return value
}

// quoted returns an expression as a YAML value in braces.
func quoted(cel string) string {
	if strings.ContainsAny(cel, "'[]{},:?") {
		return `"` + cel + `"`
	}
	return cel
}
