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
package v1beta1

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

// A FieldPath is the path of a field in an object.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=512
type FieldPath = string

// Exports is the input as the function decodes it. Package crd has the definition that is made from its fields.
type Exports struct {
	APIVersion string     `json:"apiVersion,omitempty"`
	Kind       string     `json:"kind,omitempty"`
	Metadata   ObjectMeta `json:"metadata,omitempty"`

	Spec `json:",inline"`
}

// Spec is what an input says. Its fields are at the top level of the input.
type Spec struct {
	// Finds EnvironmentConfigs, merges them into the environment of earlier steps, and writes fields into the result.
	//
	// The fields except `set` are those of function-environment-configs. A later EnvironmentConfig wins over an earlier
	// one, both win over the environment of earlier steps, and that wins over `defaultData`. Objects are merged; other
	// values are replaced.
	Environment *Environment `json:"environment,omitempty"`

	// Other objects that expressions read. A source is requested only if an expression uses it.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Sources []Source `json:"sources,omitempty"`

	// If true, a source in another namespace than the composite's is read only if a
	// [ReferenceGrant](../example/reference-grants/README.md) in that namespace permits it. Otherwise, exports wait.
	RequireGrants bool `json:"requireGrants,omitempty"`

	// Named expressions, as `variables.<name>`. A variable may use earlier ones. It is evaluated at most once.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Variables []Variable `json:"variables,omitempty"`

	// Credentials to create and keep, as `generated.<name>`.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Generators []Generator `json:"generators,omitempty"`

	// Secrets to compose.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Secrets []SecretExport `json:"secrets,omitempty"`

	// ConfigMaps to compose. No secret value flows into them.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	ConfigMaps []ConfigMapExport `json:"configMaps,omitempty"`

	// Status fields of the composite to write. The composite's schema must have them.
	// +listType=map
	// +listMapKey=fieldPath
	// +kubebuilder:validation:MaxItems=64
	Status []StatusField `json:"status,omitempty"`

	// Exports that the author of the composite requests in fields of the composite. If it is not set, there are none.
	//
	// The requests are the lists `secretExpressions` and `configMapExpressions`, or `dynamicSecrets` and
	// `dynamicConfigMaps`. See [author-exports](../example/author-exports/README.md).
	FromComposite *FromComposite `json:"fromComposite,omitempty"`

	// How changes of other objects are noticed. `Watch` relies on Crossplane v2.4 or later, which watches them. `Poll`
	// relies on `ttl`. It only changes the default of `ttl`. If it is not set, it is `Watch`.
	// +kubebuilder:validation:Enum=Watch;Poll
	Freshness string `json:"freshness,omitempty"`

	// When Crossplane calls again if nothing changes. With `0s`, it waits for a change. If it is not set, it is `10m`,
	// or `60s` if a change may not be [noticed](../package/README.md#freshness). The shortest time of the pipeline
	// counts.
	// +kubebuilder:validation:XValidation:rule="duration(self) == duration('0s') || (duration(self) >= duration('1s') && duration(self) <= duration('24h'))",message="must be 0s, or from 1s to 24h"
	TTL *Duration `json:"ttl,omitempty"`
}

// The values of fields that are not the default.
const (
	ConflictLastWins = "LastWins"
	FreshnessPoll    = "Poll"
	ScopeCluster     = "Cluster"
)

// A Source is an object that is neither the composite nor a composed resource. With `matchLabels` it is a list
// of objects.
//
// Expressions read a v1 Secret as `secrets.<name>`, and any other kind as `sources.<name>`.
//
// +kubebuilder:validation:AtMostOneOf=matchName;nameExpression;matchLabels
// +kubebuilder:validation:XValidation:rule="!(has(self.scope) && self.scope == 'Cluster' && has(self.__namespace__))",fieldPath=".namespace",message="must not be set when scope is Cluster"
// +kubebuilder:validation:XValidation:rule="!(self.apiVersion == 'v1' && self.kind == 'Secret' && has(self.nameExpression) && has(self.__namespace__))",fieldPath=".namespace",message="must be left out, because a Secret with nameExpression is in the composite's own namespace: to read another one, use matchName"
// +kubebuilder:validation:XValidation:rule="!(self.apiVersion == 'v1' && self.kind == 'Secret' && has(self.scope) && self.scope == 'Cluster')",fieldPath=".scope",message="must be Namespaced for a Secret"
type Source struct {
	// The name in expressions, and of the object, unless another field names it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[^/%\s]+$`
	// +kubebuilder:validation:XValidation:rule="!(self in ['composite', 'environment'])",message="must not be composite or environment, because extract uses these names: rename the source"
	Name string `json:"name"`

	// The API version of the object, for example `v1`.
	// +kubebuilder:validation:Pattern=`^([^/\s]+/)?[^/\s]+$`
	// +kubebuilder:example=v1
	APIVersion string `json:"apiVersion"`

	// The kind of the object, for example `ConfigMap`.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:example=ConfigMap
	Kind string `json:"kind"`

	// Whether the kind is namespaced. If it is not set, it is `Namespaced`.
	// +kubebuilder:default=Namespaced
	// +kubebuilder:validation:Enum=Namespaced;Cluster
	Scope string `json:"scope,omitempty"`

	// The namespace of the object. If it is not set, it is the namespace of the composite or its claim. A cluster
	// scoped composite must set it for a Secret.
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace,omitempty"`

	// The name of the object, if it differs from `name`.
	// +kubebuilder:validation:Pattern=`^[^/%\s]+$`
	MatchName string `json:"matchName,omitempty"`

	// Returns the name of the object. For example, `composite.metadata.name +
	// '-ca'`.
	NameExpression Expression `json:"nameExpression,omitempty"`

	// Finds all objects with these labels, as a list. For a Secret, exactly one must match.
	// +kubebuilder:validation:MinProperties=1
	MatchLabels map[string]string `json:"matchLabels,omitempty"`

	// If true, expressions do not wait for the object: `secrets.?ca` is empty if it does not exist.
	Optional bool `json:"optional,omitempty"`
}

