package plan

import (
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// The tools whose fields people bring along.
const (
	toolPatches   = "function-patch-and-transform"
	toolSecrets   = "External Secrets"
	toolObjects   = "a Kubernetes Secret or ConfigMap"
	toolPods      = "a container's environment"
	toolAzure     = "Azure Service Operator"
	toolExtra     = "function-extra-resources"
	toolTemplates = "function-go-templating"
	toolKRO       = "kro"
	toolTerraform = "Terraform"
	toolVolumes   = "Pods"
	toolManaged   = "managed resources"
	toolXRD       = "CompositeResourceDefinitions"
	toolOld       = "kubernetes-external-secrets"
)

// A foreignField is a field of another tool, and what to write instead. <a.b> is replaced by the name
// that the field a.b of its value has, <=a.b> by the expression, and <data> by an item of data.
type foreignField struct{ tool, write string }

var foreignFields = map[string]foreignField{ //nolint:gochecknoglobals // a table
	"base":                       {toolPatches, "leave it out: an export has no base, and is written as metadata and data"},
	"connectionDetails":          {toolPatches, "write each connection detail as an item of data: - <data>"},
	"connectionSecretKeys":       {toolXRD, "write each key as an item of data: - <data>"},
	"patches":                    {toolPatches, "write each value as an item of data: - <data>"},
	"patchSets":                  {toolPatches, "write each value that several expressions use as an item of variables"},
	"policy":                     {toolPatches, "write optional: true in the items of data that may be missing"},
	"readinessChecks":            {toolPatches, "leave it out: an export is ready when all of its values exist"},
	"resources":                  {toolPatches, "compose resources in another step, and write the Secrets and ConfigMaps of this step as items of secrets and configMaps"},
	"publishConnectionDetailsTo": {toolManaged, "write its name and its labels in an item of secrets, as metadata: {name: <name>, labels: {...}}"},
	"writeConnectionSecretToRef": {toolManaged, "write its name in an item of secrets, as metadata: {name: <name>}"},

	"backendType":     {toolOld, "leave it out: expressions read composed resources, and other objects as sources"},
	"convert":         {toolSecrets, "write rewrite: [{regexp: {source: ..., target: ...}}]"},
	"creationPolicy":  {toolSecrets, "leave it out: the composite controls the object"},
	"deletionPolicy":  {toolSecrets, "leave it out: the object is deleted with the composite"},
	"generatorRef":    {toolSecrets, "write the generator as an item of generators, and write extract: {key: generated.<name>}"},
	"refreshInterval": {toolSecrets, "leave it out, or set ttl at the top of the input"},
	"secretStoreRef":  {toolSecrets, "leave it out: expressions read composed resources, and other objects as sources"},
	"sourceRef":       {toolSecrets, "write the generator as an item of generators, for example {name: <generatorRef.name>, password: {length: 32}}, and write extract: {key: generated.<generatorRef.name>}"},
	"target":          {toolSecrets, "write its name as metadata: {name: <name>}, the type of its template as type, and each key as an item of data: - {key: ..., value: ...}"},
	"template":        {toolSecrets, "write its metadata as metadata, and each key as an item of data: - <data>"},

	"binaryData": {toolObjects, "write each key as an item of data: - <data>"},
	"stringData": {toolObjects, "write each key as an item of data: - <data>"},

	"configMapExpressions": {toolAzure, "write an item of configMaps: {name: <0.name>, data: [{key: <0.key>, value: <=0.value>}]}"},
	"operatorSpec": {toolAzure, "write each of its exports as an item of secrets or configMaps: " +
		"{name: <secretExpressions.0.name>, data: [{key: <secretExpressions.0.key>, value: <=secretExpressions.0.value>}]}"},
	"secretExpressions": {toolAzure, "write an item of secrets: {name: <0.name>, data: [{key: <0.key>, value: <=0.value>}]}"},

	"extraResources": {toolExtra, "write an item of sources: {name: <0.into>, apiVersion: <0.apiVersion>, kind: <0.kind>}, with matchName or matchLabels"},

	"inline": {toolTemplates, "write each key as an item of data: - {key: ..., value: ...}"},

	"externalRef": {toolKRO, "write an item of sources: {name: ..., apiVersion: <apiVersion>, kind: <kind>, matchName: <metadata.name>}"},
	"forEach":     {toolKRO, "write the list in forEachExpression, and the key of an item in keyExpression, for example item.name"},
	"includeWhen": {toolKRO, "write the condition in the value: x ? optional.of(y) : optional.none(), with optional: true"},
	"readyWhen":   {toolKRO, "leave it out: an export is ready when all of its values exist"},

	"sensitive": {toolTerraform, "leave it out: secret values may flow only into the data of Secrets"},
}

// foreign returns the message about a field of another tool, or an empty text.
func (d *decoder) foreign(name string, v *structpb.Value) string {
	f, ok := foreignFields[name]
	if !ok {
		return ""
	}
	if at(v, "apiVersion") != nil && name == "template" {
		f.tool = toolKRO
	}
	return "is a field of " + f.tool + ": " + f.filled(v, d.from(nil))
}

// filled returns what to write instead of the field with a value. from is the composed resource that
// the export reads.
func (f foreignField) filled(v *structpb.Value, from string) string {
	return placeholder.ReplaceAllStringFunc(f.write, func(text string) string {
		path, isExpression := strings.CutPrefix(strings.Trim(text, "<>"), "=")
		switch {
		case path == "data":
			return dataItem(v, from)
		case isExpression:
			return quoted(expressionOr(at(v, path)))
		}
		return nameOr(at(v, path), unknown)
	})
}

// dataItem returns the first item of a list of another tool, or the first key of an object, as an item
// of data.
func dataItem(v *structpb.Value, from string) string {
	t := reflect.TypeFor[v1beta1.SecretData]()
	if item := at(v, "0").GetStructValue(); item != nil {
		return entry{item, t, from}.text()
	}
	if k := nameOr(at(v, "0"), ""); k != "" {
		return entry{&structpb.Struct{Fields: map[string]*structpb.Value{"fromConnectionSecretKey": at(v, "0")}}, t, from}.text()
	}
	for _, inner := range []string{"data", "stringData"} {
		if at(v, inner).GetStructValue() != nil {
			v = at(v, inner)
		}
	}
	if k := firstName(v.GetStructValue()); k != "" {
		return entry{&structpb.Struct{Fields: map[string]*structpb.Value{k: at(v, k)}}, t, from}.text()
	}
	return "{key: ..., value: ...}"
}

// placeholder is a part of a foreignField that is replaced.
var placeholder = regexp.MustCompile(`<[=A-Za-z0-9.]*>`)

// at returns the value at a path of fields and indices, or nil.
func at(v *structpb.Value, path string) *structpb.Value {
	for _, step := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' }) {
		if i, err := strconv.Atoi(step); err == nil {
			if v.GetListValue() == nil || i >= len(v.GetListValue().GetValues()) {
				return nil
			}
			v = v.GetListValue().GetValues()[i]
			continue
		}
		v = v.GetStructValue().GetFields()[step]
	}
	return v
}

