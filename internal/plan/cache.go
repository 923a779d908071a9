package plan

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"sync"

	"k8s.io/utils/lru"

	"github.com/crossplane-contrib/function-export/internal/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// A Cache compiles each distinct input once, and keeps the plans that were used
// last. It knows an input by its content. It is safe for concurrent use: a caller waits
// while its input is being compiled for another one.
type Cache struct {
	env *expression.Environment

	mu      sync.Mutex
	entries *lru.Cache // of compilation, by the digest of the input

	authors *authorExpressions
}

// A compilation compiles one input once: later callers get the same result.
type compilation func() (*Plan, diagnostic.List)

// NewCache returns an empty cache.
func NewCache(env *expression.Environment) *Cache {
	return &Cache{env: env, entries: lru.New(limits.Plans),
		authors: &authorExpressions{entries: lru.New(limits.AuthorExpressionsCached)}}
}

// Get the plan of an input, or its diagnostics. hit reports whether the cache had it.
// The input is not kept.
func (c *Cache) Get(input wire.Struct) (p *Plan, diagnostics diagnostic.List, hit bool) {
	key, size := DigestOf(input)
	if size > limits.InputBytes {
		return nil, TooLarge(size), false
	}
	compile, hit := c.compilation(key, input)
	p, diagnostics = compile()
	return p, diagnostics, hit
}

// TooLarge refuses an input of so many bytes.
func TooLarge(size int) diagnostic.List {
	return diagnostic.List{wrong(nil, "has %d bytes, over the limit of %d: split it into several pipeline steps", size,
		limits.InputBytes)}
}

func (c *Cache) compilation(key Digest, input wire.Struct) (compilation, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries.Get(key); ok {
		return e.(compilation), true //nolint:forcetypeassert // the cache holds nothing else
	}
	e := compilation(sync.OnceValues(func() (*Plan, diagnostic.List) {
		// The context of the first caller would end this for the others, who wait for it.
		// Proto can be called on any goroutine.
		p, diagnostics := Compile(context.Background(), c.env, input.Proto())
		if p != nil {
			p.id = hex.EncodeToString(key[:8])
		}
		if p != nil && p.Authors != nil {
			p.Authors.plan, p.Authors.compile = p.id, c.authors
		}
		return p, diagnostics
	}))
	c.entries.Add(key, e)
	return e, false
}

// authorExpressions keeps expressions of composites' authors compiled: a plan knows
// them only in a request. It is safe for concurrent use; nil keeps none.
type authorExpressions struct {
	entries *lru.Cache // of compiledExpression, by authorKey
}

// An authorKey names an expression. The plan says what it may use.
type authorKey struct {
	plan   string
	source expression.Source
}

// A compiledExpression is an expression, or its diagnostics.
type compiledExpression struct {
	x           *expression.Expression
	diagnostics []string
}

// get the expression, from compile unless it is kept.
func (t *authorExpressions) get(key authorKey, compile func() compiledExpression) compiledExpression {
	if t == nil || len(key.source.Text) > limits.AuthorExpressionCharactersCached {
		return compile()
	}
	if c, ok := t.entries.Get(key); ok {
		return c.(compiledExpression) //nolint:forcetypeassert // the cache holds nothing else
	}
	c := compile()
	t.entries.Add(key, c)
	return c
}

// A Digest is the SHA-256 of what an input says, in a form that only equal
// inputs share: a letter for each kind of value, lengths before contents, keys
// in their order.
//
// It is what proto's deterministic marshalling would be hashed for, at a fifth
// of the cost, which is spent on every request.
type Digest [sha256.Size]byte

// buffers hold encoded inputs while they are hashed.
var buffers = sync.Pool{New: func() any { return new([]byte) }} //nolint:gochecknoglobals // a pool

// DigestOf an input, and its size in the encoded form, in bytes.
func DigestOf(input wire.Struct) (Digest, int) {
	b, _ := buffers.Get().(*[]byte)
	*b = AppendStruct((*b)[:0], input)
	d, n := sha256.Sum256(*b), len(*b)
	buffers.Put(b)
	return d, n
}

// AppendStruct appends an object in the form of a digest.
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

// AppendValue appends a value in the form of a digest.
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
		l := v.List()
		b = binary.AppendUvarint(append(b, 'l'), uint64(l.Len())) //nolint:gosec // a length
		for _, e := range l.All() {
			b = AppendValue(b, e)
		}
		return b
	}
	return append(b, '0')
}
