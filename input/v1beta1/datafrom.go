package v1beta1

// A ConflictPolicy says what becomes of a key that two entries write.
// +kubebuilder:validation:Enum=Error;LastWins
type ConflictPolicy string

// The conflict policies.
const (
	// ConflictError refuses the object, and names both entries.
	ConflictError ConflictPolicy = "Error"

	// ConflictLastWins takes data before dataFrom, and later before earlier.
	ConflictLastWins ConflictPolicy = "LastWins"
)

// DataFrom gives all keys of an input, under other names if rewrite says so.
//
// +kubebuilder:validation:XValidation:rule="[has(self.extract), has(self.find), has(self.valueMap)].exists_one(x, x)",message="exactly one of extract, find and valueMap must be set"
type DataFrom struct {
	// Extract takes every key of one input.
	// +optional
	Extract *Extract `json:"extract,omitempty"`

	// Find takes the keys of all secret inputs that match.
	// +optional
	Find *Find `json:"find,omitempty"`

	// ValueMap gives the keys and their values: a map(string, string).
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	ValueMap string `json:"valueMap,omitempty"`

	// Rewrite gives the keys other names. Rules are applied in their order.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	Rewrite []Rewrite `json:"rewrite,omitempty"`

	// ConversionStrategy of what no key can have, after the last rule. Default
	// replaces it by _, Unicode by its code point, as in _U002f_. Defaults to
	// Default.
	// +optional
	// +kubebuilder:default=Default
	// +kubebuilder:validation:Enum=Default;Unicode;None
	ConversionStrategy string `json:"conversionStrategy,omitempty"`

	// DecodingStrategy of the values. Auto tries Base64, then Base64URL, and leaves
	// what is neither; it takes 1234 for Base64. Defaults to None.
	// +optional
	// +kubebuilder:default=None
	// +kubebuilder:validation:Enum=None;Base64;Base64URL;Auto
	DecodingStrategy string `json:"decodingStrategy,omitempty"`

	// Optional leaves the entry out while its input is missing, or has no key.
	// +optional
	Optional bool `json:"optional,omitempty"`
}

// Extract takes every key of one input.
type Extract struct {
	// Key names the input: a composed resource, for its connection details, a
	// source, for its data, composite, for the composite's connection details, or
	// environment, for the environment.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`

	// Property is a field path to a JSON value inside of the input, whose members
	// are taken instead, for example credentials.admin.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Property string `json:"property,omitempty"`
}

// Find takes the keys of all secret inputs, as <input>/<key>, that match all of
// its fields.
//
// +kubebuilder:validation:XValidation:rule="has(self.path) || has(self.name) || has(self.tags)",message="at least one of path, name and tags must be set"
type Find struct {
	// Path is how <input>/<key> begins.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Path string `json:"path,omitempty"`

	// Name of what follows the path.
	// +optional
	Name *FindName `json:"name,omitempty"`

	// Tags are labels that the resource of the input has, all of them.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	Tags map[string]string `json:"tags,omitempty"`
}

// FindName matches a name.
type FindName struct {
	// RegExp in RE2's syntax, that some part of the name matches.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	RegExp string `json:"regexp"`
}

// Rewrite is one rule.
//
// +kubebuilder:validation:XValidation:rule="[has(self.regexp), has(self.merge), has(self.transform)].exists_one(x, x)",message="exactly one of regexp, merge and transform must be set"
type Rewrite struct {
	// Regexp replaces each match in a key.
	// +optional
	RegExp *RewriteRegExp `json:"regexp,omitempty"`

	// Merge opens values up that are JSON objects, or makes one of all.
	// +optional
	Merge *RewriteMerge `json:"merge,omitempty"`

	// Transform makes the new key of the old one.
	// +optional
	Transform *RewriteTransform `json:"transform,omitempty"`
}

// RewriteRegExp replaces each match in a key.
//
// +kubebuilder:validation:XValidation:rule="has(self.target)",fieldPath=".target",message="must be set: an empty one removes what source matches"
type RewriteRegExp struct {
	// Source is what is looked for, in RE2's syntax.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Source string `json:"source"`

	// Target is what it is replaced by; the empty one removes it. $1 and ${name}
	// are groups of source.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Target *string `json:"target,omitempty"`
}

// RewriteMerge opens values up that are JSON objects, or makes one of all.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.strategy) && self.strategy == 'JSON') || has(self.into)",fieldPath=".into",message="must be set with strategy JSON"
// +kubebuilder:validation:XValidation:rule="(has(self.strategy) && self.strategy == 'JSON') || !has(self.into)",fieldPath=".into",message="must not be set with strategy Extract: leave it out, or set strategy to JSON"
type RewriteMerge struct {
	// Strategy is Extract, whose keys are the members of the values, or JSON, which
	// adds one key that has them all. Defaults to Extract.
	// +optional
	// +kubebuilder:default=Extract
	// +kubebuilder:validation:Enum=Extract;JSON
	Strategy string `json:"strategy,omitempty"`

	// Into is the key that strategy JSON adds.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Into string `json:"into,omitempty"`

	// Priority lists keys that are merged after all others, in this order.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	Priority []string `json:"priority,omitempty"`

	// PriorityPolicy is Strict, for which each key of priority has to be there, or
	// IgnoreNotFound. Defaults to Strict.
	// +optional
	// +kubebuilder:default=Strict
	// +kubebuilder:validation:Enum=Strict;IgnoreNotFound
	PriorityPolicy string `json:"priorityPolicy,omitempty"`

	// ConflictPolicy is Error, which refuses a member that two values have, or
	// Ignore, which takes the one that was merged last. Defaults to Error.
	// +optional
	// +kubebuilder:default=Error
	// +kubebuilder:validation:Enum=Error;Ignore
	ConflictPolicy string `json:"conflictPolicy,omitempty"`
}

// RewriteTransform makes the new key of the old one.
//
// +kubebuilder:validation:XValidation:rule="[has(self.template), has(self.keyExpression)].exists_one(x, x)",message="exactly one of template and keyExpression must be set"
type RewriteTransform struct {
	// Template is a Go template over .value, the key.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Template string `json:"template,omitempty"`

	// KeyExpression is CEL over key. It sees nothing else.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	KeyExpression string `json:"keyExpression,omitempty"`
}
