package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// A RefreshPolicy says when a generator makes a new generation.
// +kubebuilder:validation:Enum=CreatedOnce;Periodic;OnChange
type RefreshPolicy string

// The refresh policies. Each makes a first generation, and another one when the
// composite's annotation export.fn.crossplane.io/rotate asks for it.
const (
	// CreatedOnce never makes another one by itself.
	CreatedOnce RefreshPolicy = "CreatedOnce"

	// Periodic makes one when the last is as old as refreshInterval.
	Periodic RefreshPolicy = "Periodic"

	// OnChange makes one when the generator, or what keepersExpression gives, is
	// another than it was.
	OnChange RefreshPolicy = "OnChange"
)

// A Generator makes credentials, and keeps them: each generation of them is a
// composed resource of its own. The last one that is there is generated.<name>, the
// one before, while its grace period lasts, previous.<name>.
//
// +kubebuilder:validation:XValidation:rule="[has(self.password), has(self.uuid), has(self.sshKey), has(self.certificate), has(self.totp), has(self.resource)].exists_one(x, x)",message="exactly one of password, uuid, sshKey, certificate, totp and resource must be set"
// +kubebuilder:validation:XValidation:rule="!(has(self.totp) && has(self.gracePeriod))",fieldPath=".gracePeriod",message="must not be set for totp, which makes no generation"
// +kubebuilder:validation:XValidation:rule="!(has(self.totp) && has(self.__namespace__))",fieldPath=".namespace",message="must not be set for totp, which makes no generation"
// +kubebuilder:validation:XValidation:rule="!(has(self.totp) && has(self.refreshInterval))",fieldPath=".refreshInterval",message="must not be set for totp, which makes no generation"
// +kubebuilder:validation:XValidation:rule="!(has(self.totp) && has(self.keepersExpression))",fieldPath=".keepersExpression",message="must not be set for totp, which makes no generation"
// +kubebuilder:validation:XValidation:rule="!(has(self.totp) && has(self.refreshPolicy) && self.refreshPolicy != 'CreatedOnce')",fieldPath=".refreshPolicy",message="must not be set for totp, which makes no generation"
// +kubebuilder:validation:XValidation:rule="has(self.totp) || !(has(self.refreshPolicy) && self.refreshPolicy == 'Periodic') || has(self.refreshInterval)",fieldPath=".refreshInterval",message="must be set with refreshPolicy Periodic, for example 720h"
// +kubebuilder:validation:XValidation:rule="(has(self.refreshPolicy) && self.refreshPolicy == 'Periodic') || !has(self.refreshInterval)",fieldPath=".refreshInterval",message="has no effect without refreshPolicy Periodic: set it, or leave the interval out"
// +kubebuilder:validation:XValidation:rule="(has(self.refreshPolicy) && self.refreshPolicy != 'CreatedOnce') || !has(self.keepersExpression)",fieldPath=".keepersExpression",message="has no effect with refreshPolicy CreatedOnce: set refreshPolicy to OnChange or Periodic"
// +kubebuilder:validation:XValidation:rule="(has(self.refreshPolicy) && self.refreshPolicy != 'CreatedOnce') || !(has(self.certificate) && has(self.certificate.renewBefore))",fieldPath=".certificate.renewBefore",message="has no effect with refreshPolicy CreatedOnce: set refreshPolicy to OnChange or Periodic"
// +kubebuilder:validation:XValidation:rule="!(has(self.resource) && has(self.__namespace__))",fieldPath=".namespace",message="has no effect on a resource: set metadata.namespace of its manifest"
// +kubebuilder:validation:XValidation:rule="!(has(self.gracePeriod) && has(self.refreshInterval)) || duration(self.gracePeriod).getSeconds() <= 15 * duration(self.refreshInterval).getSeconds()",message="gracePeriod must be at most 15 times the refreshInterval"
type Generator struct {
	// Name of the generator in expressions, and part of the names of its generations.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be lower-case letters, digits and '-', and begin and end with a letter or a digit: it is part of its generations' names"
	Name string `json:"name"`

	// Password makes a password.
	// +optional
	Password *PasswordGenerator `json:"password,omitempty"`

	// UUID makes a random UUID, of version 4.
	// +optional
	UUID *UUIDGenerator `json:"uuid,omitempty"`

	// SSHKey makes a key pair in OpenSSH's format.
	// +optional
	SSHKey *SSHKeyGenerator `json:"sshKey,omitempty"`

	// Certificate makes a certificate and its key.
	// +optional
	Certificate *CertificateGenerator `json:"certificate,omitempty"`

	// TOTP gives the one-time password of the moment. It makes no generation.
	// +optional
	TOTP *TOTPGenerator `json:"totp,omitempty"`

	// Resource composes a resource that makes the credential.
	// +optional
	Resource *ResourceGenerator `json:"resource,omitempty"`

	// Namespace of its generations. Defaults to the composite's own. It is for a cluster
	// scoped composite; the manifest of a resource has its own.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace,omitempty"`

	// RefreshPolicy says when a new generation is made. Defaults to CreatedOnce.
	// +optional
	// +kubebuilder:default=CreatedOnce
	RefreshPolicy RefreshPolicy `json:"refreshPolicy,omitempty"`

	// RefreshInterval of policy Periodic, counted from when the last generation was
	// made.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('876000h')",message="must be from 1m to 876000h, 100 years"
	RefreshInterval *metav1.Duration `json:"refreshInterval,omitempty"`

	// GracePeriod is how long a generation is kept after the next one took its place.
	// Defaults to 0s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('876000h')",message="must be from 0s to 876000h, 100 years"
	GracePeriod *metav1.Duration `json:"gracePeriod,omitempty"`

	// KeepersExpression gives a value of any type that JSON has. When it becomes
	// another one a new generation is made. It may use no secret.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	KeepersExpression string `json:"keepersExpression,omitempty"`
}

