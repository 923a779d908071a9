package vocabulary

import (
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/types"
)

// A signature of an overload, or of several that differ in types only.
type signature struct {
	name   string
	member bool
	args   [][]string // the types of each argument
	result string
}

func (s signature) String() string {
	args := make([]string, 0, len(s.args))
	for _, a := range s.args {
		args = append(args, strings.Join(a, " | "))
	}
	target := ""
	if s.member {
		target, args = args[0]+".", args[1:]
		if strings.Contains(target, " | ") {
			target = "(" + strings.TrimSuffix(target, ".") + ")."
		}
	}
	return fmt.Sprintf("%s%s(%s) → %s", target, s.name, strings.Join(args, ", "), s.result)
}

// signatures of a function: one for all overloads that differ in the type of one argument.
func signatures(f *decls.FunctionDecl) []string {
	var all []signature
	for _, o := range generic(f) {
		i := slices.IndexFunc(all, func(s signature) bool { return s.differs(o) <= 1 })
		if i < 0 {
			all = append(all, o)
			continue
		}
		for n, types := range o.args {
			if !slices.Contains(all[i].args[n], types[0]) {
				all[i].args[n] = append(all[i].args[n], types[0])
			}
		}
	}
	out := make([]string, 0, len(all))
	for _, s := range all {
		for _, a := range s.args {
			slices.Sort(a)
		}
		out = append(out, s.String())
	}
	slices.Sort(out)
	return out
}

// differs counts the arguments whose types differ. Overloads that differ in two or more arguments are listed separately.
func (s signature) differs(o signature) int {
	if s.member != o.member || s.result != o.result || len(s.args) != len(o.args) {
		return len(s.args) + len(o.args) + 2
	}
	n := 0
	for i, types := range s.args {
		if len(types) > 1 || types[0] != o.args[i][0] {
			n++
		}
	}
	return n
}

// generic are the overloads of a function. Those whose result has the type of the first argument,
// for several types, are one: math.abs(T) → T.
func generic(f *decls.FunctionDecl) []signature {
	type form struct{ of, as signature }
	forms, counts := make([]form, 0, len(f.OverloadDecls())), map[string]int{}
	for _, o := range f.OverloadDecls() {
		s := signature{name: f.Name(), member: o.IsMemberFunction(), result: TypeText(o.ResultType())}
		t := signature{name: s.name, member: s.member, result: s.result}
		for _, a := range o.ArgTypes() {
			s.args = append(s.args, []string{TypeText(a)})
		}
		if len(s.args) > 0 {
			basic := innermost(o.ArgTypes()[0])
			swap := func(text string) string { return strings.ReplaceAll(text, basic, "T") }
			t.result = swap(s.result)
			for _, a := range s.args {
				t.args = append(t.args, []string{swap(a[0])})
			}
			if t.result == s.result {
				t = s
			}
		}
		forms = append(forms, form{s, t})
		counts[t.String()]++
	}
	var out []signature
	for _, f := range forms {
		switch {
		case counts[f.as.String()] == 1:
			out = append(out, f.of)
		case !slices.ContainsFunc(out, func(s signature) bool { return s.String() == f.as.String() }):
			out = append(out, f.as)
		}
	}
	return out
}

// innermost is the type of the elements of a list, of the elements of these, and so on.
func innermost(t *cel.Type) string {
	if t.Kind() == types.ListKind {
		return innermost(t.Parameters()[0])
	}
	return TypeText(t)
}

// TypeText returns a type as the documentation spells it.
func TypeText(t *cel.Type) string {
	return strings.ReplaceAll(cel.FormatCELType(t), "optional_type", "optional")
}
