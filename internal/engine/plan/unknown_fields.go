package plan

import (
	"reflect"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
)

// Texts that several unknown fields share.
const (
	asField  = "write the generator as a field of its name, for example password: {length: 32}"
	asSource = "leave it out: only EnvironmentConfigs are merged; read another object as an item of sources, " +
		"as in {name: x, apiVersion: v1, kind: ConfigMap, matchName: x}"
	certified = "leave it out: an export writes the certificate, for example by dataFrom with extract: {key: generated.<name>}"
)

// insteadOfField says what to write instead of a field of another tool that has a meaning only in one object.
var insteadOfField = map[reflect.Type]map[string]string{ //nolint:gochecknoglobals // a table
	reflect.TypeFor[v1beta1.Generator](): {
		"hex": "write password: {length: 32, encoding: hex}", "kind": asField, "generator": asField, "type": asField, "spec": asField,
	},
	reflect.TypeFor[v1beta1.PasswordGenerator](): {
		"byte_length": "write length: the number of random characters", "byteLength": "write length: the number of random characters",
		"charset":   "write digits: 0, symbols: 0 or noUpper: true to leave characters out",
		"min_lower": "leave it out: the characters that are neither digits nor symbols are letters",
		"min_upper": "leave it out: the characters that are neither digits nor symbols are letters",
		"lower":     "leave it out: lower-case letters are always used", "upper": "write noUpper: true for no upper-case letters",
		"min_numeric": "write digits: the exact number of digits", "min_special": "write symbols: the exact number of symbols",
		"numeric": "write digits: the number of digits, which is 0 for none",
		"special": "write symbols: the number of symbols, which is 0 for none",
	},
	reflect.TypeFor[v1beta1.CertificateGenerator](): {
		"secretName": certified, "issuerRef": "write ca: the name of a generator whose certificate is a CA",
		"privateKey": "write keyType: rsa, ecdsa or ed25519",
		"usages":     "leave it out: the certificate is for servers and clients, or for a CA with isCA: true",
	},
	reflect.TypeFor[v1beta1.Environment](): {
		"patches": "write a field of the status as an item of status, as in {fieldPath: region, value: environment.region}, " +
			"and a field of the environment as an item of environment.set",
	},
	reflect.TypeFor[v1beta1.EnvironmentPolicy](): {
		"resolve": "leave it out: EnvironmentConfigs are read in each reconcile",
	},
	reflect.TypeFor[v1beta1.EnvironmentRef](): {"apiVersion": asSource, "kind": asSource},
	reflect.TypeFor[v1beta1.EnvironmentLabelMatcher](): {
		"policy": "write fromFieldPathPolicy: Optional for a label that may be missing",
	},
}
