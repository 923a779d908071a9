package expression

import (
	"math"
	"strings"

	"github.com/google/cel-go/common/ast"

	"github.com/crossplane-contrib/function-export/internal/limits"
)

// An Estimate is what one evaluation is thought to take. It is judged from the source
// alone: how large the data is nobody knows before it is there.
type Estimate struct {
	// Expected fuel. It is within a factor of ten for data of the usual size.
	Expected int64 `json:"expected"`

	// Limit is what an evaluation may take.
	Limit int64 `json:"limit"`

	// Place of what takes the most, with line and column, and its name: a function or an
	// operator, mostly. They are empty if nothing takes any.
	Place string `json:"place,omitempty"`
	Call  string `json:"call,omitempty"`

	// Share of Expected that this takes, over all times that it runs.
	Share int64 `json:"share,omitempty"`
}

// mostFuel is as much as an estimate says. What is over the limit a million times is
// not worse than what is over it a thousand times.
const mostFuel = 1000 * limits.Fuel

// Estimate the fuel of one evaluation. It walks the checked tree as an evaluation would,
// over sizes in place of values, with the loops at once: what is inside of one counts as
// often as the loop runs.
func (x *Expression) Estimate() Estimate {
	e := &estimator{bodies: bodies(x.ast), types: x.ast, times: 1, by: map[int64]float64{}}
	e.walk(x.ast.Expr(), nil)
	out := Estimate{Expected: fuelOf(e.total), Limit: limits.Fuel}
	var hottest int64
	for id, fuel := range e.by {
		if most := e.by[hottest]; fuel > most || fuel == most && fuel > 0 && id < hottest {
			hottest = id
		}
	}
	if hottest == 0 {
		return out
	}
	out.Place, out.Call, out.Share = x.failedAt(hottest, "").Path, x.workText(hottest), fuelOf(e.by[hottest])
	return out
}

// workText is what takes fuel: a call, or the making of a list or a map.
func (x *Expression) workText(id int64) string {
	switch x.node(id).Kind() {
	case ast.ListKind:
		return "a list"
	case ast.MapKind:
		return "a map"
	}
	return x.callText(id)
}

func fuelOf(n float64) int64 { return int64(math.Min(n, mostFuel)) }

// An estimator counts what a program's meter would take.
type estimator struct {
	bodies map[int64]int64
	types  *ast.AST
	times  float64 // that the node at hand runs
	total  float64
	by     map[int64]float64 // what each call takes, by its node
}

// spend is the meter's, which takes whole units.
func (e *estimator) spend(id int64, n float64) {
	n = math.Floor(n) * e.times
	e.total += n
	e.by[id] += n
}

// A sized maps a local variable to how large its value is thought to be.
type sized struct {
	name   string
	shape  shape
	parent *sized
}

func (s *sized) find(name string) (shape, bool) {
	for ; s != nil; s = s.parent {
		if s.name == name {
			return s.shape, true
		}
	}
	return shape{}, false
}

// walk e, and return how large its value is.
func (e *estimator) walk(x ast.Expr, s *sized) shape {
	switch x.Kind() {
	case ast.LiteralKind:
		return literalShape(x.AsLiteral())
	case ast.IdentKind:
		name, global := strings.CutPrefix(x.AsIdent(), ".")
		if local, ok := s.find(name); ok && !global {
			return local
		}
		return variableShape(name)
	case ast.SelectKind:
		operand := e.walk(x.AsSelect().Operand(), s)
		if x.AsSelect().IsTestOnly() {
			return shape{}
		}
		return e.typed(x, operand.below())
	case ast.CallKind:
		return e.call(x, s)
	case ast.ListKind, ast.MapKind:
		return e.constructor(x, s)
	case ast.ComprehensionKind:
		return e.comprehension(x.AsComprehension(), s)
	}
	return shape{}
}

