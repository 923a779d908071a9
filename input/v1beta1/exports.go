// Package v1beta1 is the input of function-export: the Exports type, as a pipeline
// step of a Composition has it.
//
// A field named value, valueMap or …Expression is CEL. Each item of the outputs of a resource
// generator is also CEL. Every other field is literal. The package has only types and
// markers. It does not compile, evaluate or default anything.
//
// The comments of the types become the descriptions of the CustomResourceDefinition, the
// help of editors and the reference in input/README.md: each one says what the field does,
// what happens if the field is not set, and gives an example where it helps.
//
// +kubebuilder:object:generate=true
// +groupName=export.fn.crossplane.io
// +versionName=v1beta1
package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The API version and kind of the input.
const (
	APIVersion = "export.fn.crossplane.io/v1beta1"
	Kind       = "Exports"
)

// An Expression is CEL.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=4096
type Expression = string

// Exports declares which values a Composition exports, and to which objects.
//
// An Exports is never stored. Crossplane passes it to the function as it is in the Composition, without
// validation, so the function checks it against this schema itself.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories=crossplane
// +kubebuilder:validation:XValidation:rule="!has(self.secrets) || !has(self.configMaps) || !self.secrets.exists(s, self.configMaps.exists(c, c.name == s.name))",message="each name in secrets and configMaps is a composition resource name, and must be unique across both lists"
type Exports struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Finds EnvironmentConfigs, merges them into the environment of earlier steps, and writes fields into the
	// result, for the expressions of this input and for later steps. If it is not set, expressions see the
	// environment that earlier steps left in the context.
	//
	// All fields except `set` are the fields of function-environment-configs, so that its `spec` can be used
	// here without a change. If several EnvironmentConfigs set the same field, the one that is listed last wins.
	// EnvironmentConfigs win over the environment of earlier steps, and this environment wins over
	// `defaultData`. Objects are merged. Any other value is replaced.
	// +optional
	Environment *Environment `json:"environment,omitempty"`

	// Other objects that expressions read. The function requests a source from Crossplane only if an expression
	// uses it.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Sources []Source `json:"sources,omitempty"`

	// Named expressions, which other expressions use as `variables.<name>`. A variable may use the variables
	// that are listed before it. It is evaluated at most once, on first use.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Variables []Variable `json:"variables,omitempty"`

	// Credentials to create and keep. Expressions use their outputs as `generated.<name>`.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Generators []Generator `json:"generators,omitempty"`

	// Secrets to compose.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Secrets []SecretExport `json:"secrets,omitempty"`

	// ConfigMaps to compose. No secret value flows into a ConfigMap.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	ConfigMaps []ConfigMapExport `json:"configMaps,omitempty"`

	// Status fields of the composite to write. Write only fields that the composite's schema has. If the schema
	// lacks a field, Crossplane fails to write the status.
	// +optional
	// +listType=map
	// +listMapKey=fieldPath
	// +kubebuilder:validation:MaxItems=64
	Status []StatusField `json:"status,omitempty"`

	// Exports that the author of the composite requests in fields of the composite. If it is not set, composite
	// authors cannot request exports.
	//
	// The requests are in lists below a field of the composite: `secretExpressions` and `configMapExpressions`
	// as in Azure Service Operator, `dynamicSecrets` and `dynamicConfigMaps` as in its design. Their expressions
	// see the composite as `composite`, `resource` and `self`, and the inputs that `allow` lists. Their objects
	// are in the composite's own namespace. A mistake in the composite never makes this input invalid.
	// +optional
	FromComposite *FromComposite `json:"fromComposite,omitempty"`

	// How the function notices that an object that it reads has changed. `Watch` relies on Crossplane v2.4 or later,
	// which watches these objects and calls the function when one of them changes. `Poll` relies on `ttl` alone.
	// It only changes the default of `ttl`. If it is not set, it is `Watch`.
	// +optional
	Freshness Freshness `json:"freshness,omitempty"`

	// The time after which Crossplane calls the function again if nothing changes. If it is `0s`, Crossplane
	// does not call again until something changes. If it is not set, it is `10m` if Crossplane watches everything
	// that the input reads. It is `60s` with `freshness: Poll` or `typeChecking: Strict`, if an expression reads
	// `context` or the `environment` of an earlier step, and if Crossplane does not watch these objects yet, or at all.
	// It is also `60s` if an expression fails, if Crossplane could not apply an object, and while Crossplane drops
	// events of the composite.
	//
	// The shortest time of all steps of the pipeline counts.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) == duration('0s') || (duration(self) >= duration('1s') && duration(self) <= duration('24h'))",message="must be 0s, or from 1s to 24h"
	TTL *metav1.Duration `json:"ttl,omitempty"`

	// Whether expressions are checked against the schemas of the objects that they read. `Warn` checks only
	// while an expression waits for a field, and warns if the schema does not have that field. `Strict` checks
	// in each call, and refuses the input if the check fails. Crossplane before v2.2 provides no schemas: there,
	// `Strict` only warns that it cannot check. If it is not set, it is `Warn`.
	// +optional
	TypeChecking TypeChecking `json:"typeChecking,omitempty"`
}

