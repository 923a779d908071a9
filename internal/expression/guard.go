package expression

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"

	"github.com/crossplane-contrib/function-export/internal/limits"
)

// A check looks at the arguments of a call before it runs. It returns how many
// nodes and bytes the call will visit, or why it may not run. A check takes no
// longer than the call itself would at its limit.
type check func(args []ref.Val) (visits int64, refused string)

// Why calls are refused.
const (
	refusedVisits   = "its operands are too large"
	refusedBytes    = "its result would be too large"
	refusedElements = "its result would have too many elements"
	refusedPattern  = "its pattern is too long or too complex"
)

// checks of the functions whose work or result can be larger than what the meter
// takes for any call: one unit, and one for each 64 bytes of text that it gives.
var checks = map[string]check{ //nolint:gochecknoglobals // a table
	"_==_":             checkEqual,
	"_!=_":             checkEqual,
	"@in":              checkIn,
	"_+_":              checkAdd,
	orderedCall:        checkOrdered,
	"format":           produces(func(a []ref.Val) int64 { return textLen(a[0]) + weigh(a[1], limits.CallBytes) }),
	"join":             produces(joinBytes),
	"replace":          produces(replaceBytes),
	"json.encode":      visits(func(a []ref.Val) int64 { return weigh(a[0], limits.CallVisits) }),
	"yaml.encode":      visits(func(a []ref.Val) int64 { return 16 * weigh(a[0], limits.CallVisits/16) }),
	"json.decode":      visits(func(a []ref.Val) int64 { return 4 * textLen(a[0]) }),
	"yaml.decode":      checkYAML,
	"split":            visits(func(a []ref.Val) int64 { return textLen(a[0]) * 16 }),
	"indexOf":          visits(searchVisits),
	"lastIndexOf":      visits(searchVisits),
	"flatten":          visits(func(a []ref.Val) int64 { return weigh(a[0], limits.CallVisits) }),
	"optional.unwrap":  visits(func(a []ref.Val) int64 { return weigh(a[0], limits.CallVisits) }), // prints what is no optional
	"unwrapOpt":        visits(func(a []ref.Val) int64 { return weigh(a[0], limits.CallVisits) }),
	"cel.@mapInsert":   checkInsert,
	"sort":             visits(func(a []ref.Val) int64 { return weigh(a[0], limits.CallVisits) + size(a[0])*16 }),
	sortByCall:         visits(func(a []ref.Val) int64 { return weigh(a[1], limits.CallVisits) + size(a[0])*16 }),
	"slice":            visits(func(a []ref.Val) int64 { return size(a[0]) }),
	"lists.range":      visits(func(a []ref.Val) int64 { n, _ := a[0].(types.Int); return min(int64(n), limits.RangeElements) }),
	"distinct":         visits(func(a []ref.Val) int64 { return pairs(a[0], a[0]) }),
	"sets.contains":    visits(func(a []ref.Val) int64 { return pairs(a[0], a[1]) }),
	"sets.equivalent":  visits(func(a []ref.Val) int64 { return 2 * pairs(a[0], a[1]) }),
	"sets.intersects":  visits(func(a []ref.Val) int64 { return pairs(a[0], a[1]) }),
	"matches":          checkRegex,
	"regex.extract":    checkRegex,
	"regex.extractAll": checkRegex,
	"regex.replace":    checkRegexReplace,
	"charAt":           linear(4), // these make runes of the whole text
	"substring":        linear(4),
	"reverse":          linear(4),
	"strings.quote":    linear(4),
	"size":             linear(1),
	"contains":         linear(1),
	"trim":             linear(1),
	"lowerAscii":       linear(1),
	"upperAscii":       linear(1),
	"base64.encode":    linear(1),
	"base64.decode":    linear(1),
	"bytes":            linear(1),
	"string":           linear(1),
	"sha256":           linear(1),
	"url.queryEscape":  linear(2),
	"url.pathEscape":   linear(2),
	"dockerconfigjson": visits(func(a []ref.Val) int64 { return 4 * (textLen(a[0]) + textLen(a[1]) + textLen(a[2])) }),
}

