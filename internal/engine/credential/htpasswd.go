package credential

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

// auth is the only output of an Htpasswd. It is the key that ingress-nginx reads.
const auth = "auth"

var (
	errNoUsers = errors.New("the map of secretExpression is empty: it must have at least one user")
	errUser    = errors.New("the name of a user is not valid: it must be visible characters without ':', " +
		"and not begin with '#' or a space")
)

// An Htpasswd writes files of users and the hashes of their passwords. It is immutable, and safe for concurrent use.
type Htpasswd struct{ cost int }

// NewHtpasswd compiles a section of the input, except for its expression.
func NewHtpasswd(in *v1beta1.HtpasswdGenerator) *Htpasswd { return &Htpasswd{cost: cost(in.Cost)} }

// Keys returns the name of the only output.
func (*Htpasswd) Keys() []string { return []string{auth} }

// Make writes one line for each user, sorted by name, with a bcrypt hash. Its prefix is $2y$, as Apache writes it. The
// hash is the same as with $2a$.
func (h *Htpasswd) Make(from From) (Outputs, error) {
	passwords := from.Source.Map
	switch most := limits.HtpasswdWork >> h.cost; {
	case len(passwords) == 0:
		return nil, errNoUsers
	case len(passwords) > most:
		return nil, fmt.Errorf("there are more than %d users, which is the limit with a cost of %d: set a lower cost, "+
			"or add another generator for some of them", most, h.cost)
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
		hash, err := hashOf(from, passwords[user], h.cost)
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
