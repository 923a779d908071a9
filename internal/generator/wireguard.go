package generator

import (
	"crypto/ecdh"
	"encoding/base64"
	"fmt"
	"io"

	"github.com/crossplane-contrib/function-export/internal/sensitive"
)

// presharedKey is an output of a WireGuard, besides privateKey and publicKey.
const presharedKey = "presharedKey"

// wireGuardKey is the size of each key in bytes.
const wireGuardKey = 32

// A WireGuard generates key pairs for WireGuard. It is immutable, and safe for concurrent use.
type WireGuard struct{}

// Keys are the names of the outputs.
func (*WireGuard) Keys() []string { return []string{privateKey, publicKey, presharedKey} }

// Make generates keys from 64 bytes of Random, as `wg genkey` and `wg genpsk` do. It fails only if Random fails.
func (*WireGuard) Make(from From) (Outputs, error) {
	random := make([]byte, 2*wireGuardKey)
	if _, err := io.ReadFull(from.Random, random); err != nil {
		return nil, fmt.Errorf("cannot read randomness: %w", err)
	}
	private, preshared := random[:wireGuardKey], random[wireGuardKey:]
	private[0] &= 0b1111_1000 // the bits of RFC 7748, section 5
	private[wireGuardKey-1] = private[wireGuardKey-1]&0b0111_1111 | 0b0100_0000
	key, err := ecdh.X25519().NewPrivateKey(private)
	if err != nil {
		return nil, fmt.Errorf("cannot generate a key: %w", err)
	}
	encode := func(b []byte) sensitive.Bytes { return sensitive.FromString(base64.StdEncoding.EncodeToString(b)) }
	return Outputs{
		privateKey: encode(private), publicKey: encode(key.PublicKey().Bytes()), presharedKey: encode(preshared),
	}, nil
}
