package v1beta1

// A RefreshPolicy says when a generator creates a new generation.
//
// +kubebuilder:validation:Enum=CreatedOnce;Periodic;OnChange
type RefreshPolicy string

// The refresh policies. Each one creates a first generation, and a new one when the
// composite's annotation export.fn.crossplane.io/rotate requests it.
const (
	// CreatedOnce creates no further generation by itself.
	CreatedOnce RefreshPolicy = "CreatedOnce"

	// Periodic creates a new generation when refreshInterval has passed since the last one.
	Periodic RefreshPolicy = "Periodic"

	// OnChange creates a new generation when the generator in the input, or the value of
	// keepersExpression, changes.
	OnChange RefreshPolicy = "OnChange"
)

// A Generator creates credentials and keeps them. Each generation of the credentials is a separate composed
// resource. Expressions read the generation in use as `generated.<name>`, and the generation before it, until
// its grace period ends, as `previous.<name>`.
//
// +kubebuilder:validation:ExactlyOneOf=password;uuid;sshKey;certificate;bcrypt;htpasswd;pkcs12;jks;resource
// +kubebuilder:validation:XValidation:rule="!(has(self.refreshPolicy) && self.refreshPolicy == 'Periodic') || has(self.refreshInterval) || has(self.refreshIntervalExpression)",fieldPath=".refreshInterval",message="must be set with refreshPolicy Periodic, for example 720h"
// +kubebuilder:validation:XValidation:rule="(has(self.refreshPolicy) && self.refreshPolicy == 'Periodic') || !(has(self.refreshInterval) || has(self.refreshIntervalExpression) || has(self.rotationWindow))",fieldPath=".refreshPolicy",message="must be Periodic with refreshInterval, refreshIntervalExpression or rotationWindow"
// +kubebuilder:validation:XValidation:rule="(has(self.refreshPolicy) && self.refreshPolicy != 'CreatedOnce') || !(has(self.keepersExpression) || has(self.certificate) && (has(self.certificate.renewBefore) || has(self.certificate.renewBeforeExpression)))",fieldPath=".refreshPolicy",message="must be OnChange or Periodic with keepersExpression, renewBefore or renewBeforeExpression"
// +kubebuilder:validation:XValidation:rule="!(has(self.resource) && (has(self.__namespace__) || has(self.labels) || has(self.labelsExpression)))",fieldPath=".resource",message="must not be set with namespace or labels of the generator: write them into its manifest"
// +kubebuilder:validation:XValidation:rule="!(has(self.gracePeriod) && has(self.refreshInterval)) || duration(self.gracePeriod).getSeconds() <= 15 * duration(self.refreshInterval).getSeconds()",fieldPath=".gracePeriod",message="must be at most 15 times refreshInterval, because at most 16 generations are kept at once"
// +kubebuilder:validation:XValidation:rule="has(self.forEachExpression) == has(self.keyExpression)",message="forEachExpression and keyExpression must be set together: the key identifies an item"
// +kubebuilder:validation:XValidation:rule="!(has(self.resource) && has(self.resource.manifest) && has(self.resource.manifest.apiVersion) && has(self.resource.manifest.kind) && self.resource.manifest.apiVersion == 'v1' && self.resource.manifest.kind in ['Secret', 'ConfigMap']) || has(self.readyExpression)",fieldPath=".readyExpression",message="must be set, because a Secret or ConfigMap has no condition Ready: write for example has(secret.token) for a Secret, or has(resource.data.token) for a ConfigMap"
// +kubebuilder:validation:XValidation:rule="!(has(self.abandonAfter) || has(self.abandonAfterExpression)) || has(self.readyExpression) || has(self.resource)",fieldPath=".abandonAfter",message="has no effect without readyExpression, because each generation is in use as soon as it is stored: set readyExpression, or leave it out"
// +kubebuilder:validation:XValidation:rule="!(has(self.abandonAfter) || has(self.abandonAfterExpression)) || !(has(self.bcrypt) || has(self.htpasswd) || has(self.pkcs12) || has(self.jks))",fieldPath=".abandonAfter",message="must not be set with secretExpression: the generation before belongs to another source, so it cannot be used again: leave it out"
// +kubebuilder:validation:AtMostOneOf=labels;labelsExpression
// +kubebuilder:validation:AtMostOneOf=refreshInterval;refreshIntervalExpression
// +kubebuilder:validation:AtMostOneOf=gracePeriod;gracePeriodExpression
// +kubebuilder:validation:AtMostOneOf=abandonAfter;abandonAfterExpression
type Generator struct {
	// The name of the generator in expressions. It is also part of the names of its generations.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:example="admin-password"
	Name string `json:"name"`

	// Returns a list. Each item has its credential, `generated.<name>[key]`. All other expressions see `item`, `index`
	// and `key`. While the list is missing, nothing changes. For example,
	// `composite.spec.users`.
	ForEachExpression Expression `json:"forEachExpression,omitempty"`

	// Returns the key of an item: lower-case letters, digits and '-', at most 63. For example, `item.name`.
	KeyExpression Expression `json:"keyExpression,omitempty"`

	// Creates a password. The output is `password`, unless `secretKeys` is set.
	//
	// It has exactly the requested numbers of digits and symbols. The rest are letters, with at least one of each case.
	// The fields are those of External Secrets, plus `prefix` and `suffix`.
	Password *PasswordGenerator `json:"password,omitempty"`

	// Creates a random UUID of version 4. The output is `uuid`. For example, `uuid: {}`.
	UUID *UUIDGenerator `json:"uuid,omitempty"`

	// Creates an SSH key pair. The outputs are `privateKey` and `publicKey`.
	SSHKey *SSHKeyGenerator `json:"sshKey,omitempty"`

	// Creates a certificate and its key. The outputs are `tls.crt`, `tls.key` and `ca.crt`.
	Certificate *CertificateGenerator `json:"certificate,omitempty"`

	// Hashes a password with bcrypt. The output is `hash`.
	Bcrypt *BcryptGenerator `json:"bcrypt,omitempty"`

	// Writes a file of users and bcrypt hashes. The output is `auth`.
	Htpasswd *HtpasswdGenerator `json:"htpasswd,omitempty"`

	// Puts a certificate and its key into a PKCS #12 keystore. The outputs are `keystore.p12`, `password` and, with
	// `truststore`, `truststore.p12`.
	PKCS12 *PKCS12Generator `json:"pkcs12,omitempty"`

	// Puts a certificate and its key into a JKS keystore. The outputs are `keystore.jks`, `password` and, with
	// `truststore`, `truststore.jks`. Java 8u301 and later also reads PKCS #12, which protects the key better.
	JKS *JKSGenerator `json:"jks,omitempty"`

	// Composes a resource that creates the credential. The outputs are its connection details and `outputs`.
	Resource *ResourceGenerator `json:"resource,omitempty"`

	// The namespace of the generations. If it is not set, it is the namespace of the composite or its claim. A
	// `resource` has it in its manifest.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace,omitempty"`

	// The labels of the generations. A `resource` has them in its manifest.
	Labels map[string]string `json:"labels,omitempty"`

	// Returns `labels`. For example, `{'team': composite.spec.team}`.
	LabelsExpression Expression `json:"labelsExpression,omitempty"`

	// When a new generation is created. `CreatedOnce` creates one only. `Periodic` creates one after `refreshInterval`,
	// and `OnChange` when the generator changes. Both also do so when `keepersExpression` changes. If it is not set, it
	// is `CreatedOnce`.
	// +kubebuilder:default=CreatedOnce
	RefreshPolicy RefreshPolicy `json:"refreshPolicy,omitempty"`

	// With policy `Periodic`, the time between two generations. For example, `720h`.
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('876000h')",message="must be from 1m to 876000h (100 years); to create the value once, leave refreshPolicy and refreshInterval out"
	RefreshInterval *Duration `json:"refreshInterval,omitempty"`

	// Returns `refreshInterval`. For example, `composite.spec.rotation.every`.
	RefreshIntervalExpression Expression `json:"refreshIntervalExpression,omitempty"`

	// How long a generation is kept after the next one replaces it. If it is not set, it is `0s`. For example, `24h`.
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('876000h')",message="must be from 0s to 876000h (100 years)"
	GracePeriod *Duration `json:"gracePeriod,omitempty"`

	// Returns `gracePeriod`. For example, `composite.spec.rotation.grace`.
	GracePeriodExpression Expression `json:"gracePeriodExpression,omitempty"`

	// Returns any value. When it changes, a new generation is created. It may use no secret. For example,
	// `composite.spec.passwordVersion`.
	KeepersExpression Expression `json:"keepersExpression,omitempty"`

	// Returns whether the pending generation
	// [works](../example/rotation/README.md#verify-a-new-value-before-it-is-used). Until then, `generated.<name>` stays
	// the current one. The default is true for a stored value, and `Ready` for a `resource`. For example,
	// `secrets.db.password == candidate.admin.password`.
	ReadyExpression Expression `json:"readyExpression,omitempty"`

	// How long a pending generation may take to work, after all its setters have it. Then the former value is set
	// again, and the rotation starts again 1 to 24 hours later. For example, `15m`.
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('876000h')",message="must be from 1m to 876000h (100 years)"
	AbandonAfter *Duration `json:"abandonAfter,omitempty"`

	// Returns `abandonAfter`. For example, `composite.spec.rotation.abandonAfter`.
	AbandonAfterExpression Expression `json:"abandonAfterExpression,omitempty"`

	// With policy `Periodic`, when a rotation may start. Other causes of a rotation, and a certificate that would
	// expire, do not wait for it.
	RotationWindow *RotationWindow `json:"rotationWindow,omitempty"`
}

