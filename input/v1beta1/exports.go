// Package v1beta1 is the input of function-export: the Exports type, as it
// stands in a Composition's pipeline step.
//
// One rule for its reader: a field named value, valueMap or …Expression is CEL,
// every other field is literal. The package holds types and markers only. It
// compiles, evaluates and defaults nothing.
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

// Exports says which values leave a composition, and as what.
//
// It is never stored: Crossplane hands it over as it stands in the Composition,
// unvalidated, so the function refuses itself whatever this schema refuses.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories=crossplane
// +kubebuilder:validation:XValidation:rule="!has(self.secrets) || !has(self.configMaps) || !self.secrets.exists(s, self.configMaps.exists(c, c.name == s.name))",message="a name in secrets and configMaps is a composition resource name, and must be unique over both"
type Exports struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Environment to find, merge and change, for the expressions here and for later
	// steps.
	// +optional
	Environment *Environment `json:"environment,omitempty"`

	// Sources are other objects to read. Crossplane is asked for a source only
	// if an expression uses it.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Sources []Source `json:"sources,omitempty"`

	// Variables are named expressions, used as variables.<name>. A variable may
	// use the ones above it, and is evaluated at most once, on first use.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Variables []Variable `json:"variables,omitempty"`

	// Generators make credentials, and keep them.
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

	// ConfigMaps to compose.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	ConfigMaps []ConfigMapExport `json:"configMaps,omitempty"`

	// Status fields of the composite resource to write. A field that the
	// composite's schema lacks makes Crossplane fail to write its status.
	// +optional
	// +listType=map
	// +listMapKey=fieldPath
	// +kubebuilder:validation:MaxItems=64
	Status []StatusField `json:"status,omitempty"`

	// FromComposite exports what the composite's own author asks for.
	// +optional
	FromComposite *FromComposite `json:"fromComposite,omitempty"`

	// TTL is how long Crossplane waits before it calls the function again when
	// nothing changes. 0s is never. Defaults to 60s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:XValidation:rule="duration(self) == duration('0s') || (duration(self) >= duration('1s') && duration(self) <= duration('24h'))",message="must be 0s, or from 1s to 24h"
	TTL *metav1.Duration `json:"ttl,omitempty"`

	// TypeChecking holds expressions against the schemas of what they read. Warn looks
	// only while something waits for a field, and warns if that can never come. Strict
	// looks on each call, and refuses the input. Crossplane before v2.2 hands over no
	// schemas: Strict only warns of that there. Defaults to Warn.
	// +optional
	TypeChecking TypeChecking `json:"typeChecking,omitempty"`
}

// TypeChecking is what the function does with the schemas of what it reads.
// +kubebuilder:validation:Enum=Warn;Strict
type TypeChecking string

// The kinds of type checking.
const (
	TypeCheckingWarn   TypeChecking = "Warn"
	TypeCheckingStrict TypeChecking = "Strict"
)

// A SourceScope says whether a source's kind is namespaced.
// +kubebuilder:validation:Enum=Namespaced;Cluster
type SourceScope string

// The scopes of a source.
const (
	ScopeNamespaced SourceScope = "Namespaced"
	ScopeCluster    SourceScope = "Cluster"
)

