package generator

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
)

func TestCompileJWKFaults(t *testing.T) {
	n := ptr.To[uint64]
	cases := map[string]struct {
		reason string
		in     v1beta1.JWKGenerator
		want   []string
	}{
		"Default": {reason: "all has defaults"},
		"RSA":     {reason: "an RSA key has a default size", in: v1beta1.JWKGenerator{Algorithm: "PS512"}},
		"Bits":    {reason: "one of the sizes", in: v1beta1.JWKGenerator{Algorithm: "RS256", Bits: n(4096)}},
		"None": {
			reason: "a signature without a key proves nothing", in: v1beta1.JWKGenerator{Algorithm: "none"},
			want: []string{"jwk.algorithm: must be ES256, ES384, ES512, EdDSA, RS256, RS384, RS512, PS256, PS384 or PS512"},
		},
		"HMAC": {
			reason: "there is no public key", in: v1beta1.JWKGenerator{Algorithm: "HS256", Bits: n(256)},
			want: []string{"jwk.algorithm: must be ES256, ES384, ES512, EdDSA, RS256, RS384, RS512, PS256, PS384 or PS512"},
		},
		"Short": {
			reason: "short keys are broken", in: v1beta1.JWKGenerator{Algorithm: "RS256", Bits: n(1024)},
			want: []string{"jwk.bits: is 1024: must be 2048, 3072 or 4096"},
		},
		"Zero": {
			reason: "a zero that is set is no default", in: v1beta1.JWKGenerator{Algorithm: "RS256", Bits: n(0)},
			want: []string{"jwk.bits: is 0: must be 2048, 3072 or 4096"},
		},
		"BitsOfCurve": {
			reason: "even the right size", in: v1beta1.JWKGenerator{Bits: n(256)},
			want: []string{"jwk.bits: must not be set for algorithm ES256, which has one size: leave it out, or set algorithm to RS256"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, faults := CompileJWK(field.NewPath("jwk"), &tc.in)
			if diff := cmp.Diff(tc.want, faultTexts(faults)); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func jwk(t testing.TB, in v1beta1.JWKGenerator) *JWK {
	t.Helper()
	k, faults := CompileJWK(field.NewPath("jwk"), &in)
	if len(faults) > 0 {
		t.Fatal(faults.ToAggregate())
	}
	return k
}

// publicMembers are those of RFC 7517 and RFC 7518, without code of the library.
func publicMembers(t *testing.T, key crypto.PublicKey) map[string]string {
	t.Helper()
	encode := base64.RawURLEncoding.EncodeToString
	switch key := key.(type) {
	case *ecdsa.PublicKey:
		point, err := key.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		half := len(point) / 2
		return map[string]string{"kty": "EC", "crv": key.Params().Name, "x": encode(point[1 : 1+half]), "y": encode(point[1+half:])}
	case *rsa.PublicKey:
		return map[string]string{"kty": "RSA", "e": "AQAB", "n": encode(key.N.Bytes())}
	case ed25519.PublicKey:
		return map[string]string{"kty": "OKP", "crv": "Ed25519", "x": encode(key)}
	}
	t.Fatalf("a key of type %T", key)
	return nil
}

func TestJWKMake(t *testing.T) {
	for algorithm, private := range map[string][]string{
		"ES256": {"d"}, "ES384": {"d"}, "ES512": {"d"}, "EdDSA": {"d"},
		"RS256": {"d", "p", "q", "dp", "dq", "qi"}, "PS384": {"d", "p", "q", "dp", "dq", "qi"},
	} {
		t.Run(algorithm, func(t *testing.T) {
			in := v1beta1.JWKGenerator{Algorithm: algorithm}
			if IsRSA(algorithm) {
				in.Bits = ptr.To[uint64](2048)
			}
			k := jwk(t, in)
			o, err := k.Make(From{})
			if err != nil {
				t.Fatal(err)
			}
			haveKeys(t, o, k.Keys())
			pkix, _ := x509.ParsePKIXPublicKey(onlyBlock(o[publicKey].Reveal()).Bytes)
			key := parseKeyBlock(onlyBlock(o[privateKey].Reveal()))
			if key == nil || !isKeyOf(key, pkix) {
				t.Fatal("publicKey is not that of privateKey")
			}
			want := publicMembers(t, key.Public())
			canonical, _ := json.Marshal(want) // sorted and without spaces, as RFC 7638 requires
			sum := sha256.Sum256(canonical)
			if diff := cmp.Diff(base64.RawURLEncoding.EncodeToString(sum[:]), string(o[kid].Reveal())); diff != "" {
				t.Errorf("kid -want +got:\n%s", diff)
			}
			want["kid"], want["alg"], want["use"] = string(o[kid].Reveal()), algorithm, "sig"
			var set struct{ Keys []map[string]string }
			if err := json.Unmarshal(o[jwks].Reveal(), &set); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]map[string]string{want}, set.Keys); diff != "" {
				t.Errorf("public key -want +got:\n%s", diff)
			}
			var all map[string]string
			if err := json.Unmarshal(o[jwkKey].Reveal(), &all); err != nil {
				t.Fatal(err)
			}
			for _, name := range private {
				if all[name] == "" {
					t.Errorf("the private key has no %s", name)
				}
				delete(all, name)
			}
			if diff := cmp.Diff(want, all); diff != "" {
				t.Errorf("public part of the private key -want +got:\n%s", diff)
			}
			signAndVerify(t, o, key)
		})
	}
}

// signAndVerify signs with the private key as it was read back, and verifies with the key set.
func signAndVerify(t *testing.T, o Outputs, inPEM crypto.Signer) {
	t.Helper()
	var key jose.JSONWebKey
	if err := key.UnmarshalJSON(o[jwkKey].Reveal()); err != nil {
		t.Fatal(err)
	}
	if !key.Key.(interface {
		Equal(x crypto.PrivateKey) bool
	}).Equal(inPEM) {
		t.Error("jwk is not the key in PEM")
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(key.Algorithm), Key: key}, nil)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signer.Sign([]byte("claims"))
	if err != nil {
		t.Fatal(err)
	}
	text, _ := token.CompactSerialize()
	read, err := jose.ParseSignedCompact(text, []jose.SignatureAlgorithm{jose.SignatureAlgorithm(key.Algorithm)})
	if err != nil {
		t.Fatal(err)
	}
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(o[jwks].Reveal(), &set); err != nil {
		t.Fatal(err)
	}
	if _, err := read.Verify(set.Key(string(o[kid].Reveal()))[0]); err != nil {
		t.Error(err)
	}
}

// A coordinate that begins with zeros keeps them: RFC 7518 requires the full size.
func TestJWKCoordinatesAreFull(t *testing.T) {
	k := &JWK{algorithm: "ES512", newKey: ecdsaKey(elliptic.P521())}
	for range 20 { // each one begins with zero bits, every second one with a zero byte
		o, err := k.Make(From{})
		if err != nil {
			t.Fatal(err)
		}
		var key map[string]string
		if err := json.Unmarshal(o[jwkKey].Reveal(), &key); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"x", "y", "d"} {
			if b, err := base64.RawURLEncoding.DecodeString(key[name]); err != nil || len(b) != 66 {
				t.Errorf("%s has %d bytes, %v", name, len(b), err)
			}
		}
	}
}

func TestJWKMakeErrors(t *testing.T) {
	k := &JWK{algorithm: "ES256", newKey: func() (crypto.Signer, error) { return nil, fmt.Errorf("no entropy") }}
	fails(t, k, From{}, "cannot generate a key: no entropy")
}

func BenchmarkJWKMake(b *testing.B) {
	for _, algorithm := range []string{"ES256", "ES512", "EdDSA", "RS256"} {
		k := jwk(b, v1beta1.JWKGenerator{Algorithm: algorithm})
		b.Run(strings.ToLower(algorithm), func(b *testing.B) {
			for b.Loop() {
				if _, err := k.Make(From{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