// A RotationWindow says when rotations may start.
//
// +kubebuilder:validation:ExactlyOneOf=schedule;scheduleExpression
type RotationWindow struct {
	// When a window opens, in the format of cron. For example, `0 2 * * 6` is each Saturday at 2:00.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Schedule string `json:"schedule,omitempty"`

	// Returns `schedule`. For example, `composite.spec.maintenance.schedule`.
	ScheduleExpression Expression `json:"scheduleExpression,omitempty"`

	// How long a window stays open. For example, `2h`.
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('168h')",message="must be from 1m to 168h (one week)"
	Duration Duration `json:"duration"`

	// The IANA time zone of the schedule, such as `Europe/Berlin`. If it is not set, it is `UTC`.
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
}

// A PasswordGenerator creates a password.
//
// +kubebuilder:validation:AtMostOneOf=prefix;prefixExpression
// +kubebuilder:validation:AtMostOneOf=suffix;suffixExpression
type PasswordGenerator struct {
	// The length of the password without prefix and suffix. If it is not set, it is 24.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	Length *uint64 `json:"length,omitempty"`

	// Returns `length`, in place of the literal. For example, `composite.spec.passwordLength`.
	LengthExpression Expression `json:"lengthExpression,omitempty"`

	// The number of digits. If it is not set, it is a quarter of the length.
	// +kubebuilder:validation:Minimum=0
	Digits *uint64 `json:"digits,omitempty"`

	// The number of symbols. If it is not set, it is a quarter of the length.
	// +kubebuilder:validation:Minimum=0
	Symbols *uint64 `json:"symbols,omitempty"`

	// The symbols that the password may have. If it is not set, they are ``~!@#$%^&*()_+`-={}|[]\:"<>?,./``.
	// +kubebuilder:validation:MaxLength=256
	SymbolCharacters *string `json:"symbolCharacters,omitempty"`

	// If true, the password has no upper-case letters.
	NoUpper bool `json:"noUpper,omitempty"`

	// If true, a character may occur more than once. Symbols may always repeat if there are too few.
	AllowRepeat *bool `json:"allowRepeat,omitempty"`

	// A text before the password. It is encoded together with the password.
	// +kubebuilder:validation:MaxLength=256
	Prefix *string `json:"prefix,omitempty"`

	// Returns `prefix`. For example, `composite.spec.team + '-'`.
	PrefixExpression Expression `json:"prefixExpression,omitempty"`

	// A text after the password. It is encoded together with the password.
	// +kubebuilder:validation:MaxLength=256
	Suffix *string `json:"suffix,omitempty"`

	// Returns `suffix`. For example, `'-' + composite.spec.team`.
	SuffixExpression Expression `json:"suffixExpression,omitempty"`

	// The encoding of the password. If it is not set, it is `raw`, which is no encoding.
	// +kubebuilder:default=raw
	// +kubebuilder:validation:Enum=raw;base64;base64url;base32;hex
	Encoding string `json:"encoding,omitempty"`

	// The names of the outputs, each a separate password. If it is not set, it is `password`.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[-._a-zA-Z0-9]+$`
	// +kubebuilder:validation:items:XValidation:rule="self != '.' && !self.startsWith('..')",message="must not be '.' or begin with '..'"
	SecretKeys []string `json:"secretKeys,omitempty"`
}