// linear is the check of a function that looks at its first operand so many
// times, and gives no more than that.
func linear(times int64) check {
	return visits(func(a []ref.Val) int64 { return times * (textLen(a[0]) + size(a[0])) })
}

func visits(count func([]ref.Val) int64) check {
	return func(args []ref.Val) (int64, string) {
		n := count(args)
		if n < 0 || n > limits.CallVisits {
			return limits.CallVisits, refusedVisits
		}
		return n, ""
	}
}

func produces(count func([]ref.Val) int64) check {
	return func(args []ref.Val) (int64, string) {
		n := count(args)
		if n < 0 || n > limits.CallBytes {
			return limits.CallBytes, refusedBytes
		}
		return n, ""
	}
}

func checkEqual(a []ref.Val) (int64, string) {
	if isScalar(a[0]) || isScalar(a[1]) {
		return 1, ""
	}
	return visits(func(a []ref.Val) int64 {
		return weigh(a[0], limits.CallVisits) + weigh(a[1], limits.CallVisits)
	})(a)
}

func checkIn(a []ref.Val) (int64, string) {
	if _, ok := a[1].(traits.Mapper); ok {
		return 1 + textLen(a[0]), ""
	}
	if isScalar(a[0]) {
		return visits(func(a []ref.Val) int64 { return size(a[1]) })(a)
	}
	return visits(func(a []ref.Val) int64 {
		return weigh(a[1], limits.CallVisits) + (size(a[1])+1)*min(weigh(a[0], limits.CallVisits), 64)
	})(a)
}

func checkAdd(a []ref.Val) (int64, string) {
	if n := textLen(a[0]) + textLen(a[1]); n > 0 {
		if n > limits.CallBytes {
			return n, refusedBytes
		}
		return n, ""
	}
	if _, ok := a[0].(traits.MutableLister); ok {
		return size(a[1]), "" // the accumulator of a comprehension
	}
	if _, ok := a[0].(traits.Lister); ok {
		n := size(a[0]) + size(a[1])
		if n > limits.CallElements {
			return n, refusedElements
		}
		return n, ""
	}
	return 1, ""
}

// checkOrdered charges an iteration before it begins.
func checkOrdered(a []ref.Val) (int64, string) {
	n := size(a[0])
	if n > limits.CallElements {
		return n, refusedElements
	}
	return 8 * n, ""
}

func checkYAML(a []ref.Val) (int64, string) {
	n := 16 * textLen(a[0])
	if textLen(a[0]) > limits.YAMLBytes {
		return n, refusedVisits
	}
	return n, ""
}

func joinBytes(a []ref.Val) int64 {
	n := weigh(a[0], limits.CallBytes)
	if len(a) > 1 {
		n += size(a[0]) * textLen(a[1])
	}
	return n
}

func replaceBytes(a []ref.Val) int64 {
	text, old, repl := textLen(a[0]), max(textLen(a[1]), 1), textLen(a[2])
	return text + (text/old+1)*repl
}

func searchVisits(a []ref.Val) int64 { return textLen(a[0]) * max(1, textLen(a[1])) }

// pairs is the cost of comparing each element of one list with each of another:
// a comparison ends with the smaller of the two. Text is compared at once.
func pairs(a, b ref.Val) int64 {
	n, m := size(a), size(b)
	if n*m > limits.CallVisits {
		return n * m
	}
	return n*m + min(n*weighNodes(b, limits.CallVisits), m*weighNodes(a, limits.CallVisits))
}

// checkInsert looks at the key of an entry of transformMap, or at the entries of
// transformMapEntry: a key that is there already is printed.
func checkInsert(a []ref.Val) (int64, string) {
	return visits(func(a []ref.Val) int64 { return 8 + weigh(a[1], limits.CallVisits) })(a)
}

