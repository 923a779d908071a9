package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

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
// +kubebuilder:validation:XValidation:rule="[has(self.password), has(self.uuid), has(self.sshKey), has(self.certificate), has(self.bcrypt), has(self.htpasswd), has(self.pkcs12), has(self.jks), has(self.resource)].exists_one(x, x)",message="exactly one of password, uuid, sshKey, certificate, bcrypt, htpasswd, pkcs12, jks and resource must be set"
// +kubebuilder:validation:XValidation:rule="!(has(self.refreshPolicy) && self.refreshPolicy == 'Periodic') || has(self.refreshInterval) || has(self.refreshIntervalExpression)",fieldPath=".refreshInterval",message="must be set with refreshPolicy Periodic, for example 720h"
// +kubebuilder:validation:XValidation:rule="(has(self.refreshPolicy) && self.refreshPolicy == 'Periodic') || !has(self.refreshInterval)",fieldPath=".refreshInterval",message="has no effect without refreshPolicy Periodic: set it, or leave the interval out"
// +kubebuilder:validation:XValidation:rule="(has(self.refreshPolicy) && self.refreshPolicy == 'Periodic') || !has(self.refreshIntervalExpression)",fieldPath=".refreshIntervalExpression",message="has no effect without refreshPolicy Periodic: set it, or leave the interval out"
// +kubebuilder:validation:XValidation:rule="(has(self.refreshPolicy) && self.refreshPolicy != 'CreatedOnce') || !has(self.keepersExpression)",fieldPath=".keepersExpression",message="has no effect with refreshPolicy CreatedOnce: set refreshPolicy to OnChange or Periodic"
// +kubebuilder:validation:XValidation:rule="(has(self.refreshPolicy) && self.refreshPolicy != 'CreatedOnce') || !(has(self.certificate) && (has(self.certificate.renewBefore) || has(self.certificate.renewBeforeExpression)))",fieldPath=".certificate.renewBefore",message="has no effect with refreshPolicy CreatedOnce: set refreshPolicy to OnChange or Periodic"
// +kubebuilder:validation:XValidation:rule="!(has(self.resource) && has(self.__namespace__))",fieldPath=".namespace",message="has no effect on a resource: set metadata.namespace in its manifest"
// +kubebuilder:validation:XValidation:rule="!(has(self.resource) && has(self.labels))",fieldPath=".labels",message="has no effect on a resource: set metadata.labels in its manifest"
// +kubebuilder:validation:XValidation:rule="!(has(self.resource) && has(self.labelsExpression))",fieldPath=".labelsExpression",message="has no effect on a resource: set metadata.labels in its manifest"
// +kubebuilder:validation:XValidation:rule="!(has(self.gracePeriod) && has(self.refreshInterval)) || duration(self.gracePeriod).getSeconds() <= 15 * duration(self.refreshInterval).getSeconds()",fieldPath=".gracePeriod",message="must be at most 15 times refreshInterval, because at most 16 generations are kept at once"
// +kubebuilder:validation:XValidation:rule="!has(self.forEachExpression) || has(self.keyExpression)",fieldPath=".keyExpression",message="must be set with forEachExpression, because it identifies an item: write for example keyExpression: item.name"
// +kubebuilder:validation:XValidation:rule="!has(self.keyExpression) || has(self.forEachExpression)",fieldPath=".forEachExpression",message="must be set with keyExpression: write for example forEachExpression: composite.spec.users"
// +kubebuilder:validation:XValidation:rule="!(has(self.resource) && has(self.resource.manifest) && has(self.resource.manifest.apiVersion) && has(self.resource.manifest.kind) && self.resource.manifest.apiVersion == 'v1' && self.resource.manifest.kind in ['Secret', 'ConfigMap']) || has(self.readyExpression)",fieldPath=".readyExpression",message="must be set, because a Secret or ConfigMap has no condition Ready: write for example has(secret.token) for a Secret, or has(resource.data.token) for a ConfigMap"
// +kubebuilder:validation:XValidation:rule="!(has(self.abandonAfter) || has(self.abandonAfterExpression)) || has(self.readyExpression) || has(self.resource)",fieldPath=".abandonAfter",message="has no effect without readyExpression, because each generation is in use as soon as it is stored: set readyExpression, or leave it out"
// +kubebuilder:validation:XValidation:rule="!(has(self.abandonAfter) || has(self.abandonAfterExpression)) || !(has(self.bcrypt) || has(self.htpasswd) || has(self.pkcs12) || has(self.jks))",fieldPath=".abandonAfter",message="must not be set with secretExpression: the generation before belongs to another source, so it cannot be used again: leave it out"
// +kubebuilder:validation:XValidation:rule="!has(self.rotationWindow) || (has(self.refreshPolicy) && self.refreshPolicy == 'Periodic')",fieldPath=".rotationWindow",message="has no effect without refreshPolicy Periodic: set it, or leave the window out"
// +kubebuilder:validation:XValidation:rule="[has(self.labels), has(self.labelsExpression)].filter(x, x).size() <= 1",message="at most one of labels and labelsExpression may be set"
// +kubebuilder:validation:XValidation:rule="[has(self.refreshInterval), has(self.refreshIntervalExpression)].filter(x, x).size() <= 1",message="at most one of refreshInterval and refreshIntervalExpression may be set"
// +kubebuilder:validation:XValidation:rule="[has(self.gracePeriod), has(self.gracePeriodExpression)].filter(x, x).size() <= 1",message="at most one of gracePeriod and gracePeriodExpression may be set"
// +kubebuilder:validation:XValidation:rule="[has(self.abandonAfter), has(self.abandonAfterExpression)].filter(x, x).size() <= 1",message="at most one of abandonAfter and abandonAfterExpression may be set"
type Generator struct {
	// The name of the generator in expressions. It is also part of the names of its generations.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must consist of lower-case letters, digits and '-', and begin and end with a letter or a digit: it is part of the names of its generations"
	Name string `json:"name"`

	// Returns a list. The generator creates and keeps one credential for each item, and all other expressions of
	// this generator see `item`, `index`, the position of the item from 0, and `key`. `generated.<name>` is a map from
	// the keys of the items to their outputs: `generated.users['alice'].password`, or `generated.users[key].password` in
	// an export with a list. The list may not use a source or a secret. While the list is missing, all generations of
	// this generator are kept. If an item leaves the list, its generations are deleted after `gracePeriod`. For example,
	// `composite.spec.users`.
	// +optional
	ForEachExpression Expression `json:"forEachExpression,omitempty"`

	// Returns the key of an item: a string of lower-case letters, digits and '-', at most 63, which no other item
	// has. It sees `item` and `index`, and may not use a source or a secret. An item keeps its credential when the order
	// of the list changes, unless the key contains `index`. The composition resource names of its generations are
	// `generated/<name>/<key>/<number>`. For example, `item.name`.
	// +optional
	KeyExpression Expression `json:"keyExpression,omitempty"`

	// Creates a password. The output is `password`, unless `secretKeys` is set.
	//
	// The fields and their defaults are those of the Password generator in External Secrets, plus `prefix` and
	// `suffix`. The password has exactly the requested numbers of digits and symbols. The rest are letters: at
	// least one of each case, if there are two or more and `noUpper` is not set.
	// +optional
	Password *PasswordGenerator `json:"password,omitempty"`

	// Creates a random UUID of version 4. The output is `uuid`. For example, `uuid: {}`.
	// +optional
	UUID *UUIDGenerator `json:"uuid,omitempty"`

	// Creates an SSH key pair. The outputs are `privateKey` and `publicKey`.
	// +optional
	SSHKey *SSHKeyGenerator `json:"sshKey,omitempty"`

	// Creates a certificate and its key. The outputs are `tls.crt`, `tls.key` and `ca.crt`. The certificate is
	// renewed only if `refreshPolicy` is `OnChange` or `Periodic`.
	// +optional
	Certificate *CertificateGenerator `json:"certificate,omitempty"`

	// Hashes a password with bcrypt. The output is `hash`. When the password changes, a new generation is created.
	// +optional
	Bcrypt *BcryptGenerator `json:"bcrypt,omitempty"`

	// Writes a file of users and the bcrypt hashes of their passwords. The output is `auth`, as ingress-nginx reads it.
	// When a user or a password changes, a new generation is created.
	// +optional
	Htpasswd *HtpasswdGenerator `json:"htpasswd,omitempty"`

	// Puts a certificate and its key into a PKCS #12 keystore. The outputs are `keystore.p12` and `password`, and
	// `truststore.p12` if `truststore` is true. When the certificate or the key changes, a new generation is created.
	// +optional
	PKCS12 *PKCS12Generator `json:"pkcs12,omitempty"`

	// Puts a certificate and its key into a Java keystore of type JKS. The outputs are `keystore.jks` and `password`,
	// and `truststore.jks` if `truststore` is true. When the certificate or the key changes, a new generation is
	// created. Java 8u301 and later also reads PKCS #12, which protects the key better.
	// +optional
	JKS *JKSGenerator `json:"jks,omitempty"`

	// Composes a resource that creates the credential. The outputs are its connection details and `outputs`.
	// +optional
	Resource *ResourceGenerator `json:"resource,omitempty"`

	// The namespace of the generations, for a cluster scoped composite. If it is not set, it is the composite's
	// own namespace, or the namespace of its claim if it has one. For `resource`, set `metadata.namespace` in
	// the manifest instead.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace,omitempty"`

	// The labels of the generations. For `resource`, set `metadata.labels` in the manifest instead.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// Returns `labels`. For example, `{'team': composite.spec.team}`.
	// +optional
	LabelsExpression Expression `json:"labelsExpression,omitempty"`

	// When a new generation is created. `CreatedOnce` creates only the first one. `Periodic` creates a new one
	// when `refreshInterval` has passed. `OnChange` creates a new one when the generator in the input changes.
	// `Periodic` and `OnChange` also create one when the value of `keepersExpression` changes. If it is not set,
	// it is `CreatedOnce`.
	// +optional
	// +kubebuilder:default=CreatedOnce
	RefreshPolicy RefreshPolicy `json:"refreshPolicy,omitempty"`

	// With policy `Periodic`, the time between the creation of one generation and the creation of the next. For
	// example, `720h`.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('876000h')",message="must be from 1m to 876000h (100 years); to create the value once, leave refreshPolicy and refreshInterval out"
	RefreshInterval *metav1.Duration `json:"refreshInterval,omitempty"`

	// Returns `refreshInterval`. For example, `composite.spec.rotation.every`.
	// +optional
	RefreshIntervalExpression Expression `json:"refreshIntervalExpression,omitempty"`

	// How long a generation is kept after the next one replaces it. If it is not set, it is `0s`. For example,
	// `24h`.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('876000h')",message="must be from 0s to 876000h (100 years)"
	GracePeriod *metav1.Duration `json:"gracePeriod,omitempty"`

	// Returns `gracePeriod`. For example, `composite.spec.rotation.grace`.
	// +optional
	GracePeriodExpression Expression `json:"gracePeriodExpression,omitempty"`

	// Returns a value of any type that JSON has. When the value changes, a new generation is created. It may use
	// no secret. For example, `composite.spec.passwordVersion`.
	// +optional
	KeepersExpression Expression `json:"keepersExpression,omitempty"`

	// Returns whether the pending generation works, a bool. It is evaluated only while a generation is pending. Until it
	// returns true, `generated.<name>` stays the current generation, and the exports of the first generation wait. The
	// expression also sees `candidate.<name>`, the outputs of the pending generation, `generation.number` and
	// `generation.id`, and for `resource` also `resource` and `secret` of the pending generation. It may use secrets. If it
	// is not set, a generation works when it is stored, and one of a `resource` when its condition `Ready` is true and it
	// has all connection details that the current generation has. For example,
	// `secrets.db.password == candidate.admin.password`.
	// +optional
	ReadyExpression Expression `json:"readyExpression,omitempty"`

	// How long a pending generation may take to work. Then it is abandoned: `candidate.<name>` is the current generation
	// again, so that the export that sets the credential sets the former value. The time starts when all exports that use
	// `candidate.<name>` have the pending generation. The same rotation is tried again after one hour, and after each
	// further failure after twice the time, up to 24 hours. The first generation is never abandoned. If it is not set,
	// a pending generation waits without limit. For example, `15m`.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('876000h')",message="must be from 1m to 876000h (100 years)"
	AbandonAfter *metav1.Duration `json:"abandonAfter,omitempty"`

	// Returns `abandonAfter`. For example, `composite.spec.rotation.abandonAfter`.
	// +optional
	AbandonAfterExpression Expression `json:"abandonAfterExpression,omitempty"`

	// With policy `Periodic`, when a rotation may start. If the time comes outside of a window, the rotation starts in the
	// next one. Changes of `keepersExpression`, the rotate annotation, and a certificate that would expire before the
	// next window do not wait. If it is not set, a rotation starts at any time.
	// +optional
	RotationWindow *RotationWindow `json:"rotationWindow,omitempty"`
}