// A UUIDGenerator creates a random UUID of version 4. The output is `uuid`.
type UUIDGenerator struct{}

// An SSHKeyGenerator creates an SSH key pair. The outputs are `privateKey` and `publicKey`.
//
// +kubebuilder:validation:XValidation:rule="(has(self.type) && self.type != 'ed25519') || !has(self.bits)",fieldPath=".bits",message="must not be set for type ed25519, which has one size: leave it out, or set type to rsa or ecdsa"
// +kubebuilder:validation:XValidation:rule="!(has(self.format) && self.format == 'PKCS1') || (has(self.type) && self.type == 'rsa')",fieldPath=".format",message="must not be PKCS1 for this type, because only RSA keys have that format: set type to rsa, or format to PKCS8"
// +kubebuilder:validation:AtMostOneOf=comment;commentExpression
type SSHKeyGenerator struct {
	// The type of the key. If it is not set, it is `ed25519`.
	// +kubebuilder:default=ed25519
	// +kubebuilder:validation:Enum=ed25519;rsa;ecdsa
	Type string `json:"type,omitempty"`

	// The size of the key. If it is not set, it is 3072 for `rsa`, and 256 for `ecdsa`.
	// +kubebuilder:validation:Enum=256;384;521;2048;3072;4096
	Bits *uint64 `json:"bits,omitempty"`

	// The comment of the public key. If it is not set, the key has no comment.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Comment string `json:"comment,omitempty"`

	// Returns `comment`. For example, `composite.metadata.name + '@example.org'`.
	CommentExpression Expression `json:"commentExpression,omitempty"`

	// The format of the private key. `PKCS1` is only for `rsa`. Only `OpenSSH` has a comment. If it is not set, it is
	// `OpenSSH`.
	// +kubebuilder:default=OpenSSH
	// +kubebuilder:validation:Enum=OpenSSH;PKCS1;PKCS8
	Format string `json:"format,omitempty"`
}