// Freshness says how the function notices that an object that it reads has changed.
//
// +kubebuilder:validation:Enum=Watch;Poll
type Freshness string

// The values of Freshness.
const (
	FreshnessWatch Freshness = "Watch"
	FreshnessPoll  Freshness = "Poll"
)

// TypeChecking says when expressions are checked against the schemas of the objects that they read.
//
// +kubebuilder:validation:Enum=Warn;Strict
type TypeChecking string

// The values of TypeChecking.
const (
	TypeCheckingWarn   TypeChecking = "Warn"
	TypeCheckingStrict TypeChecking = "Strict"
)

// A SourceScope says whether the kind of a source is namespaced.
//
// +kubebuilder:validation:Enum=Namespaced;Cluster
type SourceScope string

// The scopes of a source.
const (
	ScopeNamespaced SourceScope = "Namespaced"
	ScopeCluster    SourceScope = "Cluster"
)

// A Source is an object that is neither the composite nor a composed resource. With `matchLabels` it is a list
// of objects.
//
// Expressions read a v1 Secret as `secrets.<name>`, and any other kind as `sources.<name>`.
//
// +kubebuilder:validation:XValidation:rule="[has(self.matchName), has(self.nameExpression), has(self.matchLabels)].filter(x, x).size() <= 1",message="at most one of matchName, nameExpression and matchLabels may be set"
// +kubebuilder:validation:XValidation:rule="!(has(self.scope) && self.scope == 'Cluster' && has(self.__namespace__))",fieldPath=".namespace",message="must not be set when scope is Cluster"
// +kubebuilder:validation:XValidation:rule="!(self.apiVersion == 'v1' && self.kind == 'Secret' && has(self.nameExpression) && has(self.__namespace__))",fieldPath=".namespace",message="must not be set together with the nameExpression of a Secret, because this Secret is always read from the composite's own namespace: use matchName, or leave the namespace out"
// +kubebuilder:validation:XValidation:rule="!(self.apiVersion == 'v1' && self.kind == 'Secret' && has(self.scope) && self.scope == 'Cluster')",fieldPath=".scope",message="must be Namespaced for a Secret"
type Source struct {
	// The name of the source in expressions. It is also the name of the object, unless `matchName`,
	// `nameExpression` or `matchLabels` is set. It must not be `composite` or `environment`.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self != 'composite'",message="must not be composite, because extract uses this name for the composite: rename the source"
	// +kubebuilder:validation:XValidation:rule="self != 'environment'",message="must not be environment, because extract uses this name for the environment: rename the source"
	Name string `json:"name"`

	// The API version of the object, for example `v1`.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:example=v1
	APIVersion string `json:"apiVersion"`

	// The kind of the object, for example `ConfigMap`.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:example=ConfigMap
	Kind string `json:"kind"`

	// Whether the kind is namespaced. If it is not set, it is `Namespaced`.
	// +optional
	// +kubebuilder:default=Namespaced
	Scope SourceScope `json:"scope,omitempty"`

	// The namespace of the object. If it is not set, it is the composite's own namespace, or the namespace of
	// its claim if it has one. For a Secret and a cluster scoped composite, it is required, even if the composite
	// has a claim. Otherwise the composite author could choose the namespace by writing a claim reference.
	// +optional
	// +kubebuilder:validation:MinLength=1
	Namespace string `json:"namespace,omitempty"`

	// The name of the object. If it is not set, `nameExpression`, `matchLabels` or the name of the source is
	// used.
	// +optional
	// +kubebuilder:validation:MinLength=1
	MatchName string `json:"matchName,omitempty"`

	// Returns the name of the object, a string. It may not use a source or a secret. For example,
	// `composite.metadata.name + '-ca'`.
	// +optional
	NameExpression Expression `json:"nameExpression,omitempty"`

	// Finds all objects that have these labels, so that the source is a list. For a Secret, exactly one object
	// must match.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	MatchLabels map[string]string `json:"matchLabels,omitempty"`

	// If true, expressions are evaluated even if the object does not exist: `secrets.?ca` is empty then. If it
	// is not set, every expression that uses the source waits until the object exists.
	// +optional
	Optional bool `json:"optional,omitempty"`
}