func checkRegex(a []ref.Val) (int64, string) {
	pattern, ok := a[1].(types.String)
	if !ok {
		return 1, ""
	}
	n, err := regexInstructions(string(pattern))
	if err != nil {
		return 1, "" // the call refuses it itself
	}
	if n > limits.RegexInstructions || len(pattern) > limits.RegexCharacters {
		return n, refusedPattern
	}
	work := n * max(1, textLen(a[0]))
	if work > limits.RegexVisits {
		return work, refusedVisits
	}
	return work / 16, ""
}

func checkRegexReplace(a []ref.Val) (int64, string) {
	n, refused := checkRegex(a)
	if refused != "" {
		return n, refused
	}
	m, refused := produces(func(a []ref.Val) int64 { return (textLen(a[0]) + 1) * (textLen(a[2]) + 1) })(a)
	return n + m, refused
}

// regexInstructions counts the instructions of a pattern's program without
// making it: repetitions multiply what they repeat.
func regexInstructions(pattern string) (int64, error) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, err
	}
	return countInstructions(re), nil
}

func countInstructions(re *syntax.Regexp) int64 {
	const tooMany = 1 << 30
	n := int64(1)
	switch re.Op { //nolint:exhaustive // all others are one instruction and what is below them
	case syntax.OpLiteral:
		n = int64(len(re.Rune))
	case syntax.OpCharClass:
		n = int64(1 + len(re.Rune)/2)
	}
	for _, sub := range re.Sub {
		n += countInstructions(sub)
	}
	if re.Op == syntax.OpRepeat {
		times := int64(re.Max)
		if times < 0 {
			times = int64(re.Min) + 1
		}
		n *= max(times, 1)
	}
	return min(n, tooMany)
}

func isScalar(v ref.Val) bool {
	switch v.(type) {
	case types.Int, types.Double, types.Bool, types.Uint, types.Null:
		return true
	}
	return false
}

func textLen(v ref.Val) int64 {
	switch t := v.(type) {
	case types.String:
		return int64(len(t))
	case types.Bytes:
		return int64(len(t))
	}
	return 0
}

func size(v ref.Val) int64 {
	switch v.(type) {
	case traits.Mapper, traits.Lister:
		if n, ok := v.(traits.Sizer).Size().(types.Int); ok {
			return int64(n)
		}
	}
	return 1
}

// weigh counts the nodes and bytes below v as a tree: what is shared counts each
// time. It gives up, with a number over most, as soon as most is passed.
func weigh(v ref.Val, most int64) int64 { return weighBy(v, most, 1) }

// weighNodes is weigh where 64 bytes are as much as a node.
func weighNodes(v ref.Val, most int64) int64 { return weighBy(v, most, 64) }

func weighBy(v ref.Val, most, bytes int64) int64 {
	n := 1 + textLen(v)/bytes
	switch t := v.(type) {
	case *types.Optional:
		if t.HasValue() {
			n += weighBy(t.GetValue(), most-n, bytes)
		}
	case traits.Mapper:
		for it := t.Iterator(); it.HasNext() == types.True && n <= most; {
			k := it.Next()
			n += weighBy(k, most-n, bytes)
			if e, ok := t.Find(k); ok {
				n += weighBy(e, most-n, bytes)
			}
		}
	case traits.Lister:
		if s := size(t); s > most {
			return s
		}
		for it := t.Iterator(); it.HasNext() == types.True && n <= most; {
			n += weighBy(it.Next(), most-n, bytes)
		}
	}
	return n
}

// guards make programs that look before they call.
type guards map[string]functions.FunctionOp // by function, or function/overload

