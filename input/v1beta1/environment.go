package v1beta1

import "k8s.io/apimachinery/pkg/runtime"

// Environment finds EnvironmentConfigs and merges what they hold, for the
// expressions of this input and for later steps of the pipeline.
//
// All but set are the fields of function-environment-configs, so that its spec can
// stand here as it is. In the result an EnvironmentConfig that is listed later
// wins over an earlier one, all of them over the environment of earlier steps, and
// that over defaultData: objects are merged, anything else is replaced.
type Environment struct {
	// DefaultData is what the environment holds unless somebody else says
	// otherwise.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	DefaultData *runtime.RawExtension `json:"defaultData,omitempty"`

	// EnvironmentConfigs to find and merge, in this order.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	EnvironmentConfigs []EnvironmentSource `json:"environmentConfigs,omitempty"`

	// Policy of all references in environmentConfigs.
	// +optional
	Policy *EnvironmentPolicy `json:"policy,omitempty"`

	// Set writes values into the merged environment, one after the other: each sees
	// what those before it wrote.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	Set []EnvironmentField `json:"set,omitempty"`
}

// The resolutions of an EnvironmentPolicy, and the policies of an
// EnvironmentLabelMatcher.
const (
	Required = "Required"
	Optional = "Optional"
)

// An EnvironmentPolicy says what becomes of a reference to an EnvironmentConfig
// that is not there.
type EnvironmentPolicy struct {
	// Resolution Required refuses the input, Optional goes on without it. Defaults
	// to Required.
	// +optional
	// +kubebuilder:default=Required
	// +kubebuilder:validation:Enum=Required;Optional
	Resolution string `json:"resolution,omitempty"`
}

// The types of an EnvironmentSource.
const (
	EnvironmentSourceReference = "Reference"
	EnvironmentSourceSelector  = "Selector"
)

// An EnvironmentSource is an EnvironmentConfig, or with a selector several.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.type) && self.type == 'Selector') || has(self.selector)",fieldPath=".selector",message="must be set for type Selector"
// +kubebuilder:validation:XValidation:rule="(has(self.type) && self.type == 'Selector') || has(self.ref)",fieldPath=".ref",message="must be set for type Reference: name an EnvironmentConfig, or set type to Selector"
type EnvironmentSource struct {
	// Type says how to find it: Reference by its name, Selector by labels. What
	// stands beside for the other type is not looked at. Defaults to Reference.
	// +optional
	// +kubebuilder:default=Reference
	// +kubebuilder:validation:Enum=Reference;Selector
	Type string `json:"type,omitempty"`

	// Ref names the EnvironmentConfig.
	// +optional
	Ref *EnvironmentRef `json:"ref,omitempty"`

	// Selector finds EnvironmentConfigs by their labels.
	// +optional
	Selector *EnvironmentSelector `json:"selector,omitempty"`

	// ToFieldPath is where in the environment the data goes. Defaults to its top.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ToFieldPath string `json:"toFieldPath,omitempty"`
}

// An EnvironmentRef names an EnvironmentConfig.
type EnvironmentRef struct {
	// Name of the EnvironmentConfig.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
}

// The modes of an EnvironmentSelector.
const (
	EnvironmentSelectorSingle   = "Single"
	EnvironmentSelectorMultiple = "Multiple"
)

// An EnvironmentSelector finds EnvironmentConfigs by their labels.
type EnvironmentSelector struct {
	// Mode Single wants just one EnvironmentConfig, Multiple merges all in the order
	// of sortByFieldPath. Defaults to Single.
	// +optional
	// +kubebuilder:default=Single
	// +kubebuilder:validation:Enum=Single;Multiple
	Mode string `json:"mode,omitempty"`

	// MaxMatch is how many are merged at most in mode Multiple: the first ones, as
	// sorted. All are unless it is set.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxMatch *uint64 `json:"maxMatch,omitempty"`

	// MinMatch is how many there must be in mode Multiple.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinMatch *uint64 `json:"minMatch,omitempty"`

	// SortByFieldPath is the field of an EnvironmentConfig that orders them: all
	// strings or all numbers. One that lacks it counts as empty, or as 0. Defaults to
	// metadata.name.
	// +optional
	// +kubebuilder:default=metadata.name
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	SortByFieldPath string `json:"sortByFieldPath,omitempty"`

	// MatchLabels that an EnvironmentConfig must have, all of them. Where none has a
	// value, for all are optional, none is looked for.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	MatchLabels []EnvironmentLabelMatcher `json:"matchLabels,omitempty"`
}

// The types of an EnvironmentLabelMatcher.
const (
	EnvironmentLabelValue           = "Value"
	EnvironmentLabelFromComposite   = "FromCompositeFieldPath"
	EnvironmentLabelFromEnvironment = "FromEnvironmentFieldPath"
)

// An EnvironmentLabelMatcher is a label, and where its value comes from.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.type) && self.type == 'Value') || has(self.value)",fieldPath=".value",message="must be set for type Value"
// +kubebuilder:validation:XValidation:rule="(has(self.type) && self.type == 'Value') || has(self.valueFromFieldPath)",fieldPath=".valueFromFieldPath",message="must be set for types FromCompositeFieldPath and FromEnvironmentFieldPath: name a field, or set type to Value"
type EnvironmentLabelMatcher struct {
	// Type says where the value comes from: from value, from a field of the
	// composite, or from a field of the environment as earlier steps left it. Defaults
	// to FromCompositeFieldPath.
	// +optional
	// +kubebuilder:default=FromCompositeFieldPath
	// +kubebuilder:validation:Enum=FromCompositeFieldPath;FromEnvironmentFieldPath;Value
	Type string `json:"type,omitempty"`

	// Key of the label.
	// +kubebuilder:validation:MinLength=1
	Key string `json:"key"`

	// ValueFromFieldPath is the field that holds the value, a string.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ValueFromFieldPath string `json:"valueFromFieldPath,omitempty"`

	// FromFieldPathPolicy Required refuses a composite, or environment, without the
	// field, Optional leaves the label out. Defaults to Required.
	// +optional
	// +kubebuilder:default=Required
	// +kubebuilder:validation:Enum=Required;Optional
	FromFieldPathPolicy string `json:"fromFieldPathPolicy,omitempty"`

	// Value of the label.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Value *string `json:"value,omitempty"`
}

// An EnvironmentField is a field of the environment to write.
type EnvironmentField struct {
	// FieldPath in the environment, for example widgets.count.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	FieldPath string `json:"fieldPath"`

	// Value of the field, of any type that JSON has. A field whose value is not there
	// yet, or null, is not in the environment; optional.none() leaves the field as it
	// is.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Value string `json:"value"`

	// Optional leaves the field as it is while its value is not there, too.
	// +optional
	Optional bool `json:"optional,omitempty"`

	// NonSensitive lists the secret keys that this expression may use all the
	// same, as <input>.<key>, for example db.endpoint.
	// +optional
	NonSensitive []string `json:"nonSensitive,omitempty"`
}
