// Package budget limits the work of the function for one request.
//
// Each piece of work spends fuel before it begins. A unit of fuel is about the work of one call in an expression. In
// measurements with rules, a unit took up to 0.7 microseconds of CPU. Fuel does not depend on the machine: the same
// request always stops at the same point. When the context of the request is done, the budget returns no more fuel.
//
// A budget limits work, not memory, and does not depend on the kind of work.
package budget

import (
	"context"
	"errors"
	"time"

	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// ErrSpent is the error for a request that exceeds its budget.
var ErrSpent = errors.New("it exceeds the limit of work for one request")

// A Budget is the remaining budget of one request. It is not safe for concurrent use, because the work of a request has
// a fixed order.
type Budget struct {
	ctx context.Context

	fuel  int64         // for all work
	grant int64         // for one expression
	time  time.Duration // for all expressions

	// Waiting, Failed and OK count the evaluations of expressions by their outcome.
	OK, Waiting, Failed int
}

// New returns the budget of one request.
func New(ctx context.Context) *Budget {
	return &Budget{ctx: ctx, fuel: limits.RequestFuel, grant: limits.Fuel, time: limits.RequestTime}
}

// NewAuthor returns the budget of the exports of one composite author in one request.
func NewAuthor(ctx context.Context) *Budget {
	return &Budget{ctx: ctx, fuel: limits.AuthorRequestFuel, grant: limits.AuthorFuel, time: limits.AuthorTime}
}

// Context returns the context of the request.
func (b *Budget) Context() context.Context { return b.ctx }

// Left returns the remaining fuel.
func (b *Budget) Left() int64 { return b.fuel }

// Can returns nil if a piece of work of n units may begin, and an error otherwise. It spends nothing.
func (b *Budget) Can(n int64) error {
	if err := b.ctx.Err(); err != nil {
		return err
	}
	if n > min(b.fuel, limits.PieceFuel) {
		return ErrSpent
	}
	return nil
}

// Spend spends n units for work that is about to begin, or returns an error. Refused work spends nothing, and a smaller
// piece of work may still be done.
func (b *Budget) Spend(n int64) error {
	err := b.Can(n)
	if err == nil {
		b.fuel -= n
	}
	return err
}

// Take spends n units for work that is already done, because its cost was not known before.
func (b *Budget) Take(n int64) { b.fuel = max(0, b.fuel-n) }

// Grant returns the fuel and the time that one expression may use, or an error if nothing is left. If most is not zero,
// it is an upper limit of the fuel.
func (b *Budget) Grant(most int64) (fuel int64, left time.Duration, err error) {
	fuel = min(b.fuel, b.grant)
	if most > 0 {
		fuel = min(fuel, most)
	}
	switch {
	case b.ctx.Err() != nil:
		return 0, 0, b.ctx.Err()
	case fuel <= 0 || b.time <= 0:
		return 0, 0, ErrSpent
	}
	return fuel, min(b.time, limits.EvaluationTime), nil
}

// Evaluated spends the part of its grant that an expression used.
func (b *Budget) Evaluated(fuel int64, took time.Duration) {
	b.Take(fuel)
	b.time -= took
}

// Counted returns the cost of n items, for example keys, with the given number of bytes. An item costs as much as 64
// bytes. Copying, comparing or encoding 64 bytes takes much less than a unit. Escaping or parsing them takes about a
// unit.
func Counted(n, bytes int) int64 { return int64(n) + int64(bytes)/64 }

// Copied returns the cost of n items with the given number of bytes that are only copied or encoded.
func Copied(n, bytes int) int64 { return Counted(n, bytes/4) }

// decodedPerUnit is the number of bytes that are decoded in the time of a unit, if their fields are small.
const decodedPerUnit = 12

// Decode spends the cost of decoding the given number of bytes of protobuf into objects, and of keeping these. It is
// always one piece of work, because a request has only a few MiB.
func (b *Budget) Decode(bytes int) error {
	n := 1 + int64(bytes)/decodedPerUnit
	if err := b.Spend(min(n, limits.PieceFuel)); err != nil {
		return err
	}
	b.Take(n - min(n, limits.PieceFuel))
	return nil
}