// A CertificateGenerator creates a certificate. The outputs are `tls.crt`, `tls.key` and `ca.crt`.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.isCA) && self.isCA && has(self.ca))",message="a CA signs itself: leave ca out"
// +kubebuilder:validation:AtLeastOneOf=ca;subject
// +kubebuilder:validation:XValidation:rule="!(has(self.isCA) && self.isCA && [has(self.dnsNames) && size(self.dnsNames) > 0, has(self.ipAddresses) && size(self.ipAddresses) > 0, has(self.uris) && size(self.uris) > 0, has(self.emailAddresses) && size(self.emailAddresses) > 0, has(self.dnsNamesExpression), has(self.ipAddressesExpression), has(self.urisExpression), has(self.emailAddressesExpression)].exists(x, x))",message="a CA must not have dnsNames, ipAddresses, uris or emailAddresses: leave them out"
// +kubebuilder:validation:XValidation:rule="!(has(self.keyFormat) && self.keyFormat == 'PKCS1') || (has(self.keyType) && self.keyType == 'rsa')",fieldPath=".keyFormat",message="must not be PKCS1 for this keyType, because only RSA keys have that format: set keyType to rsa, or leave keyFormat out"
// +kubebuilder:validation:AtMostOneOf=dnsNames;dnsNamesExpression
// +kubebuilder:validation:AtMostOneOf=ipAddresses;ipAddressesExpression
// +kubebuilder:validation:AtMostOneOf=uris;urisExpression
// +kubebuilder:validation:AtMostOneOf=emailAddresses;emailAddressesExpression
// +kubebuilder:validation:AtMostOneOf=duration;durationExpression
// +kubebuilder:validation:AtMostOneOf=renewBefore;renewBeforeExpression
type CertificateGenerator struct {
	// If true, it is a CA, which can sign certificates of other generators.
	IsCA bool `json:"isCA,omitempty"`

	// The generator whose CA signs this certificate. If it is not set, it is self-signed.
	// +kubebuilder:validation:MinLength=1
	CA string `json:"ca,omitempty"`

	// The subject. A self-signed certificate requires it.
	Subject *CertificateSubject `json:"subject,omitempty"`

	// The DNS names, for example `db.example.org`.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	DNSNames []string `json:"dnsNames,omitempty"`

	// Returns `dnsNames`. For example,
	// `[composite.metadata.name + '.' + composite.metadata.namespace + '.svc']`.
	DNSNamesExpression Expression `json:"dnsNamesExpression,omitempty"`

	// The IP addresses, for example `10.0.0.1`.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=45
	IPAddresses []string `json:"ipAddresses,omitempty"`

	// Returns `ipAddresses`. For example, `[resources.service.status.clusterIP]`.
	IPAddressesExpression Expression `json:"ipAddressesExpression,omitempty"`

	// The URIs, for example `spiffe://example.org/db`.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=2048
	URIs []string `json:"uris,omitempty"`

	// Returns `uris`. For example, `['spiffe://example.org/' + composite.metadata.name]`.
	URIsExpression Expression `json:"urisExpression,omitempty"`

	// The email addresses, for example `db@example.org`.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=320
	EmailAddresses []string `json:"emailAddresses,omitempty"`

	// Returns `emailAddresses`. For example, `[composite.spec.owner]`.
	EmailAddressesExpression Expression `json:"emailAddressesExpression,omitempty"`

	// How long it is valid. If it is not set, it is `2160h` (90 days), or `87600h` for a CA.
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1h') && duration(self) <= duration('876000h')",message="must be from 1h to 876000h"
	Duration *Duration `json:"duration,omitempty"`

	// Returns `duration`. For example, `composite.spec.certificate.duration`.
	DurationExpression Expression `json:"durationExpression,omitempty"`

	// How long before its end a new generation is created, with `OnChange` or `Periodic`. If it is not set, it is a
	// third of the duration.
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('5m') && duration(self) <= duration('876000h')",message="must be from 5m to 876000h"
	RenewBefore *Duration `json:"renewBefore,omitempty"`

	// Returns `renewBefore`. For example, `composite.spec.certificate.renewBefore`.
	RenewBeforeExpression Expression `json:"renewBeforeExpression,omitempty"`

	// The type of the key. `ecdsa` has 256 bits, and `rsa` has 3072. If it is not set, it is `ecdsa`.
	// +kubebuilder:default=ecdsa
	// +kubebuilder:validation:Enum=ecdsa;rsa;ed25519
	KeyType string `json:"keyType,omitempty"`

	// The format of the key. `PKCS1` is only for `rsa`. If it is not set, it is `PKCS8`.
	// +kubebuilder:default=PKCS8
	// +kubebuilder:validation:Enum=PKCS8;PKCS1
	KeyFormat string `json:"keyFormat,omitempty"`
}