// A Source is an object, or with matchLabels a list of objects, that is neither
// the composite nor a composed resource.
//
// A v1 Secret is secrets.<name>; anything else is sources.<name>.
//
// +kubebuilder:validation:XValidation:rule="[has(self.matchName), has(self.nameExpression), has(self.matchLabels)].filter(x, x).size() <= 1",message="at most one of matchName, nameExpression and matchLabels may be set"
// +kubebuilder:validation:XValidation:rule="!(has(self.scope) && self.scope == 'Cluster' && has(self.__namespace__))",fieldPath=".namespace",message="must not be set when scope is Cluster"
// +kubebuilder:validation:XValidation:rule="!(self.apiVersion == 'v1' && self.kind == 'Secret' && has(self.nameExpression) && has(self.__namespace__))",fieldPath=".namespace",message="must not be set beside the nameExpression of a Secret, which lies in the composite's own namespace: use matchName, or leave the namespace out"
// +kubebuilder:validation:XValidation:rule="!(self.apiVersion == 'v1' && self.kind == 'Secret' && has(self.scope) && self.scope == 'Cluster')",fieldPath=".scope",message="must be Namespaced for a Secret"
type Source struct {
	// Name of the source in expressions. It must not be composite or environment.
	// Unless matchName, nameExpression or
	// matchLabels is set it is the name of the object, too.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self != 'composite'",message="must not be composite, which extract has for an input of its own: rename it"
	// +kubebuilder:validation:XValidation:rule="self != 'environment'",message="must not be environment, which extract has for an input of its own: rename it"
	Name string `json:"name"`

	// APIVersion of the object, for example v1.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:example=v1
	APIVersion string `json:"apiVersion"`

	// Kind of the object, for example ConfigMap.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:example=ConfigMap
	Kind string `json:"kind"`

	// Scope of the kind. Defaults to Namespaced.
	// +optional
	// +kubebuilder:default=Namespaced
	Scope SourceScope `json:"scope,omitempty"`

	// Namespace of the object. Defaults to the composite's own, which is the
	// namespace of its claim if it has one. A Secret of a cluster scoped composite
	// must set it: who writes the composite could write any claim into it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	Namespace string `json:"namespace,omitempty"`

	// MatchName is the name of the object.
	// +optional
	// +kubebuilder:validation:MinLength=1
	MatchName string `json:"matchName,omitempty"`

	// NameExpression gives the name of the object. It may use no source.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	NameExpression string `json:"nameExpression,omitempty"`

	// MatchLabels finds the objects that have all of these labels. For a Secret
	// there must be just one.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	MatchLabels map[string]string `json:"matchLabels,omitempty"`

	// Optional lets an expression go on without the object, where it has another
	// way: secrets.?ca is empty then. Otherwise every expression that uses the
	// source waits until the object is there.
	// +optional
	Optional bool `json:"optional,omitempty"`
}

// A Variable is a named expression.
type Variable struct {
	// Name of the variable, a CEL identifier.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[_a-zA-Z][_a-zA-Z0-9]*$')",message="must have letters, digits and '_' only, and not begin with a digit: expressions read it as variables.<name>"
	Name string `json:"name"`

	// Value of the variable, of any type.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Value string `json:"value"`
}

// A SecretExport is a Secret to compose.
//
// +kubebuilder:validation:XValidation:rule="(has(self.data) && size(self.data) > 0) || has(self.dataFrom)",fieldPath=".data",message="must have at least one item, unless there is dataFrom"
type SecretExport struct {
	// Name of the export: the composition resource name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('fromComposite/')",message="must not begin with fromComposite/, which is of what composites' authors ask for"
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('generated/')",message="must not begin with generated/, which is of generations"
	Name string `json:"name"`

	// Metadata of the Secret.
	// +optional
	Metadata *Metadata `json:"metadata,omitempty"`

	// Type of the Secret. Fixed after creation. Defaults to Opaque.
	// +optional
	// +kubebuilder:default=Opaque
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:XValidation:rule="self != 'kubernetes.io/service-account-token'",message="Kubernetes fills a kubernetes.io/service-account-token Secret itself: use another type"
	Type string `json:"type,omitempty"`

	// Immutable makes the Secret immutable: it is held as it was created when
	// its values change.
	// +optional
	Immutable *bool `json:"immutable,omitempty"`

	// From names the composed resource that is `resource`, `self` and `secret` in
	// this export's expressions. Defaults to the composite.
	// +optional
	// +kubebuilder:validation:MinLength=1
	From string `json:"from,omitempty"`

	// Data of the Secret. All of it resolves, or the Secret is held.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +listType=atomic
	Data []SecretData `json:"data,omitempty"`

	// DataFrom gives keys by the dozen. All of it resolves, or the Secret is
	// held.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	DataFrom []DataFrom `json:"dataFrom,omitempty"`

	// ConflictPolicy says what becomes of a key that two entries write. Defaults to
	// Error.
	// +optional
	// +kubebuilder:default=Error
	ConflictPolicy ConflictPolicy `json:"conflictPolicy,omitempty"`

	// ConnectionDetails publishes the data as connection details of the
	// composite, too. Crossplane does so for legacy composites only.
	// +optional
	ConnectionDetails bool `json:"connectionDetails,omitempty"`
}

