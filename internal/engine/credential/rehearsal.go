package credential

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"slices"

	"golang.org/x/crypto/blowfish" //nolint:staticcheck // bcrypt is built on it
)

// A rehearsal shows what a Composition generates at a moment, and shows the same each time. Go takes the randomness of
// keys, serial numbers, signatures and hashes from the system, whatever source it is given. So a rehearsal derives them
// from its source in this file. They are not secret: the source is derived from the files.

// Seeded is the source of a rehearsal. Only a command that composes nothing uses it.
type Seeded struct{ io.Reader }

// seeded returns the source of a rehearsal, or nil outside of one.
func (f From) seeded() io.Reader {
	if s, ok := f.Random.(Seeded); ok {
		return s
	}
	return nil
}

// seededECDSA draws private keys until one is in the range of the curve.
func seededECDSA(source io.Reader, curve elliptic.Curve) (crypto.Signer, error) {
	for {
		scalar, err := randomBytes(source, (curve.Params().BitSize+7)/8)
		if err != nil {
			return nil, err
		}
		scalar[0] &= byte(1<<((curve.Params().BitSize-1)%8+1) - 1)
		if key, err := ecdsa.ParseRawPrivateKey(curve, scalar); err == nil {
			return key, nil
		}
	}
}

// rsaExponent is the public exponent of all keys.
const rsaExponent = 65537

// seededRSA looks for two primes of half the size whose product has the whole size.
func seededRSA(source io.Reader, bits int) (crypto.Signer, error) {
	for one, e := big.NewInt(1), big.NewInt(rsaExponent); ; {
		p, err := seededPrime(source, bits/2)
		if err != nil {
			return nil, err
		}
		q, err := seededPrime(source, bits/2)
		if err != nil {
			return nil, err
		}
		totient := new(big.Int).Mul(new(big.Int).Sub(p, one), new(big.Int).Sub(q, one))
		key := &rsa.PrivateKey{
			PublicKey: rsa.PublicKey{N: new(big.Int).Mul(p, q), E: rsaExponent},
			D:         new(big.Int).ModInverse(e, totient), Primes: []*big.Int{p, q},
		}
		if key.D != nil { // otherwise the exponent divides a factor of the totient
			key.Precompute()
			return key, key.Validate()
		}
	}
}

// seededPrime returns the next prime after a random number, whose two highest bits are set.
func seededPrime(source io.Reader, bits int) (*big.Int, error) {
	b, err := randomBytes(source, bits/8)
	if err != nil {
		return nil, err
	}
	b[0] |= 0b1100_0000
	b[len(b)-1] |= 1
	p, two := new(big.Int).SetBytes(b), big.NewInt(2)
	for !p.ProbablyPrime(20) {
		p.Add(p, two)
	}
	return p, nil
}

// seededBcrypt hashes a password as golang.org/x/crypto/bcrypt does, with a salt from the source.
func seededBcrypt(source io.Reader, password []byte, cost int) ([]byte, error) {
	salt, err := randomBytes(source, 16)
	if err != nil {
		return nil, err
	}
	key := append(bytes.Clone(password), 0)
	c, err := blowfish.NewSaltedCipher(key, salt)
	if err != nil {
		return nil, fmt.Errorf("cannot use a password: %w", err)
	}
	for range 1 << cost {
		blowfish.ExpandKey(key, c)
		blowfish.ExpandKey(salt, c)
	}
	hash := []byte("OrpheanBeholderScryDoubt")
	for i := 0; i < len(hash); i += blowfish.BlockSize {
		for range 64 {
			c.Encrypt(hash[i:i+blowfish.BlockSize], hash[i:i+blowfish.BlockSize])
		}
	}
	const letters = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	encode := base64.NewEncoding(letters).WithPadding(base64.NoPadding).EncodeToString
	return fmt.Appendf(nil, "$2a$%02d$%s%s", cost, encode(salt), encode(hash[:len(hash)-1])), nil
}

// seededOpenSSH replaces the two random check numbers of a private key that is not encrypted. They follow the public
// key, whose size is after the name of the format and the parts about encryption.
func seededOpenSSH(source io.Reader, b *pem.Block) error {
	const size = len("openssh-key-v1\x00" + "0004none" + "0004none" + "0000" + "0001")
	check, err := randomBytes(source, 4)
	copy(b.Bytes[size+4+int(binary.BigEndian.Uint32(b.Bytes[size:]))+4:], slices.Concat(check, check))
	return err
}