// A Variable is a named expression.
type Variable struct {
	// The name of the variable, a CEL identifier. Expressions use it as `variables.<name>`.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[_a-zA-Z][_a-zA-Z0-9]*$')",message="must consist of letters, digits and '_', and must not begin with a digit: expressions use it as variables.<name>"
	Name string `json:"name"`

	// Returns the value of the variable, of any type.
	Value Expression `json:"value"`
}

// A SecretExport is a Secret to compose.
//
// +kubebuilder:validation:XValidation:rule="(has(self.data) && size(self.data) > 0) || has(self.dataFrom)",fieldPath=".data",message="must have at least one item, unless dataFrom is set"
// +kubebuilder:validation:XValidation:rule="!has(self.forEachExpression) || has(self.keyExpression)",fieldPath=".keyExpression",message="must be set with forEachExpression, because it identifies an item: write for example keyExpression: item.name"
// +kubebuilder:validation:XValidation:rule="!has(self.keyExpression) || has(self.forEachExpression)",fieldPath=".forEachExpression",message="must be set with keyExpression: write for example forEachExpression: composite.spec.users"
// +kubebuilder:validation:XValidation:rule="!(has(self.forEachExpression) && has(self.metadata) && has(self.metadata.name))",fieldPath=".metadata.name",message="must not be set with forEachExpression, because each object needs its own name: leave it out, or write a nameExpression with key in it"
// +kubebuilder:validation:XValidation:rule="!(has(self.forEachExpression) && has(self.connectionDetails) && self.connectionDetails)",fieldPath=".connectionDetails",message="must not be set with forEachExpression, because the details of one item would replace the details of another: leave it out"
type SecretExport struct {
	// The name of the export, which is the composition resource name of the Secret. A Secret that the export
	// takes over keeps its own one. It must be unique across `secrets` and `configMaps`.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('fromComposite/')",message="must not begin with fromComposite/, which is reserved for exports of composite authors"
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('generated/')",message="must not begin with generated/, which is reserved for generations"
	Name string `json:"name"`

	// Returns a list. One Secret is composed for each item, and all other expressions of this export see `item`,
	// `index`, the position of the item from 0, and `key`. The list may not use a source or a secret. While the
	// list is missing, all Secrets of this export are kept. If an item leaves the list, its Secret is deleted. For
	// example, `composite.spec.users`.
	// +optional
	ForEachExpression Expression `json:"forEachExpression,omitempty"`

	// Returns the key of an item: a string of lower-case letters, digits and '-', at most 63, which no other item
	// has. It sees `item` and `index`, and may not use a source or a secret. The composition resource name is
	// `<name>/<key>`, and the default name of the Secret is `<composite name>-<name>-<key>`. An item keeps its Secret
	// when the order of the list changes, unless the key contains `index`. For example, `item.name`.
	// +optional
	KeyExpression Expression `json:"keyExpression,omitempty"`

	// The name, namespace, labels and annotations of the Secret. If it is not set, the Secret is named
	// `<composite name>-<export name>` and is in the composite's own namespace.
	// +optional
	Metadata *Metadata `json:"metadata,omitempty"`

	// The type of the Secret, for example `kubernetes.io/tls`. It cannot change after the Secret is created. If
	// it is not set, it is `Opaque`.
	// +optional
	// +kubebuilder:default=Opaque
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:XValidation:rule="self != 'kubernetes.io/service-account-token'",message="must not be kubernetes.io/service-account-token, because Kubernetes fills such a Secret itself: use another type"
	Type string `json:"type,omitempty"`

	// If true, the Secret is immutable: if its values change later, it is kept as it was created. If it is not
	// set, the Secret can change.
	// +optional
	Immutable *bool `json:"immutable,omitempty"`

	// The name of the composed resource that `resource`, `self` and `secret` stand for in the expressions of
	// this export. If it is not set, they stand for the composite.
	// +optional
	// +kubebuilder:validation:MinLength=1
	From string `json:"from,omitempty"`

	// The keys of the Secret and their values. If one of them has no value yet, the whole Secret is kept as it
	// is, or not created.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	// +listType=atomic
	Data []SecretData `json:"data,omitempty"`

	// Adds all keys of an input to the Secret, under other names if needed. If an input is missing, the whole
	// Secret is kept as it is, or not created.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	DataFrom []DataFrom `json:"dataFrom,omitempty"`

	// Says what happens if two entries write the same key. With `Error`, this is a conflict: the Secret is kept
	// as it is, or not created. With `LastWins`, an entry of `data` wins over an entry of `dataFrom`, and a
	// later entry wins over an earlier one. If it is not set, it is `Error`.
	// +optional
	// +kubebuilder:default=Error
	ConflictPolicy ConflictPolicy `json:"conflictPolicy,omitempty"`

	// If true, the data is also published as connection details of the composite. Crossplane uses them for
	// legacy composites only. If it is not set, the data is in the Secret only.
	// +optional
	ConnectionDetails bool `json:"connectionDetails,omitempty"`

	// If true, a Secret that the export takes over loses the keys that only it has. If it is not set, the
	// Secret keeps these keys with their values, and a warning names them. It has no effect on any other
	// Secret.
	//
	// An export takes over a Secret with the name and the namespace of the export's object, if the composite
	// already composes it under a composition resource name that no export and no earlier step of the pipeline
	// has. The function cannot see later steps. If a later step composes a resource with the same composition
	// resource name, Crossplane uses the resource of the later step.
	// +optional
	Prune bool `json:"prune,omitempty"`
}

