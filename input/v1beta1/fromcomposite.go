package v1beta1

// FromComposite exports what the composite's own author asks for, in lists below
// a field of the composite: secretExpressions and configMapExpressions as in Azure
// Service Operator, dynamicSecrets and dynamicConfigMaps as in its design.
//
// Their expressions see the composite, as composite, resource and self, and what
// allow lists. Their objects lie in the composite's own namespace. Nothing in the
// composite is ever a fault of this input.
//
// +kubebuilder:validation:XValidation:rule="!has(self.from) || (has(self.allow) && has(self.allow.secrets) && self.from in self.allow.secrets)",message="from must be one of allow.secrets"
type FromComposite struct {
	// From names the composed resource whose connection details are `secret` in
	// these expressions. Defaults to the one that allow.secrets lists, if it lists
	// just one.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	From string `json:"from,omitempty"`

	// FieldPath of the composite's field below which the lists are, for example
	// spec.operatorSpec.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^spec($|[.])')",message="must be spec, or below it"
	FieldPath string `json:"fieldPath"`

	// Allow lists what these expressions see beside the composite. Defaults to
	// nothing.
	// +optional
	Allow FromCompositeAllow `json:"allow,omitempty"`
}

// FromCompositeAllow lists what the expressions of the composite's author see
// beside the composite.
type FromCompositeAllow struct {
	// Secrets are composed resources whose connection details they see, as
	// secrets.<name>.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +listType=set
	Secrets []string `json:"secrets,omitempty"`

	// Resources are composed resources that they see, as resources.<name>.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +listType=set
	Resources []string `json:"resources,omitempty"`

	// Environment lets them see the environment.
	// +optional
	Environment bool `json:"environment,omitempty"`
}
