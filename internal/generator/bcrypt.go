package generator

import (
	"bytes"
	"errors"
	"fmt"

	"golang.org/x/crypto/bcrypt"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/sensitive"
)

// hashKey is the only output of a Bcrypt.
const hashKey = "hash"

// Limits of the cost of bcrypt. The minimum is bcrypt's own. A server with basic authentication checks the password in
// each request, and therefore often has a low cost. A hash with the maximum takes 270 ms of CPU within one reconcile.
const (
	minCost     = bcrypt.MinCost
	maxCost     = 12
	defaultCost = 10
)

// maxBcryptPassword is the number of bytes that bcrypt reads.
const maxBcryptPassword = 72

var (
	errNoPassword   = errors.New("a password is empty: check the value of secretExpression")
	errLongPassword = fmt.Errorf("a password has more than %d bytes, of which bcrypt would ignore the rest: "+
		"use a shorter password", maxBcryptPassword)
	errZeroByte = errors.New("a password contains a zero byte, where many programs end it: use a password of text")
)

// A Bcrypt hashes passwords. It is immutable, and safe for concurrent use.
type Bcrypt struct{ cost int }

// CompileBcrypt compiles a section of the input at a path, except for its expression, or returns all diagnostics.
func CompileBcrypt(at *field.Path, in *v1beta1.BcryptGenerator) (*Bcrypt, field.ErrorList) {
	var r refusals
	cost := r.cost(at, in.Cost)
	if len(r.errs) > 0 {
		return nil, r.errs
	}
	return &Bcrypt{cost: cost}, nil
}

func (r *refusals) cost(at *field.Path, in *uint64) int {
	cost := ptr.Deref(in, defaultCost)
	if cost < uint64(minCost) || cost > maxCost {
		r.refuse(at.Child("cost"), "is %d: must be from %d to %d", cost, minCost, maxCost)
		return 0
	}
	return int(cost)
}

// Keys returns the name of the only output.
func (*Bcrypt) Keys() []string { return []string{hashKey} }

// Make hashes the password, with the prefix $2a$, which all programs accept. The salt is from the system's
// randomness.
func (b *Bcrypt) Make(from From) (Outputs, error) {
	if err := checkBcrypt(from.Source.Text); err != nil {
		return nil, err
	}
	hash, err := bcryptHash(from, from.Source.Text, b.cost)
	if err != nil {
		return nil, err
	}
	return Outputs{hashKey: sensitive.New(hash)}, nil
}

// checkBcrypt refuses passwords of which bcrypt, or a program that reads the hash, would ignore a part.
func checkBcrypt(password sensitive.Bytes) error {
	text := password.Reveal()
	switch {
	case len(text) == 0:
		return errNoPassword
	case len(text) > maxBcryptPassword:
		return errLongPassword
	case bytes.IndexByte(text, 0) >= 0:
		return errZeroByte
	}
	return nil
}

func bcryptHash(from From, password sensitive.Bytes, cost int) ([]byte, error) {
	if seeded := from.seeded(); seeded != nil {
		return seededBcrypt(seeded, password.Reveal(), cost)
	}
	hash, err := bcrypt.GenerateFromPassword(password.Reveal(), cost)
	if err != nil {
		return nil, fmt.Errorf("cannot hash a password: %w", err)
	}
	return hash, nil
}
