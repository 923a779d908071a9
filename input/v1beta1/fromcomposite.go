package v1beta1

// FromComposite exports what the composite's own author asks for, in lists below
// a field of the composite: secretExpressions and configMapExpressions as in Azure
// Service Operator, dynamicSecrets and dynamicConfigMaps as in its design.
//
// Their expressions see the composite, as composite, resource and self, and what
// allow lists. Their objects lie in the composite's own namespace. Nothing in the
// composite is ever a fault of this input.
//
// +kubebuilder:validation:XValidation:rule="!has(self.from) || (has(self.allow) && has(self.allow.secrets) && self.from in self.allow.secrets)",fieldPath=".from",message="must be one of allow.secrets: add it there, or name one of them"
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
	// +kubebuilder:validation:XValidation:rule="self.matches('^spec($|[.])')",message="must be spec, or below it: nothing else is the composite's author's"
	FieldPath string `json:"fieldPath"`

	// Allow lists what these expressions see beside the composite, and which labels
	// and annotations their objects may have. Defaults to nothing but the labels app
	// and app.kubernetes.io/....
	// +optional
	Allow FromCompositeAllow `json:"allow,omitempty"`
}

// FromCompositeAllow lists what the expressions of the composite's author see
// beside the composite, and which labels and annotations their objects may have.
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

	// Labels are the labels that the objects may have. A name that ends with / allows
	// each label with that prefix, as example.org/ does for example.org/team. Any other
	// name allows this one label, as team does. The label app and those with the prefix
	// app.kubernetes.io/ are always allowed. List no label that another controller
	// obeys, unless the composite's author may tell that controller what to do.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=317
	// +kubebuilder:validation:items:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/([A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?)?|[A-Za-z0-9]([-_A-Za-z0-9]*[A-Za-z0-9])?)$`
	// +listType=set
	Labels []string `json:"labels,omitempty"`

	// Annotations are the annotations that the objects may have, in the same form as
	// labels. None are allowed that are not listed.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=317
	// +kubebuilder:validation:items:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/([A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?)?|[A-Za-z0-9]([-_A-Za-z0-9]*[A-Za-z0-9])?)$`
	// +listType=set
	Annotations []string `json:"annotations,omitempty"`
}
