package definition

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/ext"
)

// A Rule is a validation rule of the definition in CEL, with the message for a value that does not
// satisfy it.
type Rule struct {
	Text      string `json:"rule"`
	Message   string `json:"message"`
	FieldPath string `json:"fieldPath"` // of the field that is meant, for example .namespace

	once            sync.Once
	reads           []string // fields of an object
	some, exclusive bool     // the meaning of the rule for them; see Presence
	program         cel.Program
	err             error
}

// environment in which rules are compiled. Kubernetes has more functions. A rule that uses one of
// them does not compile here, and a test fails.
var environment = sync.OnceValues(func() (*cel.Env, error) { //nolint:gochecknoglobals // made at most once
	return cel.NewEnv(cel.Variable("self", cel.DynType), ext.Strings(), cel.CrossTypeNumericComparisons(true))
})

func (r *Rule) compile() {
	for _, m := range field.FindAllStringSubmatch(r.Text, -1) {
		if name := strings.Trim(m[1], "_"); m[2] == "" && !slices.Contains(r.reads, name) {
			r.reads = append(r.reads, name)
		}
	}
	r.some = one.MatchString(r.Text) || atLeast.MatchString(r.Text)
	r.exclusive = one.MatchString(r.Text) || atMost.MatchString(r.Text)
	if r.some || r.exclusive {
		return // counting the fields is faster
	}
	env, err := environment()
	if err != nil {
		r.err = err
		return
	}
	ast, issues := env.Compile(r.Text)
	if r.err = issues.Err(); r.err == nil {
		r.program, r.err = env.Program(ast, cel.EvalOptions(cel.OptOptimize)) // it compiles patterns once
	}
}

// Holds reports whether the rule holds for a value. It returns an error if the rule cannot be
// evaluated for a value of this type.
func (r *Rule) Holds(self any) (bool, error) {
	if r.once.Do(r.compile); r.err != nil {
		return false, fmt.Errorf("cannot compile rule %q: %w", r.Text, r.err)
	}
	if object, ok := self.(map[string]any); ok && r.program == nil {
		n := len(present(object, r.reads))
		return (n > 0 || !r.some) && (n < 2 || !r.exclusive), nil
	}
	if r.program == nil {
		return false, errors.New("is not an object")
	}
	out, _, err := r.program.Eval(map[string]any{"self": escaped(self)})
	if err != nil {
		return false, fmt.Errorf("cannot evaluate rule %q: %w", r.Text, err)
	}
	holds, ok := out.Value().(bool)
	return holds && ok, nil
}

// escaped adds the field namespace under the name that Kubernetes uses in rules, because namespace
// is a reserved word of CEL. It is the only such field.
func escaped(self any) any {
	if fields, ok := self.(map[string]any); ok && fields["namespace"] != nil {
		fields["__namespace__"] = fields["namespace"]
	}
	return self
}

var field = regexp.MustCompile(`\bself\.(\w+)(\(?)`)

// fields returns the fields of an object that the rule reads.
func (r *Rule) fields() []string {
	r.once.Do(r.compile)
	return r.reads
}

// present returns the fields that an object has, sorted.
func present(object map[string]any, fields []string) []string {
	var out []string
	for _, name := range fields {
		if object[name] != nil {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

const hasField = `has\(self\.\w+\)`

// The rules about the presence of fields have their own messages.
var (
	one     = regexp.MustCompile(`^\[` + hasField + `(, ` + hasField + `)+\]\.exists_one\(x, x\)$`)
	atMost  = regexp.MustCompile(`^\[` + hasField + `(, ` + hasField + `)+\]\.filter\(x, x\)\.size\(\) <= 1$`)
	atLeast = regexp.MustCompile(`^` + hasField + `( \|\| ` + hasField + `)+$`)
)

// Presence is set if the rule only requires that at least one of some fields is set, that at most
// one is set, or both.
func (r *Rule) Presence() (fields []string, some, exclusive bool) {
	fields = r.fields()
	return fields, r.some, r.exclusive
}