// nameForm is what a message repeats from a value: a name. Other text may be data.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9_](?:[-._/A-Za-z0-9]{0,61}[A-Za-z0-9_])?$`)

// nameOr returns a value if it is a name.
func nameOr(v *structpb.Value, otherwise string) string {
	if s := v.GetStringValue(); nameForm.MatchString(s) {
		return s
	}
	return otherwise
}

// entryFields are fields that only entries of other tools have, in the order in which they are
// looked for.
var entryFields = []struct{ name, tool string }{ //nolint:gochecknoglobals // a table
	{"fromConnectionSecretKey", toolPatches},
	{"fromFieldPath", toolPatches},
	{"combine", toolPatches},
	{"toFieldPath", toolPatches},
	{"patchSetName", toolPatches},
	{"transforms", toolPatches},
	{"remoteRef", toolSecrets},
	{"secretKey", toolSecrets},
	{"valueFrom", toolPods},
	{"secretName", toolVolumes},
	{"externalRef", toolKRO},
	{"into", toolExtra},
	{"ref", toolExtra},
	{"selector", toolExtra},
}

// patchTypes are the types of entries of function-patch-and-transform.
var patchTypes = []string{ //nolint:gochecknoglobals // a table
	"FromConnectionSecretKey", "FromFieldPath", "FromValue", "PatchSet",
	"FromCompositeFieldPath", "ToCompositeFieldPath", "CombineFromComposite", "CombineToComposite",
	"FromEnvironmentFieldPath", "ToEnvironmentFieldPath", "CombineFromEnvironment", "CombineToEnvironment",
}

