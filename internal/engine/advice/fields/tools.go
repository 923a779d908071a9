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

const unknown = "..." // a value that a message cannot repeat

// A foreignField is a field of another tool, and what to write instead. These parts are replaced:
//
//	<a.b>          the name that the field a.b of its value has
//	<=a.b>         the expression that it has
//	<.a.b>         the name as a step of an expression
//	<field:a.b>    the field path that it has, as an expression
//	<secret>       the connection details of the composed resource that the export reads
//	<data>         an item of data
type foreignField struct{ tool, write string }

var foreignFields = map[string]foreignField{ //nolint:gochecknoglobals // a table
	"base": {toolPatches, "leave it out: an export has no base, and is written as metadata " +
		"and data"},
	"connectionDetails":    {toolPatches, "write each connection detail as an item of data: - <data>"},
	"connectionSecretKeys": {toolXRD, "write each key as an item of data: - <data>"},
	"patches":              {toolPatches, "write each value as an item of data: - <data>"},
	"patchSets":            {toolPatches, "write each value that several expressions use as an item of variables"},
	"policy":               {toolPatches, "write optional: true in the items of data that may be missing"},
	"readinessChecks":      {toolPatches, "leave it out: an export is ready when all of its values exist"},
	"resources": {toolPatches, "compose resources in another step, and write the Secrets and " +
		"ConfigMaps of this step as items of secrets and configMaps"},
	"publishConnectionDetailsTo": {toolManaged, "write its name and its labels in an item of secrets, as metadata: " +
		"{name: <name>, labels: {...}}"},
	"writeConnectionSecretToRef": {toolManaged, "write its name in an item of secrets, as metadata: {name: <name>}"},

	"backendType":    {toolOld, "leave it out: expressions read composed resources, and other objects as sources"},
	"convert":        {toolSecrets, "write rewrite: [{regexp: {source: ..., target: ...}}]"},
	"creationPolicy": {toolSecrets, "leave it out: the composite controls the object"},
	"deletionPolicy": {toolSecrets, "leave it out: the object is deleted with the composite"},
	"generatorRef": {toolSecrets, "write the generator as an item of generators, and write extract: {key: " +
		"generated.<name>}"},
	"refreshInterval": {toolSecrets, "leave it out, or set ttl at the top of the input"},
	"secretStoreRef":  {toolSecrets, "leave it out: expressions read composed resources, and other objects as sources"},
	"sourceRef": {toolSecrets, "write the generator as an item of generators, for example {name: " +
		"<generatorRef.name>, password: {length: 32}}, and write extract: {key: generated.<generatorRef.name>}"},
	"target": {toolSecrets, "write its name as metadata: {name: <name>}, the type of its template as " +
		"type, and each key as an item of data: - {key: ..., value: ...}"},
	"template": {toolSecrets + " and kro", "write its metadata as metadata, and each key as an item of " +
		"data: - <data>"},

	"binaryData": {toolObjects, "write each key as an item of data: - <data>"},
	"stringData": {toolObjects, "write each key as an item of data: - <data>"},

	"configMapExpressions": {toolAzure, "write an item of configMaps: {name: <0.name>, data: [{key: <0.key>, " +
		"value: <=0.value>}]}"},
	"operatorSpec": {toolAzure, "write each of its exports as an item of secrets or configMaps: " +
		"{name: <secretExpressions.0.name>, data: [{key: <secretExpressions.0.key>, value: <=secretExpressions.0.value>}]}"},
	"secretExpressions": {toolAzure, "write an item of secrets: {name: <0.name>, data: [{key: <0.key>, value: " +
		"<=0.value>}]}"},

	"extraResources": {toolExtra, "write an item of sources: {name: <0.into>, apiVersion: <0.apiVersion>, kind: " +
		"<0.kind>}, with matchName or matchLabels"},

	"inline": {toolTemplates, "write each key as an item of data: - {key: ..., value: ...}"},

	"externalRef": {toolKRO, "write an item of sources: {name: ..., apiVersion: <apiVersion>, kind: <kind>, " +
		"matchName: <metadata.name>}"},
	"forEach": {toolKRO, "write the list in forEachExpression, and the key of an item in keyExpression, for " +
		"example item.name"},
	"includeWhen": {toolKRO, "write the condition in the value: x ? optional.of(y) : optional.none(), with " +
		"optional: true"},
	"readyWhen": {toolKRO, "leave it out: an export is ready when all of its values exist"},

	"sensitive": {toolTerraform, "leave it out: secret values may flow only into the data of Secrets"},
}

// entryFields are fields that only entries of other tools have, in the order in which they are looked for, and the
// value that is written instead.
var entryFields = []struct{ name, tool, value, note string }{ //nolint:gochecknoglobals // a table
	{"fromConnectionSecretKey", toolPatches, "<secret><.fromConnectionSecretKey>", ""},
	{"combine", toolPatches, "'%s-%s'.format([<field:combine.variables.0.fromFieldPath>, <field:combine.variables.1.fromFieldPath>])", ""},
	{"patchSetName", toolPatches, unknown, " for each patch of the set"},
	{"fromFieldPath", toolPatches, "<field:fromFieldPath>", ""},
	{"toFieldPath", toolPatches, unknown, ""},
	{"transforms", toolPatches, unknown, ""},
	{"remoteRef", toolSecrets, "secrets<.remoteRef.key><.remoteRef.property>", ""},
	{"secretKey", toolSecrets, unknown, ""},
	{"valueFrom", toolPods, "secrets<.valueFrom.secretKeyRef.name><.valueFrom.secretKeyRef.key>", ""},
	{"secretName", toolVolumes, "secrets<.secretName><.keyName>", ", where the Secret is a composed resource or an " +
		"item of sources"},
	{"type", toolPatches, "'text'", ": a text has quotes of its own in CEL"},
}

// sourceFields are the fields of objects to read in other tools, and the source that is written instead.
var sourceFields = []struct{ name, tool, write string }{ //nolint:gochecknoglobals // a table
	{"externalRef", toolKRO, "{name: <id>, apiVersion: <externalRef.apiVersion>, kind: <externalRef.kind>, " +
		"matchName: <externalRef.metadata.name>}"},
	{"selector", toolExtra, "{name: <into>, apiVersion: <apiVersion>, kind: <kind>, matchLabels: " +
		"{<selector.matchLabels.0.key>: ...}}"},
	{"ref", toolExtra, "{name: <into>, apiVersion: <apiVersion>, kind: <kind>, matchName: <ref.name>}"},
	{"into", toolExtra, "{name: <into>, apiVersion: <apiVersion>, kind: <kind>, matchName: ...}"},
}
