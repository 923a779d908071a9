package generator

import (
	"cmp"
	"crypto"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/go-jose/go-jose/v4"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/sensitive"
)

// The outputs of a JWK, besides privateKey and publicKey.
const (
	jwkKey = "jwk"
	jwks   = "jwks"
	kid    = "kid"
)

// defaultAlgorithm has the shortest keys that all libraries know.
const defaultAlgorithm = "ES256"

// curveKeys are the keys of the algorithms that have one size.
var curveKeys = map[string]keyFunc{
	"ES256": ecdsaKey(elliptic.P256()),
	"ES384": ecdsaKey(elliptic.P384()),
	"ES512": ecdsaKey(elliptic.P521()),
	"EdDSA": ed25519Key,
}

// rsaAlgorithms have keys of several sizes.
var rsaAlgorithms = map[string]bool{
	"RS256": true, "RS384": true, "RS512": true, "PS256": true, "PS384": true, "PS512": true,
}

// A JWK generates keys for JSON Web Tokens. It is immutable, and safe for concurrent use.
type JWK struct {
	algorithm string
	newKey    keyFunc
}

// CompileJWK compiles a section of the input at a path, or returns all diagnostics.
func CompileJWK(at *field.Path, in *v1beta1.JWKGenerator) (*JWK, field.ErrorList) {
	var r refusals
	out := &JWK{algorithm: cmp.Or(in.Algorithm, defaultAlgorithm)}
	sizes := sshSizes[rsaType]
	bits := ptr.Deref(in.Bits, sizes.standard)
	out.newKey = curveKeys[out.algorithm]
	switch isRSA := rsaAlgorithms[out.algorithm]; {
	case !isRSA && out.newKey == nil:
		r.refuse(at.Child("algorithm"), "must be ES256, ES384, ES512, EdDSA, RS256, RS384, RS512, PS256, PS384 or PS512")
	case isRSA && sizes.keys[bits] == nil:
		r.refuse(at.Child("bits"), "is %d: must be %s", bits, sizes.known)
	case isRSA:
		out.newKey = sizes.keys[bits]
	case in.Bits != nil:
		r.refuse(at.Child("bits"), "must not be set for algorithm %s, which has one size: "+
			"leave it out, or set algorithm to RS256", out.algorithm)
	}
	if len(r.errs) > 0 {
		return nil, r.errs
	}
	return out, nil
}

// IsRSA reports whether the key of an algorithm is an RSA key, which takes a long time to generate.
func IsRSA(algorithm string) bool { return rsaAlgorithms[algorithm] }

// Keys are the names of the outputs.
func (*JWK) Keys() []string { return []string{jwkKey, jwks, kid, privateKey, publicKey} }

// Make generates a key. Its ID is its thumbprint by RFC 7638, so that two generations never have the same ID.
func (k *JWK) Make(From) (Outputs, error) {
	key, err := k.newKey()
	if err != nil {
		return nil, fmt.Errorf("cannot generate a key: %w", err)
	}
	private := jose.JSONWebKey{Key: key, Algorithm: k.algorithm, Use: "sig"}
	thumbprint, err := private.Thumbprint(crypto.SHA256)
	if err != nil {
		return nil, fmt.Errorf("cannot identify a key: %w", err)
	}
	private.KeyID = base64.RawURLEncoding.EncodeToString(thumbprint)
	out := Outputs{kid: sensitive.FromString(private.KeyID)}
	for name, value := range map[string]any{
		jwkKey: private, jwks: jose.JSONWebKeySet{Keys: []jose.JSONWebKey{private.Public()}},
	} {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("cannot encode %s: %w", name, err)
		}
		out[name] = sensitive.New(text)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, fmt.Errorf("cannot encode a public key: %w", err)
	}
	out[publicKey] = block(publicKeyBlock, public)
	out[privateKey], err = keyInPEM(key, pkcs8Format)
	return out, err
}
