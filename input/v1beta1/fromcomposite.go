package v1beta1

// A FromComposite says which exports the author of the composite may request, and where.
//
// +kubebuilder:validation:XValidation:rule="!has(self.from) || (has(self.allow) && has(self.allow.secrets) && self.from in self.allow.secrets)",fieldPath=".from",message="must be one of allow.secrets: add it there, or use a name that is listed there"
type FromComposite struct {
	// The name of the composed resource whose connection details `secret` stands for in these expressions. If it
	// is not set and `allow.secrets` lists exactly one name, it is that one.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	From string `json:"from,omitempty"`

	// The path of the composite's field that has the lists, for example `spec.operatorSpec`.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^spec($|[.])')",message="must be spec, or a field below spec: composite authors write only these fields"
	FieldPath string `json:"fieldPath"`

	// The inputs that these expressions may use besides the composite, and the labels and annotations that their
	// objects may have. If it is not set, they see only the composite, and their objects may have the labels
	// `app` and `app.kubernetes.io/...`.
	// +optional
	Allow FromCompositeAllow `json:"allow,omitempty"`
}

// A FromCompositeAllow lists the inputs that the expressions of the composite's author may use besides the
// composite, and the labels and annotations that their objects may have.
type FromCompositeAllow struct {
	// Names of composed resources whose connection details the expressions see, as `secrets.<name>`. If it is
	// not set, they see no connection details.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +listType=set
	Secrets []string `json:"secrets,omitempty"`

	// Names of composed resources that the expressions see, as `resources.<name>`. If it is not set, they see
	// none.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +listType=set
	Resources []string `json:"resources,omitempty"`

	// If true, the expressions see the environment. If it is not set, they do not.
	// +optional
	Environment bool `json:"environment,omitempty"`

	// The labels that the objects may have. A name that ends with `/` allows every label with that prefix:
	// `example.org/` allows `example.org/team`. Any other name allows exactly this label, for example `team`.
	// The label `app` and labels with the prefix `app.kubernetes.io/` are always allowed. If a label controls
	// another controller, list it only if composite authors may control that controller.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=317
	// +kubebuilder:validation:items:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/([A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?)?|[A-Za-z0-9]([-_A-Za-z0-9]*[A-Za-z0-9])?)$`
	// +listType=set
	Labels []string `json:"labels,omitempty"`

	// The annotations that the objects may have, in the same form as `labels`. If it is not set, no annotations
	// are allowed.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=317
	// +kubebuilder:validation:items:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/([A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?)?|[A-Za-z0-9]([-_A-Za-z0-9]*[A-Za-z0-9])?)$`
	// +listType=set
	Annotations []string `json:"annotations,omitempty"`
}
