package plan

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/credential"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

// This file warns about inputs that compile, and that lose a credential, wait for ever, or change all the time.

// noticed is how long a mounted Secret takes to change: the kubelet reads it about once a minute.
const noticed = 2 * time.Minute

func (c *compiler) caution(at *field.Path, format string, args ...any) {
	c.cautions = append(c.cautions, warning(at, format, args...))
}

// cautionRotations warns about generators whose rotations cannot end, or end too early.
func (c *compiler) cautionRotations(p *Plan) {
	for i := range p.Generators {
		m := &p.Generators[i]
		c.cautionUnset(p, m)
		if m.AbandonAfter > 0 && m.Interval > 0 && m.AbandonAfter >= m.Interval {
			c.caution(m.Path.Child("abandonAfter"), "is %s, but the next rotation is due after %s: set it to less than "+
				"refreshInterval",
				credential.DurationText(m.AbandonAfter), credential.DurationText(m.Interval))
		}
		if m.Kind == KindResource && rotates(m) && m.Grace < noticed && !m.isParameter("gracePeriod") {
			c.caution(m.Path, "deletes the former credential as soon as the next one is exported, but a mounted Secret changes only after "+
				"about a minute, and applications read it later: set gracePeriod, for example 1h")
		}
		c.cautionBundle(p, m)
	}
}

func rotates(m *Generator) bool {
	return m.Policy == v1beta1.Periodic || m.Policy == v1beta1.OnChange
}

func (m *Generator) isParameter(literal string) bool {
	return slices.ContainsFunc(m.Parameters, func(p Parameter) bool { return p.literal[len(p.literal)-1] == literal })
}

// cautionUnset warns about a readyExpression that compares the candidate with something that no export sets.
func (c *compiler) cautionUnset(p *Plan, m *Generator) {
	isCandidate := func(r expression.Reference) bool { return r.Variable == expression.Candidate }
	if m.Ready == nil || !slices.ContainsFunc(m.Ready.References(), isCandidate) {
		return
	}
	sets := func(name string) bool { list, _, _ := SplitItem(name); return list == m.Name }
	if !slices.ContainsFunc(p.Exports, func(e Export) bool { return slices.ContainsFunc(e.Candidates, sets) }) {
		c.caution(m.Path.Child("readyExpression"), "waits for ever, because no export uses %s: use it in the export "+
			"that sets the credential",
			m.Spelled(expression.Candidate))
	}
}

// cautionBundle warns about an export with only the present certificate of a CA that is rotated.
func (c *compiler) cautionBundle(p *Plan, m *Generator) {
	if k := m.Certificate(); k == nil || !k.IsCA() || !rotates(m) && m.Grace == 0 {
		return
	}
	for _, e := range p.Exports {
		for _, d := range e.Data {
			if d.Value == nil || !c.lacksFormer(d.Value, m.Name) {
				continue
			}
			w := diagnosed(d.Path, "has only the present CA, but while the CA is rotated, clients also need the former one: write "+
				"generated."+m.Name+"['tls.crt'] + previous.?"+m.Name+"[?'tls.crt'].orValue('')")
			w.Warning = true
			c.cautions = append(c.cautions, w)
		}
	}
}

// lacksFormer reports whether an expression uses the certificate of a CA, and not the former one.
func (c *compiler) lacksFormer(x *expression.Expression, ca string) bool {
	var present, former bool
	for _, u := range c.reading(x).uses {
		present = present || u.variable == expression.Generated && u.input == ca && u.key == "tls.crt"
		former = former || u.variable == expression.Previous && (u.input == ca || u.input == Anything)
	}
	return present && !former
}

// changing are the fields of an object that change with each write of it, or without one.
var changing = [][]string{
	{"metadata", "resourceVersion"}, {"metadata", "generation"}, {"metadata", "managedFields"}, {"status", "conditions"},
}

// cautionChanging warns about an expression whose value does not stay. The argument then is the effect of each change.
func (c *compiler) cautionChanging(x *expression.Expression, then string) {
	if x == nil {
		return
	}
	for _, r := range x.References() {
		for _, fields := range changing {
			at := slices.IndexFunc(r.Path, func(s expression.Step) bool { return s.Key == fields[0] })
			if at < 0 || StepName(r, at+1) != fields[1] {
				continue
			}
			w := x.Place(r).Wrong(fmt.Sprintf("reads %s.%s, which changes again and again, and each time %s: use something that stays, "+
				"such as metadata.uid", fields[0], fields[1], then))
			w.Warning = true
			c.cautions = append(c.cautions, w)
		}
	}
}