// newGuards collects the implementations of the checked functions. One that has
// none is a defect: a new version of cel-go renamed it.
func newGuards(env *cel.Env) (guards, error) {
	g := guards{
		"_==_": func(a ...ref.Val) ref.Val { return types.Equal(a[0], a[1]) },
		"_!=_": func(a ...ref.Val) ref.Val { return types.Bool(types.Equal(a[0], a[1]) != types.True) },
	}
	for name := range checks {
		if _, ok := g[name]; ok {
			continue
		}
		f, ok := env.Functions()[name]
		if !ok {
			return nil, fmt.Errorf("cannot guard function %q: it does not exist", name)
		}
		bindings, err := f.Bindings()
		if err != nil {
			return nil, fmt.Errorf("cannot guard function %q: %w", name, err)
		}
		for _, b := range bindings {
			if op := implementation(b); op != nil && b.Operator == name {
				g[name] = op
			} else if op != nil {
				g[name+"/"+b.Operator] = op
			}
		}
	}
	return g, nil
}

// implementation is what an overload does, with the look at the trait of the
// first operand that cel-go's own calls have before it.
func implementation(b *functions.Overload) functions.FunctionOp {
	op := b.Function
	switch {
	case op != nil:
	case b.Binary != nil:
		op = func(a ...ref.Val) ref.Val { return b.Binary(a[0], a[1]) }
	case b.Unary != nil:
		op = func(a ...ref.Val) ref.Val { return b.Unary(a[0]) }
	default:
		return nil
	}
	if b.OperandTrait == 0 {
		return op
	}
	return func(a ...ref.Val) ref.Val {
		if !a[0].Type().HasTrait(b.OperandTrait) {
			return types.MaybeNoSuchOverloadErr(a[0])
		}
		return op(a...)
	}
}

func (g guards) of(call interpreter.InterpretableCall) (functions.FunctionOp, error) {
	if op := g[call.Function()+"/"+call.OverloadID()]; op != nil {
		return op, nil
	}
	if op := g[call.Function()]; op != nil {
		return op, nil
	}
	return nil, fmt.Errorf("cannot guard function %q: no implementation", call.Function())
}

// interruptFrequency is how many steps of comprehensions pass between looks at
// the clock: 100 overshot the time by seven times.
const interruptFrequency = 10

// A program is a planned expression with a meter of its own: programs are
// stateless, so the counter lives in a copy, used by one evaluation at a time.
type program struct {
	cel.Program
	fuel      int64
	deadline  time.Time
	steps     uint32
	stoppedAt int64 // the node that was refused
	nullAt    int64 // the last call that failed, and had a null to work on

	explaining bool
}

// program plans one. CEL's own optimizations stay off: they replace calls, and
// with them the checks.
func (g guards) program(env *cel.Env, a *cel.Ast) (*program, error) {
	p := &program{fuel: limits.Fuel}
	prg, err := env.Program(a,
		cel.InterruptCheckFrequency(interruptFrequency),
		cel.CustomDecoratorV2(p.guard(g)))
	if err != nil {
		return nil, err
	}
	p.Program = prg
	return p, nil
}

func (p *program) guard(g guards) interpreter.InterpretableDecoratorV2 {
	return func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		if c, ok := i.(interpreter.InterpretableConstructor); ok {
			return meteredConstructor{c, p, int64(len(c.InitVals()))}, nil
		}
		call, ok := i.(interpreter.InterpretableCall)
		if !ok {
			return i, nil
		}
		look, ok := checks[call.Function()]
		if !ok {
			return meteredCall{call, p}, nil
		}
		op, err := g.of(call)
		if err != nil {
			return nil, err
		}
		if m := compiledMatch(call); m != nil {
			op = m
		}
		if call.Function() == "_+_" {
			op = flatSum(op)
		}
		guarded := interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), func(a ...ref.Val) ref.Val {
			n, refused := look(a)
			p.spend(n/8, call.ID())
			if refused != "" {
				p.stop(call.ID(), refused)
			}
			return op(a...)
		})
		return meteredCall{guarded, p}, nil
	}
}