// A ConfigMapExport is a ConfigMap to compose.
//
// +kubebuilder:validation:XValidation:rule="(has(self.data) && size(self.data) > 0) || has(self.dataFrom)",fieldPath=".data",message="must have at least one item, unless there is dataFrom"
type ConfigMapExport struct {
	// Name of the export: the composition resource name of the ConfigMap.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('fromComposite/')",message="must not begin with fromComposite/, which is of what composites' authors ask for"
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('generated/')",message="must not begin with generated/, which is of generations"
	Name string `json:"name"`

	// Metadata of the ConfigMap.
	// +optional
	Metadata *Metadata `json:"metadata,omitempty"`

	// Immutable makes the ConfigMap immutable: it is held as it was created when
	// its values change.
	// +optional
	Immutable *bool `json:"immutable,omitempty"`

	// From names the composed resource that is `resource`, `self` and `secret` in
	// this export's expressions. Defaults to the composite.
	// +optional
	// +kubebuilder:validation:MinLength=1
	From string `json:"from,omitempty"`

	// Data of the ConfigMap. All of it resolves, or the ConfigMap is held.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +listType=atomic
	Data []ConfigMapData `json:"data,omitempty"`

	// DataFrom gives keys by the dozen. All of it resolves, or the ConfigMap is
	// held.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	DataFrom []DataFrom `json:"dataFrom,omitempty"`

	// ConflictPolicy says what becomes of a key that two entries write. Defaults to
	// Error.
	// +optional
	// +kubebuilder:default=Error
	ConflictPolicy ConflictPolicy `json:"conflictPolicy,omitempty"`
}

// Metadata of an object to compose.
//
// +kubebuilder:validation:XValidation:rule="[has(self.name), has(self.nameExpression)].filter(x, x).size() <= 1",message="at most one of name and nameExpression may be set"
// +kubebuilder:validation:XValidation:rule="[has(self.__namespace__), has(self.namespaceExpression)].filter(x, x).size() <= 1",message="at most one of namespace and namespaceExpression may be set"
type Metadata struct {
	// Name of the object. Fixed after creation. Defaults to the composite's name
	// and the export's name, joined by a dash.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name,omitempty"`

	// NameExpression gives the name of the object. It may use no source.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	NameExpression string `json:"nameExpression,omitempty"`

	// Namespace of the object. Fixed after creation. Defaults to the composite's
	// own, which is the namespace of its claim if it has one. A cluster scoped
	// composite without a claim must set it.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace,omitempty"`

	// NamespaceExpression gives the namespace of the object. It may use no
	// source.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	NamespaceExpression string `json:"namespaceExpression,omitempty"`

	// Labels of the object.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// LabelsExpression gives further labels, a map(string, string).
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	LabelsExpression string `json:"labelsExpression,omitempty"`

	// Annotations of the object.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`

	// AnnotationsExpression gives further annotations, a map(string, string).
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	AnnotationsExpression string `json:"annotationsExpression,omitempty"`

	// NonSensitive lists the secret keys that labelsExpression and
	// annotationsExpression may use all the same, as <input>.<key>, for example
	// db.endpoint.
	// +optional
	NonSensitive []string `json:"nonSensitive,omitempty"`
}

// SecretData is one key of a Secret, or with valueMap several.
//
// +kubebuilder:validation:XValidation:rule="[has(self.value), has(self.valueMap)].exists_one(x, x)",message="exactly one of value and valueMap must be set"
// +kubebuilder:validation:XValidation:rule="!has(self.value) || has(self.key)",fieldPath=".key",message="must be set, for value is the value of one key"
// +kubebuilder:validation:XValidation:rule="!(has(self.valueMap) && has(self.key)) || has(self.value)",fieldPath=".key",message="must not be set beside valueMap, which gives its keys itself"
type SecretData struct {
	// Key in the object.
	// +optional
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self != '.' && !self.startsWith('..')",message="must not be . or begin with .."
	Key string `json:"key,omitempty"`

	// Value of the key: a string, or bytes.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Value string `json:"value,omitempty"`

	// ValueMap gives several keys and their values: a map(string, string).
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	ValueMap string `json:"valueMap,omitempty"`

	// Optional leaves a key out while its value is missing, null or empty,
	// instead of holding the object.
	// +optional
	Optional bool `json:"optional,omitempty"`
}

// ConfigMapData is one key of a ConfigMap, or with valueMap several.
type ConfigMapData struct {
	SecretData `json:",inline"`

	// NonSensitive lists the secret keys that this expression may use all the
	// same, as <input>.<key>, for example db.endpoint.
	// +optional
	NonSensitive []string `json:"nonSensitive,omitempty"`
}

// A StatusField is a status field of the composite to write.
type StatusField struct {
	// FieldPath below status, for example endpoint or network.addresses.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="!self.matches('^(conditions|crossplane)($|[.])')",message="Crossplane writes conditions and crossplane"
	FieldPath string `json:"fieldPath"`

	// Value of the field, of any type that JSON has.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Value string `json:"value"`

	// Optional leaves the field out while its value is missing, instead of
	// holding it as it was observed.
	// +optional
	Optional bool `json:"optional,omitempty"`

	// NonSensitive lists the secret keys that this expression may use all the
	// same, as <input>.<key>, for example db.endpoint.
	// +optional
	NonSensitive []string `json:"nonSensitive,omitempty"`
}
