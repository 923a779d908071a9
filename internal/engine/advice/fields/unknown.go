package fields

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/crossplane-contrib/function-export/internal/engine/definition"
	"github.com/crossplane-contrib/function-export/internal/engine/strict"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// Texts that several unknown fields share.
const (
	asField  = "write the generator as a field of its name, for example password: {length: 32}"
	asSource = "leave it out: only EnvironmentConfigs are merged; read another object as an item of sources, " +
		"as in {name: x, apiVersion: v1, kind: ConfigMap, matchName: x}"
	asLetters = "leave it out: the characters that are neither digits nor symbols are letters"
	asLength  = "write length: the number of random characters"

	asKeystorePassword = "leave it out: a password is generated with the keystore: export it as generated.<name>.password"
)

// insteadOfField says what to write instead of a field of another tool that has a meaning only in one object. Objects
// are named after their Go types.
var insteadOfField = map[string]map[string]string{ //nolint:gochecknoglobals // a table
	"Generator": {
		"hex":  "write password: {length: 32, encoding: hex}",
		"kind": asField, "generator": asField, "type": asField, "spec": asField,
	},
	"PasswordGenerator": {
		"byte_length": asLength, "byteLength": asLength, "min_lower": asLetters, "min_upper": asLetters,
		"charset":     "write digits: 0, symbols: 0 or noUpper: true to leave characters out",
		"lower":       "leave it out: lower-case letters are always used",
		"upper":       "write noUpper: true for no upper-case letters",
		"min_numeric": "write digits: the exact number of digits",
		"min_special": "write symbols: the exact number of symbols",
		"numeric":     "write digits: the number of digits, which is 0 for none",
		"special":     "write symbols: the number of symbols, which is 0 for none",
	},
	"CertificateGenerator": {
		"secretName": "leave it out: an export writes the certificate, for example by dataFrom with extract: " +
			"{key: generated.<name>}",
		"issuerRef":  "write ca: the name of a generator whose certificate is a CA",
		"privateKey": "write keyType: rsa, ecdsa or ed25519",
		"usages":     "leave it out: the certificate is for servers and clients, or for a CA with isCA: true",
	},
	"PKCS12Generator": {"password": asKeystorePassword, "passwordSecretRef": asKeystorePassword},
	"JKSGenerator":    {"password": asKeystorePassword, "passwordSecretRef": asKeystorePassword},
	"Environment": {
		"patches": "write a field of the status as an item of status, as in {fieldPath: region, value: environment.region}, " +
			"and a field of the environment as an item of environment.set",
	},
	"EnvironmentPolicy":       {"resolve": "leave it out: EnvironmentConfigs are read in each reconcile"},
	"EnvironmentRef":          {"apiVersion": asSource, "kind": asSource},
	"EnvironmentLabelMatcher": {"policy": "write fromFieldPathPolicy: Optional for a label that may be missing"},
}

// The names of fields in other tools that differ only in the name from fields here.
var renamedFields = map[string]string{ //nolint:gochecknoglobals // a table
	"labels": "matchLabels", "patches": "set", "overrideSpecial": "symbolCharacters", "override_special": "symbolCharacters",
	"expression": "value", "cel": "value", "name": "key", "id": "name", "path": "fieldPath",
}

// Unknown returns the message about a field that an object does not have.
func (Adviser) Unknown(n strict.Node, name string) string {
	instead, known := insteadOfField[n.Schema.GoType][name], n.Schema.Properties
	switch f, isForeign := foreignFields[name]; {
	case instead != "":
		return "is an unknown field: " + instead
	case known[renamedFields[name]] != nil:
		return "is an unknown field" + suggest.DidYouMean(renamedFields[name])
	case isForeign:
		return "is a field of " + f.tool + ": " + f.filled(n.Fields()[name], from(n))
	}
	return "is an unknown field" + meant(n, name)
}

// meant returns the field that an unknown field probably means, as the end of a message.
func meant(n strict.Node, name string) string {
	names := slices.DeleteFunc(slices.Clone(n.Schema.Names), func(known string) bool {
		ofEachObject := slices.Contains([]string{"apiVersion", "kind", "metadata"}, known)
		return n.At == nil && ofEachObject && !strings.EqualFold(known, name)
	})
	if strings.IndexFunc(name, isOddSpace) == 0 {
		return ": the characters before it look like spaces, but are not: replace them with spaces"
	}
	if nearest := suggest.Nearest(name, names); nearest != "" {
		return suggest.DidYouMean(nearest)
	}
	if below := fieldBelow(n.Schema, name); below != "" {
		return suggest.DidYouMean(below + "." + name)
	}
	if list := listOf(n.Schema, name); list != "" {
		return hintItem(n, name, list)
	}
	if n.Above != nil && !n.Item {
		if beside := fieldBelow(n.Above.Schema, name); beside != "" {
			return fmt.Sprintf(": it is a field of %s: write %s: {%s} in place of this object", beside, beside,
				example(n.Above.Schema.Properties[beside], name))
		}
	}
	for above := n.Above; above != nil && above.At != nil; above = above.Above {
		if above.Schema.Properties[name] != nil {
			return ": the field is at a higher level: write it as " + above.At.Child(name).String()
		}
	}
	value := n.Fields()[name].GetStructValue().GetFields()
	if slices.ContainsFunc(names, func(known string) bool { return value[known] != nil }) {
		return ": leave this level out, and write its fields one level up"
	}
	return suggest.ThereAre("", names, "it can have no fields: write {}")
}

// isOddSpace reports whether a character looks like a space but is none, so that it does not indent in YAML.
func isOddSpace(r rune) bool { return r > ' ' && unicode.In(r, unicode.Zs, unicode.Cf) }

// fieldBelow returns the field that is an object with a field of that name, or an empty text.
func fieldBelow(s *definition.Schema, name string) string {
	return find(s, func(below *definition.Schema) bool { return below.Properties[name] != nil })
}

// listOf returns the field that is a list of objects with a field of that name, or an empty text.
func listOf(s *definition.Schema, name string) string {
	return find(s, func(below *definition.Schema) bool {
		return below.Items != nil && below.Items.Properties[name] != nil
	})
}

func find(s *definition.Schema, fits func(below *definition.Schema) bool) string {
	i := slices.IndexFunc(s.Names, func(known string) bool { return fits(s.Properties[known]) })
	if i < 0 {
		return ""
	}
	return s.Names[i]
}

// example returns the required fields of an object, and one more.
func example(s *definition.Schema, name string) string {
	text := ""
	for _, known := range s.Names {
		if known != name && slices.Contains(s.Required, known) {
			text += known + ": ..., "
		}
	}
	return text + name + ": ..."
}

// hintItem returns the hint for a field that belongs to the items of a list.
func hintItem(n strict.Node, name, list string) string {
	if len(n.Fields()[list].GetListValue().GetValues()) > 0 {
		return ": it is a field of the items of " + list + ": indent it like the other fields of its item"
	}
	item, v := name+": ...", n.Fields()[name]
	key, value := n.Fields()["key"], n.Fields()["value"]
	switch {
	case name == "data" && v.GetStructValue() != nil:
		item = "name: ..., data: [" + dataItem(v, "") + "]"
	case key != nil && value != nil:
		item = "key: " + nameOr(key, unknown) + ", value: " + quoted(expressionOr(value))
	}
	return fmt.Sprintf(": it is a field of the items of %s: write it in an item, as in %s: [{%s}]", list, list, item)
}