// A ConfigMapExport is a ConfigMap to compose.
//
// +kubebuilder:validation:XValidation:rule="(has(self.data) && size(self.data) > 0) || has(self.dataFrom)",fieldPath=".data",message="must have at least one item, unless dataFrom is set"
// +kubebuilder:validation:XValidation:rule="!has(self.forEachExpression) || has(self.keyExpression)",fieldPath=".keyExpression",message="must be set with forEachExpression, because it identifies an item: write for example keyExpression: item.name"
// +kubebuilder:validation:XValidation:rule="!has(self.keyExpression) || has(self.forEachExpression)",fieldPath=".forEachExpression",message="must be set with keyExpression: write for example forEachExpression: composite.spec.users"
// +kubebuilder:validation:XValidation:rule="!(has(self.forEachExpression) && has(self.metadata) && has(self.metadata.name))",fieldPath=".metadata.name",message="must not be set with forEachExpression, because each object needs its own name: leave it out, or write a nameExpression with key in it"
type ConfigMapExport struct {
	// The name of the export, which is the composition resource name of the ConfigMap. A ConfigMap that the export
	// takes over keeps its own one. It must be unique across `secrets` and `configMaps`.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('fromComposite/')",message="must not begin with fromComposite/, which is reserved for exports of composite authors"
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('generated/')",message="must not begin with generated/, which is reserved for generations"
	Name string `json:"name"`

	// Returns a list. One ConfigMap is composed for each item, and all other expressions of this export see `item`,
	// `index`, the position of the item from 0, and `key`. The list may not use a source or a secret. While the
	// list is missing, all ConfigMaps of this export are kept. If an item leaves the list, its ConfigMap is deleted. For
	// example, `composite.spec.users`.
	// +optional
	ForEachExpression Expression `json:"forEachExpression,omitempty"`

	// Returns the key of an item: a string of lower-case letters, digits and '-', at most 63, which no other item
	// has. It sees `item` and `index`, and may not use a source or a secret. The composition resource name is
	// `<name>/<key>`, and the default name of the ConfigMap is `<composite name>-<name>-<key>`. An item keeps its ConfigMap
	// when the order of the list changes, unless the key contains `index`. For example, `item.name`.
	// +optional
	KeyExpression Expression `json:"keyExpression,omitempty"`

	// The name, namespace, labels and annotations of the ConfigMap. If it is not set, the ConfigMap is named
	// `<composite name>-<export name>` and is in the composite's own namespace.
	// +optional
	Metadata *Metadata `json:"metadata,omitempty"`

	// If true, the ConfigMap is immutable: if its values change later, it is kept as it was created. If it is
	// not set, the ConfigMap can change.
	// +optional
	Immutable *bool `json:"immutable,omitempty"`

	// The name of the composed resource that `resource`, `self` and `secret` stand for in the expressions of
	// this export. If it is not set, they stand for the composite.
	// +optional
	// +kubebuilder:validation:MinLength=1
	From string `json:"from,omitempty"`

	// The keys of the ConfigMap and their values. If one of them has no value yet, the whole ConfigMap is kept
	// as it is, or not created.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	// +listType=atomic
	Data []ConfigMapData `json:"data,omitempty"`

	// Adds all keys of an input to the ConfigMap, under other names if needed. The input must not be secret: a
	// ConfigMap source or the environment, but no connection details and no `find`. If an input is missing, the
	// whole ConfigMap is kept as it is, or not created.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	DataFrom []DataFrom `json:"dataFrom,omitempty"`

	// Says what happens if two entries write the same key. With `Error`, this is a conflict: the ConfigMap is
	// kept as it is, or not created. With `LastWins`, an entry of `data` wins over an entry of `dataFrom`, and a
	// later entry wins over an earlier one. If it is not set, it is `Error`.
	// +optional
	// +kubebuilder:default=Error
	ConflictPolicy ConflictPolicy `json:"conflictPolicy,omitempty"`

	// If true, a ConfigMap that the export takes over loses the keys that only it has. If it is not set, the
	// ConfigMap keeps these keys with their values, and a warning names them. It has no effect on any other
	// ConfigMap.
	//
	// An export takes over a ConfigMap with the name and the namespace of the export's object, if the composite
	// already composes it under a composition resource name that no export and no earlier step of the pipeline
	// has. The function cannot see later steps. If a later step composes a resource with the same composition
	// resource name, Crossplane uses the resource of the later step.
	// +optional
	Prune bool `json:"prune,omitempty"`
}

