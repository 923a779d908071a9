package generator

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // authenticator apps use it: as an HMAC it is not broken
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"strings"
	"time"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/sensitive"
)

// The outputs of a TOTP.
const (
	token      = "token"
	validUntil = "validUntil"
)

// With a shorter period, a token would end before it is used. With a longer one, it would be a password.
const (
	minPeriod = 5 * time.Second
	maxPeriod = time.Hour
)

var hashes = map[string]func() hash.Hash{"": sha1.New, "SHA1": sha1.New, "SHA256": sha256.New, "SHA512": sha512.New}

var errSecret = errors.New("the shared secret is not base32, or is empty")

// A TOTP computes one-time passwords by RFC 6238. It is immutable, and safe for concurrent use.
type TOTP struct {
	hash   func() hash.Hash
	digits int
	period int64 // seconds
}

// CompileTOTP compiles a section of the input at a path, except for its expression, or returns all diagnostics.
func CompileTOTP(at *field.Path, in *v1beta1.TOTPGenerator) (*TOTP, field.ErrorList) {
	var r refusals
	digits := ptr.Deref(in.Digits, 6)
	if digits < 6 || digits > 8 {
		r.refuse(at.Child("digits"), "is %d: must be 6, 7 or 8", digits)
	}
	period := ptr.Deref(in.Period, metav1.Duration{Duration: 30 * time.Second}).Duration
	switch is := DurationText(period); {
	case period < minPeriod || period > maxPeriod:
		r.refuse(at.Child("period"), "is %s: must be from %s to %s", is, DurationText(minPeriod), DurationText(maxPeriod))
	case period%time.Second != 0:
		r.refuse(at.Child("period"), "is %s: must be whole seconds", is)
	}
	newHash, ok := hashes[in.Algorithm]
	if !ok {
		r.refuse(at.Child("algorithm"), "must be SHA1, SHA256 or SHA512")
	}
	if len(r.errs) > 0 {
		return nil, r.errs
	}
	//nolint:gosec // digits are 6 to 8
	return &TOTP{hash: newHash, digits: int(digits), period: int64(period / time.Second)}, nil
}

// Keys are the names of the outputs.
func (t *TOTP) Keys() []string { return []string{token, validUntil} }

// Make computes the token of a moment from the shared secret in base32, in the forms that apps show: with or without
// groups and padding, in either case. left is how long all outputs stay the same, from a second to the period, in whole
// seconds, rounded up. Errors contain no part of the secret.
func (t *TOTP) Make(secret string, now time.Time) (o Outputs, left time.Duration, err error) {
	key, err := sharedSecret(secret)
	if err != nil {
		return nil, 0, err
	}
	step, over := now.Unix()/t.period, now.Unix()%t.period
	o = Outputs{
		token:      sensitive.FromString(t.code(key, uint64(step))), //nolint:gosec // after 1970
		validUntil: sensitive.FromString(time.Unix((step+1)*t.period, 0).UTC().Format(time.RFC3339)),
	}
	return o, time.Duration(t.period-over) * time.Second, nil
}

// code is the HOTP of RFC 4226, section 5.3, with the hash of RFC 6238.
func (t *TOTP) code(key []byte, counter uint64) string {
	mac := hmac.New(t.hash, key)
	_, _ = mac.Write(binary.BigEndian.AppendUint64(nil, counter)) // it never fails
	sum := mac.Sum(nil)
	offset := sum[len(sum)-1] & 0x0f
	number := binary.BigEndian.Uint32(sum[offset:]) & 0x7fffffff
	return fmt.Sprintf("%0*d", t.digits, number%[...]uint32{6: 1e6, 7: 1e7, 8: 1e8}[t.digits])
}

func sharedSecret(s string) ([]byte, error) {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '-' || unicode.IsSpace(r):
			return -1
		case 'a' <= r: // other characters stay invalid; strings.ToUpper maps letters outside of ASCII to valid ones
			return r - 'a' + 'A'
		}
		return r
	}, s)
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.TrimRight(s, "="))
	if err != nil || len(key) == 0 { // the error has an offset, which tells about the secret
		return nil, errSecret
	}
	return key, nil
}
