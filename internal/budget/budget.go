// Package budget bounds what one request may make the function do.
//
// Each piece of work is paid for in fuel before it is done. A unit is about as much work as one call in an expression,
// and took up to 0.7 microseconds of CPU where rules were measured. Fuel does not depend on the machine: the same
// request stops at the same place each time. When the context of the request is done, nothing more is paid out.
//
// A budget bounds work, not memory, and does not know what the work is.
package budget

import (
	"context"
	"errors"
	"time"

	"github.com/crossplane-contrib/function-export/internal/limits"
)

// ErrSpent says that the request has done as much as one request may.
var ErrSpent = errors.New("it is over the limit of what one request may do")

// A Budget is what is left of what one request may do. It is not safe for concurrent use: a request is worked on in
// one order.
type Budget struct {
	ctx context.Context

	fuel  int64         // of all work
	grant int64         // of one expression
	time  time.Duration // of all expressions

	// Waiting, Failed and OK count the evaluations of expressions by how they ended.
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

// Context of the request.
func (b *Budget) Context() context.Context { return b.ctx }

// Left is the fuel that is left.
func (b *Budget) Left() int64 { return b.fuel }

// Can returns nil if a piece of work of n units may begin, or why not. It takes nothing.
func (b *Budget) Can(n int64) error {
	if err := b.ctx.Err(); err != nil {
		return err
	}
	if n > min(b.fuel, limits.PieceFuel) {
		return ErrSpent
	}
	return nil
}

// Spend takes n units for work that is about to begin, or says why it must not. Refused work takes nothing: a smaller
// piece may still be done.
func (b *Budget) Spend(n int64) error {
	err := b.Can(n)
	if err == nil {
		b.fuel -= n
	}
	return err
}

// Take n units for work that was done, because its cost was not known before.
func (b *Budget) Take(n int64) { b.fuel = max(0, b.fuel-n) }

// Grant returns the fuel and the time that one expression may take, or an error if nothing is left. If most is not
// zero, the fuel is at most that.
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

// Evaluated takes what an expression used of its grant.
func (b *Budget) Evaluated(fuel int64, took time.Duration) {
	b.Take(fuel)
	b.time -= took
}

// Counted is the cost of n things and so many bytes of them. Handling a thing, for example a key, takes as long as
// handling 64 bytes: copying, comparing or encoding those takes much less than a unit, escaping or parsing them about
// one.
func Counted(n, bytes int) int64 { return int64(n) + int64(bytes)/64 }

// Copied is the cost of n things and so many bytes of them that are only copied or encoded.
func Copied(n, bytes int) int64 { return Counted(n, bytes/4) }

// decodedPerUnit is how many bytes are decoded in the time of a unit, if their fields are small.
const decodedPerUnit = 12

// Decode takes the cost of decoding so many bytes of protobuf into objects, and of keeping them. It is one piece of
// work however many bytes there are: a request has no more than a few MiB.
func (b *Budget) Decode(bytes int) error {
	n := 1 + int64(bytes)/decodedPerUnit
	if err := b.Spend(min(n, limits.PieceFuel)); err != nil {
		return err
	}
	b.Take(n - min(n, limits.PieceFuel))
	return nil
}