// Metadata of an object to compose.
//
// +kubebuilder:validation:XValidation:rule="[has(self.name), has(self.nameExpression)].filter(x, x).size() <= 1",message="at most one of name and nameExpression may be set"
// +kubebuilder:validation:XValidation:rule="[has(self.__namespace__), has(self.namespaceExpression)].filter(x, x).size() <= 1",message="at most one of namespace and namespaceExpression may be set"
type Metadata struct {
	// The name of the object. It cannot change after the object is created. If neither it nor `nameExpression`
	// is set, the name is `<composite name>-<export name>`.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name,omitempty"`

	// Returns the name of the object, a string. It may not use a source or a secret. For example,
	// `composite.spec.writeConnectionSecretToRef.name`.
	// +optional
	NameExpression Expression `json:"nameExpression,omitempty"`

	// The namespace of the object. It cannot change after the object is created. If neither it nor
	// `namespaceExpression` is set, it is the composite's own namespace, or the namespace of its claim if it has
	// one. A cluster scoped composite without a claim must set one of the two.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace,omitempty"`

	// Returns the namespace of the object, a string. It may not use a source or a secret. For example,
	// `composite.spec.namespace`.
	// +optional
	NamespaceExpression Expression `json:"namespaceExpression,omitempty"`

	// The labels of the object.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// Returns further labels, a `map(string, string)`. For example, `{'team': composite.spec.team}`.
	// +optional
	LabelsExpression Expression `json:"labelsExpression,omitempty"`

	// The annotations of the object.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`

	// Returns further annotations, a `map(string, string)`. For example, `{'example.org/host': variables.host}`.
	// +optional
	AnnotationsExpression Expression `json:"annotationsExpression,omitempty"`

	// The secret keys that `labelsExpression` and `annotationsExpression` may use because they are not secret,
	// as `<input>.<key>`. For example, `db.endpoint`. If it is not set, they may use no secret key.
	// +optional
	NonSensitive []string `json:"nonSensitive,omitempty"`
}