// A CertificateSubject is the subject of a certificate.
//
// +kubebuilder:validation:AtLeastOneOf=commonName;organizations;commonNameExpression;organizationsExpression
// +kubebuilder:validation:AtMostOneOf=commonName;commonNameExpression
// +kubebuilder:validation:AtMostOneOf=organizations;organizationsExpression
type CertificateSubject struct {
	// The common name of the subject.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:MinLength=1
	CommonName string `json:"commonName,omitempty"`

	// Returns `commonName`. For example, `composite.metadata.name`.
	CommonNameExpression Expression `json:"commonNameExpression,omitempty"`

	// The organizations of the subject.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=64
	Organizations []string `json:"organizations,omitempty"`

	// Returns `organizations`. For example, `[composite.metadata.namespace]`.
	OrganizationsExpression Expression `json:"organizationsExpression,omitempty"`
}

// A BcryptGenerator hashes a password with bcrypt.
type BcryptGenerator struct {
	// Returns the password, of at most 72 bytes. For example, `generated.admin.password`.
	// +kubebuilder:example="generated.admin.password"
	SecretExpression Expression `json:"secretExpression"`

	// The cost. One more doubles the time of each check. If it is not set, it is 10.
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=4
	// +kubebuilder:validation:Maximum=12
	Cost *uint64 `json:"cost,omitempty"`
}

