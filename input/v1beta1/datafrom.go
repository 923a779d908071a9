package v1beta1

// A DataFrom adds all keys of an input, under other names if `rewrite` is set.
//
// +kubebuilder:validation:ExactlyOneOf=extract;find;valueMap
type DataFrom struct {
	// Adds all keys of one input.
	Extract *Extract `json:"extract,omitempty"`

	// Adds the keys of all secret inputs that match, as `<input>/<key>`.
	Find *Find `json:"find,omitempty"`

	// Returns keys with their values. For example, `{'region': environment.region}`.
	ValueMap Expression `json:"valueMap,omitempty"`

	// Rules that change the names of the keys, in order.
	// +kubebuilder:validation:MaxItems=32
	Rewrite []Rewrite `json:"rewrite,omitempty"`

	// Converts characters that a key cannot have. `Default` writes `_`, and refuses letters and digits outside of
	// ASCII. `Unicode` writes the code point, such as `_U002f_`. `None` refuses such a key. If it is not set, it is
	// `Default`.
	// +kubebuilder:default=Default
	// +kubebuilder:validation:Enum=Default;Unicode;None
	ConversionStrategy string `json:"conversionStrategy,omitempty"`

	// How values are decoded. `Base64` and `Base64URL` refuse other values. `Auto` tries both, and keeps the rest. It
	// also decodes text such as `1234`. If it is not set, it is `None`.
	// +kubebuilder:default=None
	// +kubebuilder:validation:Enum=None;Base64;Base64URL;Auto
	DecodingStrategy string `json:"decodingStrategy,omitempty"`

	// If true, the entry is left out while its input is missing or has no keys. It still waits for a composed resource
	// that is not ready or has no connection details yet.
	Optional bool `json:"optional,omitempty"`
}

// Extract adds all keys of one input.
type Extract struct {
	// The input: a composed resource, a source, `composite`, `environment`, `generated.<name>` or `previous.<name>`.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`

	// The field path of a JSON object in the input, whose members are the keys. For example, `credentials.admin`.
	// `environment` requires it.
	Property FieldPath `json:"property,omitempty"`
}

// Find adds the keys of all secret inputs that match all of its fields. Each key is added as `<input>/<key>`.
//
// +kubebuilder:validation:AtLeastOneOf=path;name;tags
type Find struct {
	// The text with which `<input>/<key>` must begin, such as `cache/`.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Path string `json:"path,omitempty"`

	// Matches the part after the path.
	Name *FindName `json:"name,omitempty"`

	// Labels that the composed resource or the source must have.
	// +kubebuilder:validation:MinProperties=1
	Tags map[string]string `json:"tags,omitempty"`
}

// A FindName matches a name.
type FindName struct {
	// A regular expression in RE2 syntax that matches any part, for example `host|port`.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	RegExp string `json:"regexp"`
}

// A Rewrite is one rule that changes the names of keys.
//
// +kubebuilder:validation:ExactlyOneOf=regexp;merge;transform
type Rewrite struct {
	// Replaces each match in a key.
	RegExp *RewriteRegExp `json:"regexp,omitempty"`

	// Replaces values that are JSON objects with their members, or merges all values into one JSON object.
	Merge *RewriteMerge `json:"merge,omitempty"`

	// Computes the new key from the old one.
	Transform *RewriteTransform `json:"transform,omitempty"`
}

// A RewriteRegExp replaces each match in a key.
//
// +kubebuilder:validation:XValidation:rule="has(self.target)",fieldPath=".target",message="must be set: an empty string removes each match of source"
type RewriteRegExp struct {
	// The regular expression in RE2 syntax. For example, `^db-(.*)$`.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Source string `json:"source"`

	// The replacement, with groups such as `$1` and `${name}`. It may be empty. For example, `DB_${1}`.
	// +kubebuilder:validation:MaxLength=512
	Target *string `json:"target,omitempty"`
}

// A RewriteMerge replaces values that are JSON objects with their members, or merges all values into one JSON
// object.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.strategy) && self.strategy == 'JSON') || has(self.into)",fieldPath=".into",message="must be set with strategy JSON, which writes the merged object there"
// +kubebuilder:validation:XValidation:rule="(has(self.strategy) && self.strategy == 'JSON') || !has(self.into)",fieldPath=".into",message="must not be set with strategy Extract: leave it out, or set strategy to JSON"
type RewriteMerge struct {
	// `Extract` replaces each JSON object with its members. `JSON` adds the key `into` with the members of all values.
	// If it is not set, it is `Extract`.
	// +kubebuilder:default=Extract
	// +kubebuilder:validation:Enum=Extract;JSON
	Strategy string `json:"strategy,omitempty"`

	// The key that strategy `JSON` adds.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Into string `json:"into,omitempty"`

	// Keys that are merged after all others, in this order. Other keys are merged in alphabetical order.
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	Priority []string `json:"priority,omitempty"`

	// If a key of `priority` is missing, `Strict` waits for it, and `IgnoreNotFound` continues. If it is not set, it is
	// `Strict`.
	// +kubebuilder:default=Strict
	// +kubebuilder:validation:Enum=Strict;IgnoreNotFound
	PriorityPolicy string `json:"priorityPolicy,omitempty"`

	// If two values have the same member, `Error` is an error, and with `Ignore` the last one wins. If it is not set,
	// it is `Error`.
	// +kubebuilder:default=Error
	// +kubebuilder:validation:Enum=Error;Ignore
	ConflictPolicy string `json:"conflictPolicy,omitempty"`
}

// A RewriteTransform computes the new key from the old one.
//
// +kubebuilder:validation:ExactlyOneOf=template;keyExpression
type RewriteTransform struct {
	// A Go template. `.value` is the old key. For example, `{{ .value | upper }}`.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Template string `json:"template,omitempty"`

	// Returns the new key. It sees only `key`, the old one. For example, `key.upperAscii()`.
	KeyExpression Expression `json:"keyExpression,omitempty"`
}
