package plan

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"sync"

	"k8s.io/utils/lru"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A Cache compiles each distinct input once, and keeps the plans that were used last. Inputs with
// the same content are the same input. It is safe for concurrent use: a caller waits while another
// caller compiles the same input.
type Cache struct {
	env *expression.Environment

	mu      sync.Mutex
	entries *lru.Cache // of functions that compile an input once, by its digest
}

// NewCache returns an empty cache.
func NewCache(env *expression.Environment) *Cache {
	return &Cache{env: env, entries: lru.New(limits.Plans)}
}

// Get returns the plan of an input, or its diagnostics. hit reports whether the plan was in the
// cache. The input itself is not kept.
func (c *Cache) Get(input wire.Struct) (p *Plan, diagnostics diagnostic.List, hit bool) {
	key, size := DigestOf(input)
	if size > limits.InputBytes {
		return nil, tooLarge(size), false
	}
	c.mu.Lock()
	compile, hit := c.entries.Get(key)
	if !hit {
		compile = sync.OnceValues(func() (*Plan, diagnostic.List) {
			// The context of the first caller would also end the compilation for callers that wait for it.
			// Proto can be called on any goroutine.
			p, diagnostics := Compile(context.Background(), c.env, input.Proto())
			if p != nil {
				p.id = hex.EncodeToString(key[:8])
			}
			return p, diagnostics
		})
		c.entries.Add(key, compile)
	}
	c.mu.Unlock()
	p, diagnostics = compile.(func() (*Plan, diagnostic.List))() //nolint:forcetypeassert // the cache holds nothing else
	return p, diagnostics, hit
}

// tooLarge returns the diagnostic for an input that is too large.
func tooLarge(size int) diagnostic.List {
	return diagnostic.List{diagnosed("input", fmt.Sprintf("has %d bytes, over the limit of %d: split it into several "+
		"pipeline steps", size, limits.InputBytes))}
}

// A Digest is the SHA-256 of the content of an input. The content is encoded so that only equal
// inputs have the same encoding: a letter for each kind of value, lengths before contents, keys
// in order.
//
// A hash of proto's deterministic encoding would serve the same purpose at five times the cost,
// and each request pays for it.
type Digest [sha256.Size]byte

// buffers hold encoded inputs while they are hashed.
var buffers = sync.Pool{New: func() any { return new([]byte) }} //nolint:gochecknoglobals // a pool

// DigestOf returns the digest of an input, and the size of its encoding in bytes.
func DigestOf(input wire.Struct) (Digest, int) {
	b, _ := buffers.Get().(*[]byte)
	*b = AppendStruct((*b)[:0], input)
	d, n := sha256.Sum256(*b), len(*b)
	buffers.Put(b)
	return d, n
}

// AppendStruct appends an object in the encoding of a digest.
func AppendStruct(b []byte, s wire.Struct) []byte {
	b = binary.AppendUvarint(append(b, 'o'), uint64(s.Len())) //nolint:gosec // a length
	for k, v := range s.All() {
		b = AppendValue(appendText(b, k), v)
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// AppendValue appends a value in the encoding of a digest.
func AppendValue(b []byte, v wire.Value) []byte {
	switch v.Kind() {
	case wire.Absent, wire.Null:
	case wire.Text:
		return appendText(append(b, 's'), v.Text())
	case wire.Number:
		return binary.BigEndian.AppendUint64(append(b, 'n'), math.Float64bits(v.Number()))
	case wire.Bool:
		if v.Bool() {
			return append(b, 't')
		}
		return append(b, 'f')
	case wire.Object:
		return AppendStruct(b, v.Struct())
	case wire.Array:
		b = append(b, 'l')
		for _, e := range v.List().All() {
			b = AppendValue(b, e)
		}
		return append(b, 'e') // no value begins with it
	}
	return append(b, '0')
}