// A RotationWindow says when rotations may start.
//
// +kubebuilder:validation:XValidation:rule="[has(self.schedule), has(self.scheduleExpression)].exists_one(x, x)",message="exactly one of schedule and scheduleExpression must be set"
type RotationWindow struct {
	// When a window opens, in the format of cron: minute, hour, day of the month, month, day of the week. For example,
	// `0 2 * * 6` is each Saturday at 2:00.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Schedule string `json:"schedule,omitempty"`

	// Returns `schedule`. For example, `composite.spec.maintenance.schedule`.
	// +optional
	ScheduleExpression Expression `json:"scheduleExpression,omitempty"`

	// How long a window stays open. For example, `2h`.
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('168h')",message="must be from 1m to 168h (one week)"
	Duration metav1.Duration `json:"duration"`

	// The time zone of the schedule, as in the IANA time zone database. If it is not set, it is `UTC`. For example,
	// `Europe/Berlin`.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
}

// A PasswordGenerator creates a password.
//
// +kubebuilder:validation:XValidation:rule="[has(self.prefix), has(self.prefixExpression)].filter(x, x).size() <= 1",message="at most one of prefix and prefixExpression may be set"
// +kubebuilder:validation:XValidation:rule="[has(self.suffix), has(self.suffixExpression)].filter(x, x).size() <= 1",message="at most one of suffix and suffixExpression may be set"
type PasswordGenerator struct {
	// The length of the password without prefix and suffix. If it is not set, it is 24.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	Length *uint64 `json:"length,omitempty"`

	// Returns `length`, in place of the literal. For example, `composite.spec.passwordLength`.
	// +optional
	LengthExpression Expression `json:"lengthExpression,omitempty"`

	// The number of digits in the password. If it is not set, it is a quarter of the length.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Digits *uint64 `json:"digits,omitempty"`

	// The number of symbols in the password. If it is not set, it is a quarter of the length.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Symbols *uint64 `json:"symbols,omitempty"`

	// The symbols that the password may have. If it is not set, they are ``~!@#$%^&*()_+`-={}|[]\:"<>?,./``.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	SymbolCharacters *string `json:"symbolCharacters,omitempty"`

	// If true, the password has no upper-case letters.
	// +optional
	NoUpper bool `json:"noUpper,omitempty"`

	// If true, a character may occur more than once. If it is not set, each character occurs at most once.
	// Symbols may repeat if there are fewer `symbolCharacters` than `symbols`.
	// +optional
	AllowRepeat *bool `json:"allowRepeat,omitempty"`

	// A text before the password. It is encoded together with the password.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Prefix *string `json:"prefix,omitempty"`

	// Returns `prefix`. For example, `composite.spec.team + '-'`.
	// +optional
	PrefixExpression Expression `json:"prefixExpression,omitempty"`

	// A text after the password. It is encoded together with the password.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Suffix *string `json:"suffix,omitempty"`

	// Returns `suffix`. For example, `'-' + composite.spec.team`.
	// +optional
	SuffixExpression Expression `json:"suffixExpression,omitempty"`

	// The encoding of the password. If it is not set, it is `raw`, which is no encoding.
	// +optional
	// +kubebuilder:default=raw
	// +kubebuilder:validation:Enum=raw;base64;base64url;base32;hex
	Encoding string `json:"encoding,omitempty"`

	// The names of the outputs. Each output is a separate password. If it is not set, the only output is
	// `password`.
	// +optional
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
// +kubebuilder:validation:XValidation:rule="[has(self.comment), has(self.commentExpression)].filter(x, x).size() <= 1",message="at most one of comment and commentExpression may be set"
type SSHKeyGenerator struct {
	// The type of the key. If it is not set, it is `ed25519`.
	// +optional
	// +kubebuilder:default=ed25519
	// +kubebuilder:validation:Enum=ed25519;rsa;ecdsa
	Type string `json:"type,omitempty"`

	// The size of the key: 2048, 3072 or 4096 for `rsa`, and 256, 384 or 521 for `ecdsa`. If it is not set, it
	// is 3072 for `rsa` and 256 for `ecdsa`.
	// +optional
	// +kubebuilder:validation:Enum=256;384;521;2048;3072;4096
	Bits *uint64 `json:"bits,omitempty"`

	// The comment of the public key. If it is not set, the key has no comment.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Comment string `json:"comment,omitempty"`

	// Returns `comment`. For example, `composite.metadata.name + '@example.org'`.
	// +optional
	CommentExpression Expression `json:"commentExpression,omitempty"`

	// The format of the private key. `PKCS1` is only for `rsa`. `PKCS1` and `PKCS8` have no comment. If it is not set,
	// it is `OpenSSH`.
	// +optional
	// +kubebuilder:default=OpenSSH
	// +kubebuilder:validation:Enum=OpenSSH;PKCS1;PKCS8
	Format string `json:"format,omitempty"`
}

// A CertificateGenerator creates a certificate. The outputs are `tls.crt`, `tls.key` and `ca.crt`.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.isCA) && self.isCA && has(self.ca))",message="a CA signs itself: leave ca out"
// +kubebuilder:validation:XValidation:rule="has(self.ca) || has(self.subject)",message="subject must be set for a certificate that signs itself"
// +kubebuilder:validation:XValidation:rule="!(has(self.isCA) && self.isCA && [has(self.dnsNames) && size(self.dnsNames) > 0, has(self.ipAddresses) && size(self.ipAddresses) > 0, has(self.uris) && size(self.uris) > 0, has(self.emailAddresses) && size(self.emailAddresses) > 0, has(self.dnsNamesExpression), has(self.ipAddressesExpression), has(self.urisExpression), has(self.emailAddressesExpression)].exists(x, x))",message="a CA must not have dnsNames, ipAddresses, uris or emailAddresses: leave them out"
// +kubebuilder:validation:XValidation:rule="!(has(self.keyFormat) && self.keyFormat == 'PKCS1') || (has(self.keyType) && self.keyType == 'rsa')",fieldPath=".keyFormat",message="must not be PKCS1 for this keyType, because only RSA keys have that format: set keyType to rsa, or leave keyFormat out"
// +kubebuilder:validation:XValidation:rule="[has(self.dnsNames), has(self.dnsNamesExpression)].filter(x, x).size() <= 1",message="at most one of dnsNames and dnsNamesExpression may be set"
// +kubebuilder:validation:XValidation:rule="[has(self.ipAddresses), has(self.ipAddressesExpression)].filter(x, x).size() <= 1",message="at most one of ipAddresses and ipAddressesExpression may be set"
// +kubebuilder:validation:XValidation:rule="[has(self.uris), has(self.urisExpression)].filter(x, x).size() <= 1",message="at most one of uris and urisExpression may be set"
// +kubebuilder:validation:XValidation:rule="[has(self.emailAddresses), has(self.emailAddressesExpression)].filter(x, x).size() <= 1",message="at most one of emailAddresses and emailAddressesExpression may be set"
// +kubebuilder:validation:XValidation:rule="[has(self.duration), has(self.durationExpression)].filter(x, x).size() <= 1",message="at most one of duration and durationExpression may be set"
// +kubebuilder:validation:XValidation:rule="[has(self.renewBefore), has(self.renewBeforeExpression)].filter(x, x).size() <= 1",message="at most one of renewBefore and renewBeforeExpression may be set"
type CertificateGenerator struct {
	// If true, the certificate is a CA, which can sign the certificates of other generators.
	// +optional
	IsCA bool `json:"isCA,omitempty"`

	// The name of the generator whose CA signs this certificate. If it is not set, the certificate is self-signed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	CA string `json:"ca,omitempty"`

	// The subject of the certificate. A self-signed certificate requires it.
	// +optional
	Subject *CertificateSubject `json:"subject,omitempty"`

	// The DNS names of the certificate, for example `db.example.org`.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	DNSNames []string `json:"dnsNames,omitempty"`

	// Returns `dnsNames`. For example,
	// `[composite.metadata.name + '.' + composite.metadata.namespace + '.svc']`.
	// +optional
	DNSNamesExpression Expression `json:"dnsNamesExpression,omitempty"`

	// The IP addresses of the certificate, for example `10.0.0.1`.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=45
	IPAddresses []string `json:"ipAddresses,omitempty"`

	// Returns `ipAddresses`. For example, `[resources.service.status.clusterIP]`.
	// +optional
	IPAddressesExpression Expression `json:"ipAddressesExpression,omitempty"`

	// The URIs of the certificate, for example `spiffe://example.org/db`.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=2048
	URIs []string `json:"uris,omitempty"`

	// Returns `uris`. For example, `['spiffe://example.org/' + composite.metadata.name]`.
	// +optional
	URIsExpression Expression `json:"urisExpression,omitempty"`

	// The email addresses of the certificate, for example `db@example.org`.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=320
	EmailAddresses []string `json:"emailAddresses,omitempty"`

	// Returns `emailAddresses`. For example, `[composite.spec.owner]`.
	// +optional
	EmailAddressesExpression Expression `json:"emailAddressesExpression,omitempty"`

	// How long the certificate is valid. If it is not set, it is `2160h` (90 days), or `87600h` (ten years) for a
	// CA.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1h') && duration(self) <= duration('876000h')",message="must be from 1h to 876000h"
	Duration *metav1.Duration `json:"duration,omitempty"`

	// Returns `duration`. For example, `composite.spec.certificate.duration`.
	// +optional
	DurationExpression Expression `json:"durationExpression,omitempty"`

	// A new generation is created this long before the certificate expires. Only the refresh policies `OnChange`
	// and `Periodic` create one. If it is not set, it is a third of the duration.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('5m') && duration(self) <= duration('876000h')",message="must be from 5m to 876000h"
	RenewBefore *metav1.Duration `json:"renewBefore,omitempty"`

	// Returns `renewBefore`. For example, `composite.spec.certificate.renewBefore`.
	// +optional
	RenewBeforeExpression Expression `json:"renewBeforeExpression,omitempty"`

	// The type of the key. `ecdsa` has 256 bits, and `rsa` has 3072. If it is not set, it is `ecdsa`.
	// +optional
	// +kubebuilder:default=ecdsa
	// +kubebuilder:validation:Enum=ecdsa;rsa;ed25519
	KeyType string `json:"keyType,omitempty"`

	// The format of the key. `PKCS1` is only for `rsa`. If it is not set, it is `PKCS8`.
	// +optional
	// +kubebuilder:default=PKCS8
	// +kubebuilder:validation:Enum=PKCS8;PKCS1
	KeyFormat string `json:"keyFormat,omitempty"`
}

// A CertificateSubject is the subject of a certificate.
//
// +kubebuilder:validation:XValidation:rule="has(self.commonName) || has(self.organizations) || has(self.commonNameExpression) || has(self.organizationsExpression)",message="commonName or organizations must be set"
// +kubebuilder:validation:XValidation:rule="[has(self.commonName), has(self.commonNameExpression)].filter(x, x).size() <= 1",message="at most one of commonName and commonNameExpression may be set"
// +kubebuilder:validation:XValidation:rule="[has(self.organizations), has(self.organizationsExpression)].filter(x, x).size() <= 1",message="at most one of organizations and organizationsExpression may be set"
type CertificateSubject struct {
	// The common name of the subject.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:MinLength=1
	CommonName string `json:"commonName,omitempty"`

	// Returns `commonName`. For example, `composite.metadata.name`.
	// +optional
	CommonNameExpression Expression `json:"commonNameExpression,omitempty"`

	// The organizations of the subject.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=64
	Organizations []string `json:"organizations,omitempty"`

	// Returns `organizations`. For example, `[composite.metadata.namespace]`.
	// +optional
	OrganizationsExpression Expression `json:"organizationsExpression,omitempty"`
}

// A BcryptGenerator hashes a password with bcrypt.
type BcryptGenerator struct {
	// Returns the password. It has at most 72 bytes, because bcrypt ignores the rest. For example,
	// `generated.admin.password`.
	// +kubebuilder:example="generated.admin.password"
	SecretExpression Expression `json:"secretExpression"`

	// The cost. One more doubles the time of each check of a password. If it is not set, it is 10.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=4
	// +kubebuilder:validation:Maximum=12
	Cost *uint64 `json:"cost,omitempty"`
}

// An HtpasswdGenerator writes a file of users and the bcrypt hashes of their passwords.
type HtpasswdGenerator struct {
	// Returns a map from the names of the users to their passwords. A name contains no ':'. A password has at most 72
	// bytes, because bcrypt ignores the rest. For example, `{'admin': generated.admin.password}`.
	// +kubebuilder:example="{'admin': generated.admin.password}"
	SecretExpression Expression `json:"secretExpression"`

	// The cost of bcrypt. One more doubles the time of each request to the server. The higher it is, the fewer users the
	// file may have: 16 with a cost of 10. If it is not set, it is 10.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=4
	// +kubebuilder:validation:Maximum=12
	Cost *uint64 `json:"cost,omitempty"`
}

// A PKCS12Generator puts a certificate and its key into a PKCS #12 keystore.
type PKCS12Generator struct {
	// Returns a map with `tls.crt`, the certificate and the intermediate CAs that signed it, and `tls.key`, its key, both
	// in PEM. `truststore` also requires `ca.crt`. Other keys are ignored. For example, `generated.server`.
	// +kubebuilder:example="generated.server"
	SecretExpression Expression `json:"secretExpression"`

	// If true, `truststore.p12` has the certificates of `ca.crt`, with the same password.
	// +optional
	Truststore bool `json:"truststore,omitempty"`

	// The algorithms of the keystore, as in cert-manager. `LegacyDES` and `LegacyRC2` are for readers that do not know
	// AES, and protect the key badly. If it is not set, it is `Modern2023`.
	// +optional
	// +kubebuilder:default=Modern2023
	// +kubebuilder:validation:Enum=Modern2023;LegacyDES;LegacyRC2
	Profile string `json:"profile,omitempty"`
}

// A JKSGenerator puts a certificate and its key into a Java keystore of type JKS.
type JKSGenerator struct {
	// Returns a map with `tls.crt`, the certificate and the intermediate CAs that signed it, and `tls.key`, its key, both
	// in PEM. `truststore` also requires `ca.crt`. Other keys are ignored. For example, `generated.server`.
	// +kubebuilder:example="generated.server"
	SecretExpression Expression `json:"secretExpression"`

	// The name of the key in the keystore. Java reads it in lower case. If it is not set, it is `certificate`.
	// +optional
	// +kubebuilder:default=certificate
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]{1,64}$')",message="must consist of 1 to 64 letters, digits, '-', '_' or '.'"
	Alias string `json:"alias,omitempty"`

	// If true, `truststore.jks` has the certificates of `ca.crt`, with the same password.
	// +optional
	Truststore bool `json:"truststore,omitempty"`
}