// foreignEntry refuses an object that is an entry of another tool. It is refused once, and not
// decoded.
func (d *decoder) foreignEntry(p *field.Path, s *structpb.Struct, t reflect.Type) bool {
	e := entry{object: s, typ: t, from: d.from(s)}
	name, message := e.recognized()
	if name == "" || d.full() {
		return false
	}
	if !isEntry(t) && t != reflect.TypeFor[v1beta1.Source]() {
		message += "an item of data: "
	}
	f := wrong(child(p, name), "%s%s", message, e.text())
	f.Key = true
	d.refuse(child(p, name), f)
	d.refused = append(d.refused, pathText(p))
	return true
}

// recognized returns the field by which an entry of another tool is recognized, and the beginning of
// the message about it.
func (e entry) recognized() (name, message string) {
	const write = ": write the entry as "
	known, isSource := fieldsOf(e.typ), e.typ == reflect.TypeFor[v1beta1.Source]()
	if e.typ == reflect.TypeFor[v1beta1.EnvironmentLabelMatcher]() || !isEntry(e.typ) && !hasEntries(e.typ) && !isSource {
		return "", ""
	}
	for _, f := range entryFields {
		if e.of(f.name) != nil && !slices.Contains(known.names, f.name) && isSource == (f.tool == toolExtra || f.tool == toolKRO) {
			return f.name, "is a field of " + f.tool + write
		}
	}
	if e.isOld() {
		return "name", "is a field of " + toolOld + write
	}
	if slices.Contains(patchTypes, e.of("type").GetStringValue()) {
		return "type", "is a field of " + toolPatches + write
	}
	if isEntry(e.typ) && len(e.object.GetFields()) == 1 {
		return keyedBy(e.object, known), "is an unknown field" + write
	}
	return "", ""
}

// isOld reports whether the entry has a remote key and the name of a key, as kubernetes-external-secrets has them.
func (e entry) isOld() bool {
	return isEntry(e.typ) && e.keyField() == "key" && e.of("key") != nil && e.of("name") != nil && e.of("value") == nil && e.of("valueMap") == nil
}

// keyedBy returns the only field of an entry such as {username: secret.username}, if its name is the
// key that is meant.
func keyedBy(s *structpb.Struct, known *jsonFields) string {
	for k, v := range s.GetFields() {
		_, text := v.GetKind().(*structpb.Value_StringValue)
		if text && !slices.Contains(known.names, k) && renamedFields[k] == "" && foreignFields[k].tool == "" &&
			suggest.Nearest(k, known.names) == "" && nameForm.MatchString(k) {
			return k
		}
	}
	return ""
}

// isEntry reports whether objects of a type have a name and an expression as its value.
func isEntry(t reflect.Type) bool { return slices.Contains(fieldsOf(t).names, "value") }

// hasEntries reports whether objects of a type are exports.
func hasEntries(t reflect.Type) bool { return slices.Contains(fieldsOf(t).names, "dataFrom") }

// from returns the composed resource that the expressions of the current export read.
func (d *decoder) from(s *structpb.Struct) string {
	from := s.GetFields()["from"].GetStringValue()
	for _, o := range d.objects {
		if f := o.object.GetFields()["from"].GetStringValue(); f != "" {
			from = f
		}
	}
	return from
}

// expressionForm is a path below a variable.
var expressionForm = regexp.MustCompile(`^(?:` + strings.Join([]string{
	expression.Composite, expression.Resource, expression.Self, expression.Secret, expression.Resources, expression.Secrets,
	expression.Sources, expression.Env, expression.Variables, expression.Generated, expression.Candidate,
	expression.Previous,
}, "|") + `)(?:\??\.\??[A-Za-z_]\w{0,62}|\['[-./\w]{1,63}'\]|\[\d{1,4}\]){1,12}$`)

// expressionOr returns a text that is a path of CEL, or unknown. Any other text may be data, which
// messages do not repeat.
func expressionOr(v *structpb.Value) string {
	if s := strings.TrimSpace(v.GetStringValue()); expressionForm.MatchString(s) {
		return s
	}
	return unknown
}
