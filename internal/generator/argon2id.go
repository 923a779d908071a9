package generator

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"io"

	"golang.org/x/crypto/argon2"
	"golang.org/x/sync/semaphore"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/sensitive"
)

// The defaults are the first choice of OWASP. Its weakest choice has 7 MiB.
const (
	minMemory          = 7 // MiB
	defaultMemory      = "19Mi"
	maxIterations      = 10
	defaultIterations  = 2
	maxParallelism     = 4
	defaultParallelism = 1
)

// The sizes that RFC 9106 recommends, in bytes.
const (
	argon2Salt = 16
	argon2Tag  = 32
)

// hashingMemory is shared by all requests, so that many of them together need no more memory than one.
var hashingMemory = semaphore.NewWeighted(limits.HashingMemory >> 10) // KiB

var errLargePassword = fmt.Errorf("the password has more than %d bytes", limits.SourceBytes)

// An Argon2id hashes passwords. It is immutable, and safe for concurrent use.
type Argon2id struct {
	memory, iterations uint32 // memory in KiB
	threads            uint8
}

// CompileArgon2id compiles a section of the input at a path, except for its expression, or returns all diagnostics.
func CompileArgon2id(at *field.Path, in *v1beta1.Argon2idGenerator) (*Argon2id, field.ErrorList) {
	var r refusals
	out := &Argon2id{
		memory:     r.memory(at.Child("memory"), cmp.Or(in.Memory, defaultMemory)),
		iterations: uint32(r.upTo(at.Child("iterations"), ptr.Deref(in.Iterations, defaultIterations), maxIterations)),
		threads:    r.upTo(at.Child("parallelism"), ptr.Deref(in.Parallelism, defaultParallelism), maxParallelism),
	}
	if len(r.errs) > 0 {
		return nil, r.errs
	}
	return out, nil
}

// memory returns an amount in KiB.
func (r *refusals) memory(at *field.Path, text string) uint32 {
	for mib := uint32(minMemory); mib <= limits.HashingMemory>>20; mib++ {
		if text == fmt.Sprintf("%dMi", mib) {
			return mib << 10
		}
	}
	r.refuse(at, "must be from %dMi to %dMi, without a fraction", minMemory, limits.HashingMemory>>20)
	return 0
}

func (r *refusals) upTo(at *field.Path, n, most uint64) uint8 {
	if n < 1 || n > most {
		r.refuse(at, "is %d: must be from 1 to %d", n, most)
		return 0
	}
	return uint8(n) //nolint:gosec // at most 10
}

// Keys returns the name of the only output.
func (*Argon2id) Keys() []string { return []string{hashKey} }

// Make hashes the password, in the format of the Password Hashing Competition:
// $argon2id$v=19$m=<KiB>,t=<iterations>,p=<parallelism>$<salt>$<hash>. The salt is from Random.
func (a *Argon2id) Make(from From) (Outputs, error) {
	password, salt := from.Source.Text, make([]byte, argon2Salt)
	switch n := password.Len(); {
	case n == 0:
		return nil, errNoPassword
	case n > limits.SourceBytes:
		return nil, errLargePassword
	}
	if _, err := io.ReadFull(from.Random, salt); err != nil {
		return nil, fmt.Errorf("cannot read randomness: %w", err)
	}
	if err := hashingMemory.Acquire(from.context(), int64(a.memory)); err != nil {
		return nil, fmt.Errorf("cannot wait for memory: %w", err)
	}
	defer hashingMemory.Release(int64(a.memory))
	tag := argon2.IDKey(password.Reveal(), salt, a.iterations, a.memory, a.threads, argon2Tag)
	encode := base64.RawStdEncoding.EncodeToString
	return Outputs{hashKey: sensitive.FromString(fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s",
		argon2.Version, a.memory, a.iterations, a.threads, encode(salt), encode(tag)))}, nil
}