// A SecretData is one key of a Secret. With `valueMap` it is several keys.
//
// +kubebuilder:validation:XValidation:rule="[has(self.value), has(self.valueMap)].exists_one(x, x)",message="exactly one of value and valueMap must be set"
// +kubebuilder:validation:XValidation:rule="!has(self.value) || has(self.key)",fieldPath=".key",message="must be set, because value is the value of one key"
// +kubebuilder:validation:XValidation:rule="!(has(self.valueMap) && has(self.key)) || has(self.value)",fieldPath=".key",message="must not be set together with valueMap, which returns the keys"
type SecretData struct {
	// The key in the object, for example `password`. It must be set together with `value`.
	// +optional
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self != '.' && !self.startsWith('..')",message="must not be '.' or begin with '..'"
	Key string `json:"key,omitempty"`

	// Returns the value of the key, a string or bytes. For example, `secret.password`.
	// +optional
	Value Expression `json:"value,omitempty"`

	// Returns several keys with their values, a `map(string, string)`. For example,
	// `{'username': secret.username}`, or `secret` for all connection details.
	// +optional
	ValueMap Expression `json:"valueMap,omitempty"`

	// If true, a key whose value is missing, null or empty is left out. If it is not set, a missing value keeps
	// the whole object as it is.
	// +optional
	Optional bool `json:"optional,omitempty"`
}

// A ConfigMapData is one key of a ConfigMap. With `valueMap` it is several keys.
type ConfigMapData struct {
	SecretData `json:",inline"`

	// The secret keys that this expression may use because they are not secret, as `<input>.<key>`. For example,
	// `db.endpoint`. If it is not set, the expression may use no secret key.
	// +optional
	NonSensitive []string `json:"nonSensitive,omitempty"`
}

// A StatusField is a status field of the composite to write.
type StatusField struct {
	// The path of the field below `status`, for example `endpoint` or `network.addresses`.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="!self.matches('^(conditions|crossplane)($|[.])')",message="must not be conditions or crossplane, or a field below them, which Crossplane writes: write a field of your own"
	FieldPath string `json:"fieldPath"`

	// Returns the value of the field, of any type that JSON has. It may use no secret key that `nonSensitive`
	// does not list.
	Value Expression `json:"value"`

	// If true, the field is left out while its value is missing. If it is not set, the field keeps its observed
	// value.
	// +optional
	Optional bool `json:"optional,omitempty"`

	// The secret keys that this expression may use because they are not secret, as `<input>.<key>`. For example,
	// `db.endpoint`. If it is not set, the expression may use no secret key.
	// +optional
	NonSensitive []string `json:"nonSensitive,omitempty"`
}
