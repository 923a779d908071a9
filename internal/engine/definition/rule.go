package definition

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/ext"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// A Rule is a validation rule of the definition in CEL, with the message for a value that does not satisfy it.
type Rule struct {
	Text      string `json:"rule"`
	Message   string `json:"message"`
	FieldPath string `json:"fieldPath,omitempty"` // of the field that is meant, for example .namespace

	once            sync.Once
	reads           []string // fields of an object
	some, exclusive bool     // the meaning of the rule for them; see Presence
	program         cel.Program
	err             error
}

// The texts of the rules that controller-gen makes of AtMostOneOf, ExactlyOneOf and AtLeastOneOf. They have messages of
// their own, and counting the fields is faster than to compile CEL.
var (
	reads    = lazy.MustCompile(`\bself\.(\w+)(?:[^(\w]|$)`)
	presence = lazy.MustCompile(`^\[has[^\]]*\]\.filter\(x,x==true\)\.size\(\) ([<=>]=) 1$`)
)

// environment in which rules are compiled. Kubernetes has more functions. A rule that uses one of them does not compile
// here, and a test fails.
var environment = sync.OnceValues(func() (*cel.Env, error) { //nolint:gochecknoglobals // made at most once
	return cel.NewEnv(cel.Variable("self", cel.DynType), ext.Strings(), cel.CrossTypeNumericComparisons(true))
})

func (r *Rule) compile() {
	for _, m := range reads().FindAllStringSubmatch(r.Text, -1) {
		if name := strings.Trim(m[1], "_"); !slices.Contains(r.reads, name) {
			r.reads = append(r.reads, name)
		}
	}
	if m := presence().FindStringSubmatch(r.Text); m != nil {
		r.some, r.exclusive = m[1] != "<=", m[1] != ">="
		return
	}
	var env *cel.Env
	if env, r.err = environment(); r.err != nil {
		return
	}
	ast, issues := env.Compile(r.Text)
	if r.err = issues.Err(); r.err == nil {
		r.program, r.err = env.Program(ast, cel.EvalOptions(cel.OptOptimize)) // it compiles patterns once
	}
}

// Fields returns the fields of an object that the rule reads.
func (r *Rule) Fields() []string {
	r.once.Do(r.compile)
	return r.reads
}

// Presence is set if the rule only requires that at least one of some fields is set, that at most one is set, or both.
func (r *Rule) Presence() (fields []string, some, exclusive bool) {
	return r.Fields(), r.some, r.exclusive
}

// Holds reports whether the rule holds for a value. A rule that cannot be evaluated does not hold.
func (r *Rule) Holds(self any) bool {
	if r.once.Do(r.compile); r.some || r.exclusive {
		n := len(r.present(self))
		return (n > 0 || !r.some) && (n < 2 || !r.exclusive)
	}
	if r.err != nil {
		return false
	}
	out, _, err := r.program.Eval(map[string]any{"self": escaped(self)})
	return err == nil && out.Value() == true
}

// escaped adds the field namespace under the name that Kubernetes uses in rules, because namespace is a reserved word
// of CEL. It is the only such field.
func escaped(self any) any {
	if fields, ok := self.(map[string]any); ok && fields["namespace"] != nil {
		fields["__namespace__"] = fields["namespace"]
	}
	return self
}

// present returns the fields that an object has, of those that the rule reads.
func (r *Rule) present(self any) []string {
	object, _ := self.(map[string]any)
	return slices.DeleteFunc(slices.Clone(r.reads), func(name string) bool { return object[name] == nil })
}

// Broken returns what is wrong with an object for which the rule does not hold.
func (r *Rule) Broken(at *field.Path, self any) (*field.Path, string) {
	switch set := r.present(self); {
	case !r.some && !r.exclusive:
		return field.NewPath(at.String() + r.FieldPath), r.Message
	case len(set) > 1:
		slices.Sort(set)
		return at.Child(set[1]), fmt.Sprintf("must not be set together with %s: keep one of them", set[0])
	}
	return at, "must have " + Either(r.reads)
}

// Either joins words with commas and "or".
func Either[T any](words []T) string {
	texts := strings.Fields(strings.Trim(fmt.Sprint(words), "[]"))
	last := len(texts) - 1
	if last == 0 {
		return texts[0]
	}
	return strings.Join(texts[:last], ", ") + " or " + texts[last]
}
