package credential

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/crypto/bcrypt"
	"k8s.io/utils/ptr"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

// hashKey is the only output of bcrypt.
const hashKey = "hash"

const defaultCost = 10

// maxBcryptPassword is the number of bytes that bcrypt reads.
const maxBcryptPassword = 72

var (
	errNoPassword   = errors.New("a password is empty: check the value of secretExpression")
	errLongPassword = fmt.Errorf("a password has more than %d bytes, of which bcrypt would ignore the rest: "+
		"use a shorter password", maxBcryptPassword)
	errZeroByte = errors.New("a password contains a zero byte, where many programs end it: use a password of text")
)

// NewBcrypt compiles a section of the input, except for its expression. A hash has the prefix $2a$, which all programs
// accept.
func NewBcrypt(in *v1beta1.BcryptGenerator) Kind {
	return Kind{Keys: []string{hashKey}, Make: func(from From) (Outputs, error) {
		if err := checkPassword(from.Source.Text); err != nil {
			return nil, err
		}
		hash, err := hashOf(from, from.Source.Text, cost(in.Cost))
		if err != nil {
			return nil, err
		}
		return Outputs{hashKey: sensitive.New(hash)}, nil
	}}
}

func cost(in *uint64) int { return int(ptr.Deref(in, defaultCost)) } //nolint:gosec // at most 12

// checkPassword refuses passwords of which bcrypt, or a program that reads the hash, would ignore a part.
func checkPassword(password sensitive.Bytes) error {
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

// hashOf returns the bcrypt hash of a password. The salt is from the system's randomness.
func hashOf(from From, password sensitive.Bytes, cost int) ([]byte, error) {
	if seeded := from.seeded(); seeded != nil {
		return seededBcrypt(seeded, password.Reveal(), cost)
	}
	out, err := bcrypt.GenerateFromPassword(password.Reveal(), cost)
	if err != nil {
		return nil, fmt.Errorf("cannot hash a password: %w", err)
	}
	return out, nil
}

// auth is the only output of htpasswd. It is the key that ingress-nginx reads.
const auth = "auth"

var (
	errNoUsers = errors.New("the map of secretExpression is empty: it must have at least one user")
	errUser    = errors.New("the name of a user is not valid: it must be visible characters without ':', " +
		"and not begin with '#' or a space")
)

// NewHtpasswd compiles a section of the input, except for its expression. It writes one line for each user, sorted by
// name, with a bcrypt hash. Its prefix is $2y$, as Apache writes it. The hash is the same as with $2a$.
func NewHtpasswd(in *v1beta1.HtpasswdGenerator) Kind {
	return Kind{Keys: []string{auth}, Make: func(from From) (Outputs, error) {
		return htpasswd(from, cost(in.Cost))
	}}
}

func htpasswd(from From, cost int) (Outputs, error) {
	passwords := from.Source.Map
	switch most := limits.HtpasswdWork >> cost; {
	case len(passwords) == 0:
		return nil, errNoUsers
	case len(passwords) > most:
		return nil, fmt.Errorf("there are more than %d users, which is the limit with a cost of %d: set a lower cost, "+
			"or add another generator for some of them", most, cost)
	}
	users := slices.Sorted(maps.Keys(passwords))
	for _, user := range users { // before the first hash, because an error is repeated in each reconcile
		if !isUser(user) {
			return nil, errUser
		}
		if err := checkPassword(passwords[user]); err != nil {
			return nil, err
		}
	}
	var out bytes.Buffer
	for _, user := range users {
		hash, err := hashOf(from, passwords[user], cost)
		if err != nil {
			return nil, err
		}
		_, _ = fmt.Fprintf(&out, "%s:$2y$%s\n", user, bytes.TrimPrefix(hash, []byte("$2a$"))) // it never fails
	}
	return Outputs{auth: sensitive.New(out.Bytes())}, nil
}

// isUser reports whether Apache and nginx read a name from a line as it was written. To them, '#' begins a comment.
func isUser(name string) bool {
	return name != "" && name[0] != '#' && name[0] != ' ' && !strings.Contains(name, ":") && isLine(name)
}