// An HtpasswdGenerator writes a file of users and the bcrypt hashes of their passwords.
type HtpasswdGenerator struct {
	// Returns a map from user names to passwords of at most 72 bytes. For example, `{'admin':
	// generated.admin.password}`.
	// +kubebuilder:example="{'admin': generated.admin.password}"
	SecretExpression Expression `json:"secretExpression"`

	// The cost of bcrypt. One more doubles the time of each request, and halves the number of users: 16 with a cost of
	// 10. If it is not set, it is 10.
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=4
	// +kubebuilder:validation:Maximum=12
	Cost *uint64 `json:"cost,omitempty"`
}

// A PKCS12Generator puts a certificate and its key into a PKCS #12 keystore.
type PKCS12Generator struct {
	// Returns a map with `tls.crt`, `tls.key` and, for a truststore, `ca.crt`, in PEM. For example, `generated.server`.
	// +kubebuilder:example="generated.server"
	SecretExpression Expression `json:"secretExpression"`

	// If true, `truststore.p12` has the certificates of `ca.crt`.
	Truststore bool `json:"truststore,omitempty"`

	// The algorithms. `LegacyDES` and `LegacyRC2` are for readers without AES, and protect the key badly. If it is not
	// set, it is `Modern2023`.
	// +kubebuilder:default=Modern2023
	// +kubebuilder:validation:Enum=Modern2023;LegacyDES;LegacyRC2
	Profile string `json:"profile,omitempty"`
}

// A JKSGenerator puts a certificate and its key into a Java keystore of type JKS.
type JKSGenerator struct {
	// Returns a map with `tls.crt`, `tls.key` and, for a truststore, `ca.crt`, in PEM. For example, `generated.server`.
	// +kubebuilder:example="generated.server"
	SecretExpression Expression `json:"secretExpression"`

	// The name of the key, which Java reads in lower case. If it is not set, it is `certificate`.
	// +kubebuilder:default=certificate
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]{1,64}$`
	Alias string `json:"alias,omitempty"`

	// If true, `truststore.jks` has the certificates of `ca.crt`.
	Truststore bool `json:"truststore,omitempty"`
}

// A ResourceGenerator composes a resource for each generation.
//
// +kubebuilder:validation:XValidation:rule="!has(self.manifest) || (has(self.manifest.apiVersion) && has(self.manifest.kind) && size(self.manifest.apiVersion) > 0 && size(self.manifest.kind) > 0)",fieldPath=".manifest",message="must have apiVersion and kind"
// +kubebuilder:validation:XValidation:rule="!has(self.manifest) || !has(self.manifest.metadata) || !has(self.manifest.metadata.name)",fieldPath=".manifest",message="must not have metadata.name, because each generation has its own name: leave it out, or write it with set and use generation.number in it"
type ResourceGenerator struct {
	// The manifest of the resource. Each generation has its own name, unless `set` writes one.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:EmbeddedResource
	Manifest JSON `json:"manifest"`

	// Writes values into the manifest. The expressions also see `generation`, and no secret.
	// +kubebuilder:validation:MaxItems=64
	Set []ManifestField `json:"set,omitempty"`

	// Further outputs: expressions in which `resource` is the resource, and `secret` its connection details or data.
	// For example, `resource.status.atProvider.id`.
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.matches('^[-._a-zA-Z0-9]{1,253}$') && k != '.' && !k.startsWith('..') && size(self[k]) > 0 && size(self[k]) <= 4096)",message="each key must consist of letters, digits, '-', '_' or '.', and each expression must have 1 to 4096 characters"
	Outputs map[string]string `json:"outputs,omitempty"`
}

// A ManifestField is a field of a manifest to write.
type ManifestField struct {
	// The path of the field in the manifest, for example `spec.forProvider.userName`.
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([[]|(apiVersion|kind|metadata|status)($|[.[]))') || self.matches('^metadata[.](name$|labels[.[]|annotations[.[])')",message="must be a field of the manifest other than apiVersion, kind and status, and below metadata only name, labels and annotations"
	FieldPath FieldPath `json:"fieldPath"`

	// Returns the value of the field.
	Value Expression `json:"value"`
}