// typed is the shape that the type of a node leaves.
func (e *estimator) typed(x ast.Expr, s shape) shape {
	if !s.unknown {
		return s
	}
	return typeShape(e.types.GetType(x.ID()), s)
}

// constructor pays for each element, as the meter does: for keys and values of a map.
func (e *estimator) constructor(x ast.Expr, s *sized) shape {
	out := shape{keyed: x.Kind() == ast.MapKind}
	var element shape
	add := func(v ast.Expr) { element = larger(element, e.walk(v, s)) }
	if out.keyed {
		for _, entry := range x.AsMap().Entries() {
			e.walk(entry.AsMapEntry().Key(), s)
			add(entry.AsMapEntry().Value())
			out.elements++
		}
		e.spend(x.ID(), out.elements/2)
	} else {
		for _, v := range x.AsList().Elements() {
			add(v)
			out.elements++
		}
		e.spend(x.ID(), out.elements/4)
	}
	out.element = &element
	return out
}

// comprehension is a loop over its range, or what cel.bind expands to, which runs once.
func (e *estimator) comprehension(c ast.ComprehensionExpr, s *sized) shape {
	if isBind(c) {
		return e.walk(c.Result(), &sized{c.AccuVar(), e.walk(c.AccuInit(), s), s})
	}
	ranged := e.walk(c.IterRange(), s)
	before := e.walk(c.AccuInit(), s)
	before.grows = true
	inner := &sized{c.AccuVar(), before, s}
	switch key := (shape{bytes: assumedKey}); {
	case c.HasIterVar2():
		inner = &sized{c.IterVar(), key, inner}
		inner = &sized{c.IterVar2(), ranged.below(), inner}
	case ranged.keyed:
		inner = &sized{c.IterVar(), key, inner}
	default:
		inner = &sized{c.IterVar(), ranged.below(), inner}
	}
	outside := e.times
	e.times *= ranged.size()
	e.walk(c.LoopCondition(), inner)
	after := e.walk(c.LoopStep(), inner)
	e.times = outside
	after.elements = before.elements + ranged.size()*math.Max(0, after.elements-before.elements)
	after.grows = false
	return e.walk(c.Result(), &sized{c.AccuVar(), after, s})
}

// call pays for a call, for what it looks at, and for the text that it gives.
func (e *estimator) call(x ast.Expr, s *sized) shape {
	c := x.AsCall()
	operands := c.Args()
	if c.IsMemberFunction() {
		operands = append([]ast.Expr{c.Target()}, operands...)
	}
	args := make([]shape, 0, len(operands))
	if c.FunctionName() == "_?_:_" {
		return e.conditional(operands, s)
	}
	for _, o := range operands {
		args = append(args, e.walk(o, s))
	}
	switch fn := c.FunctionName(); fn {
	case "_[_]", "_[?_]", "_?._": // no call to the meter
		return e.typed(x, args[0].below())
	case "_&&_", "_||_":
		return shape{}
	case "or", "orValue":
		return larger(args[0], args[1])
	default:
		if look, ok := looks[fn]; ok {
			times := math.Max(1, float64(e.bodies[x.ID()]))
			e.spend(x.ID(), look(args, operands)*times/8)
		}
		out := e.typed(x, resultShape(fn, args))
		e.spend(x.ID(), 1)
		e.spend(x.ID(), out.text()/64)
		return out
	}
}

// conditional takes the dearer of its branches.
func (e *estimator) conditional(operands []ast.Expr, s *sized) shape {
	e.walk(operands[0], s)
	branch := func(x ast.Expr) (estimator, shape) {
		b := *e
		b.total, b.by = 0, map[int64]float64{}
		return b, b.walk(x, s)
	}
	a, first := branch(operands[1])
	b, second := branch(operands[2])
	if b.total > a.total {
		a = b
	}
	e.total += a.total
	for id, n := range a.by {
		e.by[id] += n
	}
	return larger(first, second)
}