// A Variable is a named expression.
type Variable struct {
	// The name of the variable, a CEL identifier.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[_a-zA-Z][_a-zA-Z0-9]*$`
	// +kubebuilder:example=databaseHost
	Name string `json:"name"`

	// Returns the value of the variable, of any type.
	Value Expression `json:"value"`
}

// An Export is what a Secret and a ConfigMap to compose have in common.
//
// +kubebuilder:validation:XValidation:rule="(has(self.data) && size(self.data) > 0) || has(self.dataFrom)",fieldPath=".data",message="must have at least one item, unless dataFrom is set"
// +kubebuilder:validation:XValidation:rule="has(self.forEachExpression) == has(self.keyExpression)",message="forEachExpression and keyExpression must be set together: the key identifies an item"
// +kubebuilder:validation:XValidation:rule="!(has(self.forEachExpression) && has(self.metadata) && has(self.metadata.name))",fieldPath=".metadata.name",message="must not be set with forEachExpression, because each object needs its own name: leave it out, or write a nameExpression with key in it"
type Export struct {
	// The name of the export: the composition resource name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!self.matches('^(fromComposite|generated)/')",message="must not begin with fromComposite/ or generated/, which are reserved"
	Name string `json:"name"`

	// Returns a list. One object is composed for each item. All other expressions see `item`, `index` and `key`. While
	// the list is missing, nothing changes. For example, `composite.spec.users`.
	ForEachExpression Expression `json:"forEachExpression,omitempty"`

	// Returns the key of an item: lower-case letters, digits and '-', at most 63. The composition resource name is
	// `<name>/<key>`. For example, `item.name`.
	KeyExpression Expression `json:"keyExpression,omitempty"`

	// The name, namespace, labels and annotations of the object.
	Metadata *Metadata `json:"metadata,omitempty"`

	// If true, the object is kept as it was created.
	Immutable *bool `json:"immutable,omitempty"`

	// The composed resource that `resource`, `self` and `secret` stand for. If it is not set, they stand for the
	// composite.
	// +kubebuilder:validation:MinLength=1
	From string `json:"from,omitempty"`

	// What happens if two entries write the same key. `Error` keeps the object. With `LastWins`, `data` wins over
	// `dataFrom`, and a later entry over an earlier one. If it is not set, it is `Error`.
	// +kubebuilder:default=Error
	// +kubebuilder:validation:Enum=Error;LastWins
	ConflictPolicy string `json:"conflictPolicy,omitempty"`

	// If true, an object that the export [takes over](../example/from-connection-details/README.md) loses
	// the keys that only it has. An export takes over an object that has its name, and that no other export or earlier
	// step composes.
	Prune bool `json:"prune,omitempty"`
}

// A SecretExport is a Secret to compose.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.forEachExpression) && has(self.connectionDetails) && self.connectionDetails)",fieldPath=".connectionDetails",message="must not be set with forEachExpression, because the details of one item would replace the details of another: leave it out"
type SecretExport struct {
	Export `json:",inline"`

	// The type of the Secret, which cannot change. For example, `kubernetes.io/tls`. If it is not set, it is `Opaque`.
	// +kubebuilder:default=Opaque
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:XValidation:rule="self != 'kubernetes.io/service-account-token'",message="must not be kubernetes.io/service-account-token, because Kubernetes fills such a Secret itself: use another type"
	Type string `json:"type,omitempty"`

	// The keys of the Secret and their values. Without all of them, the Secret is kept, or not created.
	// +kubebuilder:validation:MaxItems=256
	Data []SecretData `json:"data,omitempty"`

	// Adds all keys of an input, under other names if needed. Without the input, the Secret is kept, or not created.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	DataFrom []DataFrom `json:"dataFrom,omitempty"`

	// If true, the data is also published as connection details of a legacy composite.
	ConnectionDetails bool `json:"connectionDetails,omitempty"`
}

