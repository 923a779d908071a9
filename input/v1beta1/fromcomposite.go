package v1beta1

// A FromComposite says which exports the author of the composite may request, and where.
//
// +kubebuilder:validation:XValidation:rule="!has(self.from) || (has(self.allow) && has(self.allow.secrets) && self.from in self.allow.secrets)",fieldPath=".from",message="must be one of allow.secrets: add it there, or use a name that is listed there"
type FromComposite struct {
	// The composed resource that `secret` stands for. The default is the only name in `allow.secrets`.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	From string `json:"from,omitempty"`

	// The path of the composite's field that has the lists, for example `spec.operatorSpec`.
	// +kubebuilder:validation:XValidation:rule="self.matches('^spec($|[.])')",message="must be spec, or a field below spec: composite authors write only these fields"
	FieldPath FieldPath `json:"fieldPath"`

	// The inputs that these expressions may use besides the composite, and the labels and annotations of their objects.
	Allow FromCompositeAllow `json:"allow,omitempty"`
}

// A FromCompositeAllow lists the inputs that the expressions of the composite's author may use besides the
// composite, and the labels and annotations that their objects may have.
type FromCompositeAllow struct {
	// Composed resources whose connection details the expressions see, as `secrets.<name>`.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +listType=set
	Secrets []string `json:"secrets,omitempty"`

	// Composed resources that the expressions see, as `resources.<name>`.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +listType=set
	Resources []string `json:"resources,omitempty"`

	// If true, the expressions see the environment.
	Environment bool `json:"environment,omitempty"`

	// Labels that the objects may have. `example.org/` allows each label with that prefix. `app` and
	// `app.kubernetes.io/` are always allowed. List a label that a controller obeys only if authors may control it.
	Labels AllowedKeys `json:"labels,omitempty"`

	// Annotations that the objects may have, in the same form.
	Annotations AllowedKeys `json:"annotations,omitempty"`
}

// AllowedKeys are keys, and prefixes of keys that end with a slash.
//
// +kubebuilder:validation:MaxItems=64
// +kubebuilder:validation:items:MinLength=1
// +kubebuilder:validation:items:MaxLength=317
// +kubebuilder:validation:items:Pattern=`^[-._a-zA-Z0-9]+/?[-._a-zA-Z0-9]*$`
// +listType=set
type AllowedKeys []string