// A PasswordGenerator makes a password. The fields are those of External Secrets'
// Password, with its defaults, and two more.
// +kubebuilder:validation:XValidation:rule="(has(self.length) ? self.length : 24) >= (has(self.digits) ? self.digits : 0) + (has(self.symbols) ? self.symbols : 0)",message="length must be at least digits and symbols together"
type PasswordGenerator struct {
	// Length of the password, without prefix and suffix. Defaults to 24.
	// +optional
	// +kubebuilder:default=24
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	Length *uint64 `json:"length,omitempty"`

	// Digits is how many of them are digits. Defaults to a quarter of the length.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Digits *uint64 `json:"digits,omitempty"`

	// Symbols is how many of them are symbols. Defaults to a quarter of the length.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Symbols *uint64 `json:"symbols,omitempty"`

	// SymbolCharacters are the symbols. Defaults to ~!@#$%^&*()_+`-={}|[]\:"<>?,./
	// +optional
	// +kubebuilder:validation:MaxLength=256
	SymbolCharacters *string `json:"symbolCharacters,omitempty"`

	// NoUpper leaves out upper-case letters.
	// +optional
	NoUpper bool `json:"noUpper,omitempty"`

	// AllowRepeat lets a character stand in the password more than once. Defaults to
	// false, but for symbols of which symbolCharacters spells fewer than there shall be.
	// +optional
	AllowRepeat *bool `json:"allowRepeat,omitempty"`

	// Prefix of the password.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Prefix *string `json:"prefix,omitempty"`

	// Suffix of the password.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Suffix *string `json:"suffix,omitempty"`

	// Encoding of the password. Defaults to raw.
	// +optional
	// +kubebuilder:default=raw
	// +kubebuilder:validation:Enum=raw;base64;base64url;base32;hex
	Encoding string `json:"encoding,omitempty"`

	// SecretKeys are the outputs: each is a password of its own. Defaults to
	// password.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[-._a-zA-Z0-9]+$`
	// +kubebuilder:validation:items:XValidation:rule="self != '.' && !self.startsWith('..')",message="must not be . or begin with .."
	SecretKeys []string `json:"secretKeys,omitempty"`
}

// A UUIDGenerator makes a random UUID, output uuid.
type UUIDGenerator struct{}

// An SSHKeyGenerator makes a key pair: outputs privateKey and publicKey.
//
// +kubebuilder:validation:XValidation:rule="(has(self.type) && self.type != 'ed25519') || !has(self.bits)",fieldPath=".bits",message="must not be set for type ed25519, which has one size: leave it out, or set type to rsa or ecdsa"
// +kubebuilder:validation:XValidation:rule="!(has(self.bits) && has(self.type) && self.type == 'rsa') || self.bits in [2048, 3072, 4096]",fieldPath=".bits",message="must be 2048, 3072 or 4096 for type rsa"
// +kubebuilder:validation:XValidation:rule="!(has(self.bits) && has(self.type) && self.type == 'ecdsa') || self.bits in [256, 384, 521]",fieldPath=".bits",message="must be 256, 384 or 521 for type ecdsa"
type SSHKeyGenerator struct {
	// Type of the key. Defaults to ed25519.
	// +optional
	// +kubebuilder:default=ed25519
	// +kubebuilder:validation:Enum=ed25519;rsa;ecdsa
	Type string `json:"type,omitempty"`

	// Bits of the key: 2048, 3072 or 4096 for rsa, 256, 384 or 521 for ecdsa. Defaults
	// to 3072 and 256.
	// +optional
	Bits *uint64 `json:"bits,omitempty"`

	// Comment of the public key.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Comment string `json:"comment,omitempty"`
}

