package v1beta1

// An Environment finds EnvironmentConfigs, merges them, and writes fields into the result.
type Environment struct {
	// Values that nothing else sets.
	// +kubebuilder:pruning:PreserveUnknownFields
	DefaultData *JSON `json:"defaultData,omitempty"`

	// EnvironmentConfigs to find and to merge, in this order.
	// +kubebuilder:validation:MaxItems=64
	EnvironmentConfigs []EnvironmentSource `json:"environmentConfigs,omitempty"`

	// The policy for all references.
	Policy *EnvironmentPolicy `json:"policy,omitempty"`

	// Writes fields into the merged environment, in this order.
	// +kubebuilder:validation:MaxItems=64
	Set []EnvironmentField `json:"set,omitempty"`
}

// The values of fields that are not the default, and all types of an EnvironmentLabelMatcher.
const (
	Optional = "Optional" // of a resolution, or of the policy of a label

	EnvironmentSourceSelector   = "Selector"
	EnvironmentSelectorMultiple = "Multiple"

	EnvironmentLabelValue           = "Value"
	EnvironmentLabelFromComposite   = "FromCompositeFieldPath"
	EnvironmentLabelFromEnvironment = "FromEnvironmentFieldPath"
)

// An EnvironmentPolicy says what happens if an EnvironmentConfig that is referenced does not exist.
type EnvironmentPolicy struct {
	// If an EnvironmentConfig does not exist, `Required` refuses the input, and `Optional` continues. If it is not set,
	// it is `Required`.
	// +kubebuilder:default=Required
	// +kubebuilder:validation:Enum=Required;Optional
	Resolution string `json:"resolution,omitempty"`
}

// An EnvironmentSource is one EnvironmentConfig. With a selector it can be several.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.type) && self.type == 'Selector') || has(self.selector)",fieldPath=".selector",message="must be set for type Selector"
// +kubebuilder:validation:XValidation:rule="(has(self.type) && self.type == 'Selector') || has(self.ref)",fieldPath=".ref",message="must be set for type Reference: name an EnvironmentConfig, or set type to Selector"
type EnvironmentSource struct {
	// `Reference` uses `ref`, and `Selector` uses `selector`. If it is not set, it is `Reference`.
	// +kubebuilder:default=Reference
	// +kubebuilder:validation:Enum=Reference;Selector
	Type string `json:"type,omitempty"`

	// Names the EnvironmentConfig. Type `Reference` requires it.
	Ref *EnvironmentRef `json:"ref,omitempty"`

	// Finds EnvironmentConfigs by their labels. Type `Selector` requires it.
	Selector *EnvironmentSelector `json:"selector,omitempty"`

	// The field of the environment below which the data is merged. If it is not set, it is the top.
	ToFieldPath FieldPath `json:"toFieldPath,omitempty"`
}

// An EnvironmentRef names an EnvironmentConfig.
type EnvironmentRef struct {
	// The name of the EnvironmentConfig.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
}

// An EnvironmentSelector finds EnvironmentConfigs by their labels.
type EnvironmentSelector struct {
	// `Single` requires exactly one EnvironmentConfig. `Multiple` merges all that match. If it is not set, it is
	// `Single`.
	// +kubebuilder:default=Single
	// +kubebuilder:validation:Enum=Single;Multiple
	Mode string `json:"mode,omitempty"`

	// In mode `Multiple`, the largest number to merge: the first ones in order.
	// +kubebuilder:validation:Minimum=0
	MaxMatch *uint64 `json:"maxMatch,omitempty"`

	// In mode `Multiple`, the smallest number that must match.
	// +kubebuilder:validation:Minimum=0
	MinMatch *uint64 `json:"minMatch,omitempty"`

	// In mode `Multiple`, the field to sort by: all strings, or all numbers. If it is not set, it is `metadata.name`.
	// +kubebuilder:default=metadata.name
	SortByFieldPath FieldPath `json:"sortByFieldPath,omitempty"`

	// Labels that must all match. If all are optional and have no value, nothing is requested.
	// +kubebuilder:validation:MaxItems=64
	MatchLabels []EnvironmentLabelMatcher `json:"matchLabels,omitempty"`
}

// An EnvironmentLabelMatcher is a label and the place where its value comes from.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.type) && self.type == 'Value') || has(self.value)",fieldPath=".value",message="must be set for type Value"
// +kubebuilder:validation:XValidation:rule="(has(self.type) && self.type == 'Value') || has(self.valueFromFieldPath)",fieldPath=".valueFromFieldPath",message="must be set for types FromCompositeFieldPath and FromEnvironmentFieldPath: name a field, or set type to Value"
type EnvironmentLabelMatcher struct {
	// Where the value comes from: `value`, a field of the composite, or a field of the environment of earlier steps. If
	// it is not set, it is `FromCompositeFieldPath`.
	// +kubebuilder:default=FromCompositeFieldPath
	// +kubebuilder:validation:Enum=FromCompositeFieldPath;FromEnvironmentFieldPath;Value
	Type string `json:"type,omitempty"`

	// The key of the label.
	// +kubebuilder:validation:MinLength=1
	Key string `json:"key"`

	// The path of the field with the value, for example `spec.stage`.
	ValueFromFieldPath FieldPath `json:"valueFromFieldPath,omitempty"`

	// If the field does not exist, `Required` refuses the input, and `Optional` leaves the label out. If it is not set,
	// it is `Required`.
	// +kubebuilder:default=Required
	// +kubebuilder:validation:Enum=Required;Optional
	FromFieldPathPolicy string `json:"fromFieldPathPolicy,omitempty"`

	// The value for type `Value`.
	// +kubebuilder:validation:MaxLength=63
	Value *string `json:"value,omitempty"`
}

// An EnvironmentField is a field of the environment to write.
type EnvironmentField struct {
	// The path of the field in the environment, for example `widgets.count`.
	FieldPath FieldPath `json:"fieldPath"`

	// Returns the value. If it waits or returns null, the field is left out. With `optional.none()`, it keeps its
	// earlier value.
	Value Expression `json:"value"`

	// If true, the field keeps its earlier value while the expression waits.
	Optional bool `json:"optional,omitempty"`

	// Secret keys that may be used here, because they are not secret. For example, `db.endpoint`.
	NonSensitive []string `json:"nonSensitive,omitempty"`
}