// A ConfigMapExport is a ConfigMap to compose.
type ConfigMapExport struct {
	Export `json:",inline"`

	// The keys of the ConfigMap and their values. Without all of them, it is kept, or not created.
	// +kubebuilder:validation:MaxItems=256
	Data []ConfigMapData `json:"data,omitempty"`

	// Adds all keys of a ConfigMap source or the environment.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	DataFrom []DataFrom `json:"dataFrom,omitempty"`
}

// Metadata of an object to compose.
//
// +kubebuilder:validation:AtMostOneOf=name;nameExpression
// +kubebuilder:validation:AtMostOneOf=__namespace__;namespaceExpression
type Metadata struct {
	// The name of the object, which cannot change. If it is not set, it is `<composite name>-<export name>`.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +kubebuilder:example="orders-url"
	Name string `json:"name,omitempty"`

	// Returns `name`. For example,
	// `composite.spec.writeConnectionSecretToRef.name`.
	NameExpression Expression `json:"nameExpression,omitempty"`

	// The namespace of the object, which cannot change. If it is not set, it is the namespace of the composite or its
	// claim. A cluster scoped composite without a claim must set it.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:example="team-a"
	Namespace string `json:"namespace,omitempty"`

	// Returns `namespace`. For example, `composite.spec.namespace`.
	NamespaceExpression Expression `json:"namespaceExpression,omitempty"`

	// The labels of the object.
	Labels map[string]string `json:"labels,omitempty"`

	// Returns further labels, a `map(string, string)`. For example, `{'team': composite.spec.team}`.
	LabelsExpression Expression `json:"labelsExpression,omitempty"`

	// The annotations of the object.
	Annotations map[string]string `json:"annotations,omitempty"`

	// Returns further annotations, a `map(string, string)`. For example, `{'example.org/host': variables.host}`.
	AnnotationsExpression Expression `json:"annotationsExpression,omitempty"`

	// Secret keys that may be used here, because they are not secret. For example, `db.endpoint`.
	NonSensitive []string `json:"nonSensitive,omitempty"`
}

// A SecretData is one key of a Secret. With `valueMap` it is several keys.
//
// +kubebuilder:validation:ExactlyOneOf=value;valueMap
// +kubebuilder:validation:XValidation:rule="has(self.value) ? has(self.key) : !(has(self.key) && has(self.valueMap))",fieldPath=".key",message="must be set with value, and not with valueMap, which returns the keys"
type SecretData struct {
	// The key in the object. It must be set together with `value`.
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	// +kubebuilder:example=DATABASE_URL
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self != '.' && !self.startsWith('..')",message="must not be '.' or begin with '..'"
	Key string `json:"key,omitempty"`

	// Returns a string or bytes. For example, `secret.password`.
	Value Expression `json:"value,omitempty"`

	// Returns several keys with their values. For example, `{'username': secret.username}`, or `secret` for all
	// connection details.
	ValueMap Expression `json:"valueMap,omitempty"`

	// If true, a key with a missing, null or empty value is left out. Otherwise the whole object is kept.
	Optional bool `json:"optional,omitempty"`
}

// A ConfigMapData is one key of a ConfigMap. With `valueMap` it is several keys.
type ConfigMapData struct {
	SecretData `json:",inline"`

	// Secret keys that may be used here, because they are not secret. For example, `db.endpoint`.
	NonSensitive []string `json:"nonSensitive,omitempty"`
}

// A StatusField is a status field of the composite to write.
type StatusField struct {
	// The path of the field below `status`, for example `endpoint` or `network.addresses`.
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[^_a-zA-Z0-9]*(conditions|crossplane)($|[^-_a-zA-Z0-9])')",message="must not be conditions or crossplane, or a field below them, which Crossplane writes: write a field of your own"
	FieldPath FieldPath `json:"fieldPath"`

	// Returns the value of the field. For example, `resource.status.address`.
	Value Expression `json:"value"`

	// If true, the field is left out while its value is missing. Otherwise it keeps its observed value.
	Optional bool `json:"optional,omitempty"`

	// Secret keys that may be used here, because they are not secret. For example, `db.endpoint`.
	NonSensitive []string `json:"nonSensitive,omitempty"`
}
