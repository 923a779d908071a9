package plan

import (
	"context"
	"encoding/hex"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/lru"

	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// A Cache compiles each distinct input once, and keeps the plans that were used
// last. It knows an input by its content. It is safe for concurrent use: who
// asks for an input that is being compiled waits for it.
type Cache struct {
	env *expression.Environment

	mu      sync.Mutex
	entries *lru.Cache // of compilation, by the digest of the input

	tenants *tenantExpressions
}

// A compilation compiles one input, once: who comes later gets what the first
// one got.
type compilation func() (*Plan, field.ErrorList)

// NewCache returns an empty cache.
func NewCache(env *expression.Environment) *Cache {
	return &Cache{env: env, entries: lru.New(limits.Plans), tenants: &tenantExpressions{entries: lru.New(limits.TenantExpressionsKept)}}
}

// Get the plan of an input, or its faults. hit reports whether the cache had it.
// The input is not kept.
func (c *Cache) Get(input wire.Struct) (p *Plan, faults field.ErrorList, hit bool) {
	key, size := digestOf(input)
	if size > limits.InputBytes {
		return nil, tooLarge(size), false
	}
	compile, hit := c.compilation(key, input)
	p, faults = compile()
	return p, faults, hit
}

// tooLarge refuses an input of so many bytes.
func tooLarge(size int) field.ErrorList {
	return field.ErrorList{invalid(nil, "has %d bytes, over the limit of %d: split it into several pipeline steps", size, limits.InputBytes)}
}

func (c *Cache) compilation(key digest, input wire.Struct) (compilation, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries.Get(key); ok {
		return e.(compilation), true //nolint:forcetypeassert // the cache holds nothing else
	}
	e := compilation(sync.OnceValues(func() (*Plan, field.ErrorList) {
		// Not with the context of whoever came first: the others wait for it, and one of
		// them may run this. Proto is for any goroutine.
		p, faults := Compile(context.Background(), c.env, input.Proto())
		if p != nil {
			p.id = hex.EncodeToString(key[:8])
		}
		if p != nil && p.tenants != nil {
			p.tenants.plan, p.tenants.compile = p.id, c.tenants
		}
		return p, faults
	}))
	c.entries.Add(key, e)
	return e, false
}

// tenantExpressions keeps expressions of composites' authors compiled: a plan knows
// them only in a request. It is safe for concurrent use; nil keeps none.
type tenantExpressions struct {
	entries *lru.Cache // of compiledExpression, by tenantKey
}

// A tenantKey names an expression. What it may use is up to the plan.
type tenantKey struct {
	plan   string
	source expression.Source
}

// A compiledExpression is an expression, or its faults.
type compiledExpression struct {
	x      *expression.Expression
	faults []string
}

// get the expression, from compile unless it is kept.
func (t *tenantExpressions) get(key tenantKey, compile func() compiledExpression) compiledExpression {
	if t == nil || len(key.source.Text) > limits.TenantBytesKept {
		return compile()
	}
	if c, ok := t.entries.Get(key); ok {
		return c.(compiledExpression) //nolint:forcetypeassert // the cache holds nothing else
	}
	c := compile()
	t.entries.Add(key, c)
	return c
}
