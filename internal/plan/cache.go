package plan

import (
	"context"
	"sync"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/lru"

	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/limits"
)

// A Cache compiles each distinct input once, and keeps the plans that were used
// last. It knows an input by its content. It is safe for concurrent use: who
// asks for an input that is being compiled waits for it.
type Cache struct {
	env *expression.Environment

	mu      sync.Mutex
	entries *lru.Cache // of *compilation, by the digest of the input
}

// A compilation is one input, compiled or about to be.
type compilation struct {
	once   sync.Once
	plan   *Plan
	faults field.ErrorList
}

// NewCache returns an empty cache.
func NewCache(env *expression.Environment) *Cache {
	return &Cache{env: env, entries: lru.New(limits.Plans)}
}

// Get the plan of an input, or its faults. hit reports whether the cache had it.
// The input is not kept.
func (c *Cache) Get(input *structpb.Struct) (p *Plan, faults field.ErrorList, hit bool) {
	key, size := digestOf(input)
	if size > limits.InputBytes {
		return nil, field.ErrorList{invalid(nil, "has %d bytes, over the limit of %d: split it into several pipeline steps", size, limits.InputBytes)}, false
	}
	e, hit := c.entry(key)
	e.once.Do(func() {
		// Not with the context of whoever came first: the others wait for it.
		e.plan, e.faults = Compile(context.Background(), c.env, input)
	})
	return e.plan, e.faults, hit
}

func (c *Cache) entry(key digest) (*compilation, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries.Get(key); ok {
		return e.(*compilation), true //nolint:forcetypeassert // the cache holds nothing else
	}
	e := &compilation{}
	c.entries.Add(key, e)
	return e, false
}