// flatSum copies the sum of two lists. cel-go's refers to both, so that each
// access to a sum of a thousand lists would take a thousand steps.
func flatSum(add functions.FunctionOp) functions.FunctionOp {
	return func(a ...ref.Val) ref.Val {
		sum := add(a...)
		l, ok := sum.(traits.Lister)
		if _, accumulator := sum.(traits.MutableLister); !ok || accumulator || sum == a[0] || sum == a[1] {
			return sum
		}
		elements := make([]ref.Val, 0, size(l))
		for _, part := range a {
			for it := part.(traits.Lister).Iterator(); it.HasNext() == types.True; {
				elements = append(elements, it.Next())
			}
		}
		return types.NewRefValList(types.DefaultTypeAdapter, elements)
	}
}

// compiledMatch is a matches whose literal pattern is compiled now.
func compiledMatch(call interpreter.InterpretableCall) functions.FunctionOp {
	if call.Function() != "matches" || len(call.Args()) != 2 {
		return nil
	}
	c, ok := call.Args()[1].(interpreter.InterpretableConst)
	if !ok {
		return nil
	}
	pattern, ok := c.Value().(types.String)
	if !ok {
		return nil
	}
	re, err := regexp.Compile(string(pattern))
	if err != nil {
		return nil
	}
	return func(a ...ref.Val) ref.Val {
		s, ok := a[0].(types.String)
		if !ok {
			return types.MaybeNoSuchOverloadErr(a[0])
		}
		return types.Bool(re.MatchString(string(s)))
	}
}

// A meteredCall pays for each call, and for the text it gives.
type meteredCall struct {
	interpreter.InterpretableCall
	program *program
}

func (m meteredCall) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	m.program.spend(1, m.ID())
	v := m.InterpretableCall.Exec(frame)
	if err, failed := v.(*types.Err); failed && err.NodeID() == m.ID() && !m.program.explaining {
		m.program.explain(m, frame)
	}
	m.program.spend(textLen(v)/64, m.ID())
	return v
}

// explain looks whether a call that failed had a null to work on: then it waits
// for an input. Its operands are evaluated again, which gives the same.
func (p *program) explain(call interpreter.InterpretableCall, frame *interpreter.ExecutionFrame) {
	p.explaining = true
	defer func() { p.explaining = false }()
	for _, arg := range call.Args() {
		v := arg.Exec(frame)
		isNull := func(v ref.Val) bool { return v == types.NullValue }
		if isNull(v) || someElement(v, isNull) {
			p.nullAt = call.ID()
		}
	}
}

func (m meteredCall) Eval(a interpreter.Activation) ref.Val {
	return m.Exec(interpreter.AsFrame(a))
}

// A meteredConstructor pays for each element of a list or map that it makes.
type meteredConstructor struct {
	interpreter.InterpretableConstructor
	program  *program
	elements int64
}

func (m meteredConstructor) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	m.program.spend(m.elements/4, m.ID())
	return m.InterpretableConstructor.Exec(frame)
}

func (m meteredConstructor) Eval(a interpreter.Activation) ref.Val {
	return m.Exec(interpreter.AsFrame(a))
}

// spend takes fuel, and looks at the clock now and then: CEL itself does so
// between the steps of a comprehension only.
func (p *program) spend(n, node int64) {
	p.fuel -= n
	if p.fuel < 0 {
		p.stop(node, "it is over the limit of what one expression may do")
	}
	if p.steps++; (n >= 512 || p.steps%16 == 0) && time.Now().After(p.deadline) {
		p.stop(node, tooLong)
	}
}

// tooLong is why the clock stops an evaluation.
var tooLong = fmt.Sprintf("it took longer than %s", limits.EvaluationTime) //nolint:gochecknoglobals // a constant that has to be computed

// stop ends the evaluation. An error value would not: `|| true` absorbs it.
func (p *program) stop(node int64, reason string) {
	p.stoppedAt = node
	panic(interpreter.EvalCancelledError{Cause: interpreter.CostLimitExceeded, Message: reason})
}