// A CertificateGenerator makes a certificate: outputs tls.crt, tls.key and ca.crt.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.isCA) && self.isCA && has(self.ca))",message="a CA signs itself: leave ca out"
// +kubebuilder:validation:XValidation:rule="has(self.ca) || has(self.subject)",message="subject must be set for a certificate that signs itself"
// +kubebuilder:validation:XValidation:rule="!(has(self.isCA) && self.isCA && (has(self.dnsNames) && size(self.dnsNames) > 0 || has(self.ipAddresses) && size(self.ipAddresses) > 0))",message="a CA has no dnsNames or ipAddresses"
type CertificateGenerator struct {
	// IsCA makes a CA that other certificates can be signed by.
	// +optional
	IsCA bool `json:"isCA,omitempty"`

	// CA names the generator of the CA that signs this certificate. Without it the
	// certificate signs itself.
	// +optional
	// +kubebuilder:validation:MinLength=1
	CA string `json:"ca,omitempty"`

	// Subject of the certificate.
	// +optional
	Subject *CertificateSubject `json:"subject,omitempty"`

	// DNSNames of the certificate.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	DNSNames []string `json:"dnsNames,omitempty"`

	// IPAddresses of the certificate.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	IPAddresses []string `json:"ipAddresses,omitempty"`

	// Duration of its validity. Defaults to 2160h, 90 days, and for a CA to 87600h,
	// ten years.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1h') && duration(self) <= duration('876000h')",message="must be from 1h to 876000h"
	Duration *metav1.Duration `json:"duration,omitempty"`

	// RenewBefore the end of its validity a new generation is made, whatever the
	// refresh policy but CreatedOnce. Defaults to a third of the duration.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('5m') && duration(self) <= duration('876000h')",message="must be from 5m to 876000h"
	RenewBefore *metav1.Duration `json:"renewBefore,omitempty"`

	// KeyType of its key. Defaults to ecdsa, of 256 bits; rsa has 3072.
	// +optional
	// +kubebuilder:default=ecdsa
	// +kubebuilder:validation:Enum=ecdsa;rsa;ed25519
	KeyType string `json:"keyType,omitempty"`
}

// A CertificateSubject is who a certificate is of.
// +kubebuilder:validation:XValidation:rule="has(self.commonName) || has(self.organizations)",message="commonName or organizations must be set"
type CertificateSubject struct {
	// CommonName of the subject.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:MinLength=1
	CommonName string `json:"commonName,omitempty"`

	// Organizations of the subject.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	Organizations []string `json:"organizations,omitempty"`
}

// A TOTPGenerator gives one-time passwords by RFC 6238: outputs token, and
// validUntil, which is when another one takes its place.
type TOTPGenerator struct {
	// SecretExpression gives the shared secret in base32, as authenticator apps take
	// it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:example="secrets.db.otp"
	SecretExpression string `json:"secretExpression"`

	// Digits of the token. Defaults to 6.
	// +optional
	// +kubebuilder:default=6
	// +kubebuilder:validation:Minimum=6
	// +kubebuilder:validation:Maximum=8
	Digits *uint64 `json:"digits,omitempty"`

	// Period of a token. Defaults to 30s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('5s') && duration(self) <= duration('1h') && duration(self).getMilliseconds() % 1000 == 0",message="must be whole seconds, from 5s to 1h"
	Period *metav1.Duration `json:"period,omitempty"`

	// Algorithm of the token. Defaults to SHA1.
	// +optional
	// +kubebuilder:default=SHA1
	// +kubebuilder:validation:Enum=SHA1;SHA256;SHA512
	Algorithm string `json:"algorithm,omitempty"`
}

// A ResourceGenerator composes a resource for each generation.
// +kubebuilder:validation:XValidation:rule="!has(self.manifest) || (has(self.manifest.apiVersion) && has(self.manifest.kind) && size(self.manifest.apiVersion) > 0 && size(self.manifest.kind) > 0)",message="manifest must have apiVersion and kind"
// +kubebuilder:validation:XValidation:rule="!has(self.manifest) || !has(self.manifest.metadata) || !has(self.manifest.metadata.name)",message="manifest has no name: each generation has its own"
// +kubebuilder:validation:XValidation:rule="!(has(self.manifest) && has(self.manifest.apiVersion) && has(self.manifest.kind) && self.manifest.apiVersion == 'v1' && self.manifest.kind in ['Secret', 'ConfigMap']) || has(self.readyExpression)",fieldPath=".readyExpression",message="must be set, for a Secret or ConfigMap has no condition Ready: write for example has(resource.data.token)"
type ResourceGenerator struct {
	// Manifest of the resource. It has no name: each generation has its own, unless
	// set gives it one.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:EmbeddedResource
	Manifest runtime.RawExtension `json:"manifest"`

	// Set writes values into the manifest. Its expressions see generation.number and
	// generation.id, too. They may use no secret.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	Set []ManifestField `json:"set,omitempty"`

	// Outputs beside the resource's connection details: expressions over its observed
	// state, as resource, and secret.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.matches('^[-._a-zA-Z0-9]{1,253}$') && k != '.' && !k.startsWith('..') && size(self[k]) > 0 && size(self[k]) <= 4096)",message="a key must be one of a Secret, and its expression have 1 to 4096 characters"
	Outputs map[string]string `json:"outputs,omitempty"`

	// ReadyExpression says when the generation can be used, as true, over the same.
	// Defaults to its condition Ready.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	ReadyExpression string `json:"readyExpression,omitempty"`
}

// A ManifestField is a field of a manifest to write.
type ManifestField struct {
	// FieldPath in the manifest, for example spec.forProvider.userName.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	FieldPath string `json:"fieldPath"`

	// Value of the field, of any type that JSON has.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Value string `json:"value"`
}