// A ResourceGenerator composes a resource for each generation.
//
// +kubebuilder:validation:XValidation:rule="!has(self.manifest) || (has(self.manifest.apiVersion) && has(self.manifest.kind) && size(self.manifest.apiVersion) > 0 && size(self.manifest.kind) > 0)",fieldPath=".manifest",message="must have apiVersion and kind"
// +kubebuilder:validation:XValidation:rule="!has(self.manifest) || !has(self.manifest.metadata) || !has(self.manifest.metadata.name)",fieldPath=".manifest",message="must not have metadata.name, because each generation has its own name: leave it out, or write it with set and use generation.number in it"
type ResourceGenerator struct {
	// The manifest of the resource, without `metadata.name`. Each generation has its own name, unless `set`
	// writes one.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:EmbeddedResource
	Manifest runtime.RawExtension `json:"manifest"`

	// Writes values into the manifest. The expressions also see `generation.number` and `generation.id`. They
	// may use no secret.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	Set []ManifestField `json:"set,omitempty"`

	// Further outputs besides the connection details of the resource. Each value is an expression, in which
	// `resource` is the observed resource. `secret` is its connection details, or its data if it is a Secret.
	// For example, `resource.status.atProvider.id`.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.matches('^[-._a-zA-Z0-9]{1,253}$') && k != '.' && !k.startsWith('..') && size(self[k]) > 0 && size(self[k]) <= 4096)",message="each key must consist of letters, digits, '-', '_' or '.', and each expression must have 1 to 4096 characters"
	Outputs map[string]string `json:"outputs,omitempty"`
}

// A ManifestField is a field of a manifest to write.
type ManifestField struct {
	// The path of the field in the manifest, for example `spec.forProvider.userName`.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	FieldPath string `json:"fieldPath"`

	// Returns the value of the field, of any type that JSON has.
	Value Expression `json:"value"`
}
