package fields

// Fields of other tools, and what to write instead of them.

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

// An item of data in the form of this function.
const asData = "write each key as an item of data: - {key: username, value: secret.username}"

// A foreignField is a field of another tool, and what to write instead.
type foreignField struct{ tool, write string }

var foreignFields = map[string]foreignField{ //nolint:gochecknoglobals // a table
	"base":                 {toolPatches, "leave it out: an export has no base, and is written as metadata and data"},
	"connectionDetails":    {toolPatches, asData},
	"connectionSecretKeys": {toolXRD, asData},
	"patches":              {toolPatches, asData},
	"patchSets":            {toolPatches, "write each value that several expressions use as an item of variables"},
	"policy":               {toolPatches, "write optional: true in the items of data that may be missing"},
	"readinessChecks":      {toolPatches, "leave it out: an export is ready when all of its values exist"},
	"resources": {toolPatches, "compose resources in another step, and write the Secrets and ConfigMaps of this step " +
		"as items of secrets and configMaps"},
	"publishConnectionDetailsTo": {toolManaged, "write its name and its labels in an item of secrets, as metadata: " +
		"{name: ..., labels: {...}}"},
	"writeConnectionSecretToRef": {toolManaged, "write its name in an item of secrets, as metadata: {name: ...}"},

	"backendType":     {toolOld, asSecretStore},
	"convert":         {toolSecrets, "write rewrite: [{regexp: {source: ..., target: ...}}]"},
	"creationPolicy":  {toolSecrets, "leave it out: the composite controls the object"},
	"deletionPolicy":  {toolSecrets, "leave it out: the object is deleted with the composite"},
	"generatorRef":    {toolSecrets, asGenerator},
	"refreshInterval": {toolSecrets, "leave it out, or set ttl at the top of the input"},
	"secretStoreRef":  {toolSecrets, asSecretStore},
	"sourceRef":       {toolSecrets, asGenerator},
	"target": {toolSecrets, "write its name as metadata: {name: ...}, the type of its template as type, and each key " +
		"as an item of data: - {key: ..., value: ...}"},
	"template": {toolSecrets + " and kro", "write its metadata as metadata; " + asData},

	"binaryData": {toolObjects, asData},
	"stringData": {toolObjects, asData},

	"configMapExpressions": {toolAzure, "write an item of configMaps" + asExport},
	"operatorSpec":         {toolAzure, "write each of its exports as an item of secrets or configMaps" + asExport},
	"secretExpressions":    {toolAzure, "write an item of secrets" + asExport},

	"extraResources": {toolExtra, "write an item of sources: {name: settings, apiVersion: v1, kind: ConfigMap}, with " +
		"matchName or matchLabels"},

	"inline": {toolTemplates, asData},

	"forEach": {toolKRO, "write the list in forEachExpression, and the key of an item in keyExpression, for example " +
		"item.name"},
	"includeWhen": {toolKRO, "write the condition in the value: x ? optional.of(y) : optional.none(), with optional: " +
		"true"},
	"readyWhen": {toolKRO, "leave it out: an export is ready when all of its values exist"},

	"sensitive": {toolTerraform, "leave it out: secret values may flow only into the data of Secrets"},
}

// Texts that several fields of other tools share.
const (
	asSecretStore = "leave it out: expressions read composed resources, and other objects as sources"
	asGenerator   = "write the generator as an item of generators, for example {name: admin, password: {length: " +
		"32}}, and write extract: {key: generated.admin}"
	asExport = ": {name: connection, data: [{key: password, value: secret.password}]}"
)

// An entryField is a field that only entries of another tool have, and an example of the value that is written instead.
type entryField struct{ name, tool, value string }

// Values of examples that read a connection detail and a field.
const (
	secretHost = "secrets.db.host"
	statusHost = "resources.db.status.host"
)

// entryFields are in the order in which they are looked for.
var entryFields = []entryField{ //nolint:gochecknoglobals // a table
	{"fromConnectionSecretKey", toolPatches, secretHost},
	{"combine", toolPatches, `"'%s:%s'.format([resources.db.status.host, resources.db.spec.port])"`},
	{"patchSetName", toolPatches, statusHost}, {"fromFieldPath", toolPatches, statusHost},
	{"toFieldPath", toolPatches, statusHost}, {"transforms", toolPatches, statusHost},
	{"type", toolPatches, `"'text'"`}, {"remoteRef", toolSecrets, secretHost}, {"secretKey", toolSecrets, secretHost},
	{"valueFrom", toolPods, secretHost}, {"secretName", toolVolumes, secretHost}, {"name", toolOld, secretHost},
}

// sourceFields are the fields of objects to read in other tools.
var sourceFields = []entryField{ //nolint:gochecknoglobals // a table
	{"externalRef", toolKRO, ""}, {"selector", toolExtra, ""}, {"ref", toolExtra, ""}, {"into", toolExtra, ""},
}

// Texts that several unknown fields share.
const (
	asField  = "write the generator as a field of its name, for example password: {length: 32}"
	asSource = "leave it out: only EnvironmentConfigs are merged; read another object as an item of sources, " +
		"as in {name: x, apiVersion: v1, kind: ConfigMap, matchName: x}"
	asLetters = "leave it out: the characters that are neither digits nor symbols are letters"
	asLength  = "write length: the number of random characters"

	asKeystorePassword = "leave it out: a password is generated with the keystore: export it as " +
		"generated.<name>.password"
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
		"patches": "write a field of the status as an item of status, as in {fieldPath: region, value: " +
			"environment.region}, and a field of the environment as an item of environment.set",
	},
	"EnvironmentPolicy":       {"resolve": "leave it out: EnvironmentConfigs are read in each reconcile"},
	"EnvironmentRef":          {"apiVersion": asSource, "kind": asSource},
	"EnvironmentLabelMatcher": {"policy": "write fromFieldPathPolicy: Optional for a label that may be missing"},
}

// The names of fields in other tools that differ only in the name from fields here.
var renamedFields = map[string]string{ //nolint:gochecknoglobals // a table
	"labels": "matchLabels", "patches": "set", "overrideSpecial": "symbolCharacters",
	"override_special": "symbolCharacters",
	"expression":       "value", "cel": "value", "name": "key", "id": "name", "path": "fieldPath",
}
