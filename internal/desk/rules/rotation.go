package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/credential"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// This file has the rules about rotations that cannot end, or that end too early.

// noticed is how long a mounted Secret takes to change: the kubelet reads it about once a minute.
const noticed = 2 * time.Minute

func rotates(m plan.Generator) bool {
	return m.Policy == v1beta1.Periodic || m.Policy == v1beta1.OnChange
}

func abandonedAfterNext(v *View, say Say) {
	for _, m := range v.Plan.Generators {
		if m.AbandonAfter > 0 && m.Interval > 0 && m.AbandonAfter >= m.Interval {
			say(field(m.Path.Child("abandonAfter").String()), "is %s, but the next rotation is due after %s: set it "+
				"to less than refreshInterval", credential.DurationText(m.AbandonAfter), credential.DurationText(m.Interval))
		}
	}
}

// noOverlap is about credentials of other systems, which stop working when their resource is deleted.
func noOverlap(v *View, say Say) {
	for i, m := range v.Plan.Generators {
		if m.Kind == plan.KindResource && rotates(m) && m.Grace < noticed &&
			v.Plan.Input.Generators[i].GracePeriodExpression == "" {
			say(field(m.Path.String()), "deletes the former credential as soon as the next one is exported, but a mounted "+
				"Secret changes only after about a minute, and applications read it later: set gracePeriod, for example 1h")
		}
	}
}

// uses reports whether an export uses the outputs of a generator, from a list of Export.Generators or
// Export.Candidates.
func uses(list []string, m plan.Generator) bool {
	return slices.ContainsFunc(list, func(name string) bool {
		name, _, _ = plan.SplitItem(name)
		return name == m.Name
	})
}

// setters returns the exports that use the candidate of a generator, and readers those that use its verified
// generation.
func (v *View) setters(m plan.Generator) (setters, readers []plan.Export) {
	for _, e := range v.Plan.Exports {
		if uses(e.Candidates, m) {
			setters = append(setters, e)
		}
		if uses(e.Generators, m) {
			readers = append(readers, e)
		}
	}
	return setters, readers
}

func candidateNeverSet(v *View, say Say) {
	for _, m := range v.Plan.Generators {
		setters, _ := v.setters(m)
		if m.Ready != nil && len(setters) == 0 && v.reads1(m.Ready, expression.Candidate) {
			say(field(m.Path.Child("readyExpression").String()), "waits for ever, because no export uses %s: use it "+
				"in the export that sets the credential", m.Spelled(expression.Candidate))
		}
	}
}

// candidateForConsumers finds exports with a credential that was not verified, or not set. A connection string is for a
// consumer. A Secret that a workload reads is also for one, if nothing sets a password from it.
func candidateForConsumers(v *View, say Say) {
	for _, m := range v.Plan.Generators {
		setters, _ := v.setters(m)
		for _, e := range setters {
			if m.Ready == nil && m.Computed != nil {
				say(field(e.Path.String()), "uses %s, but generator %q has no readyExpression: each generation is in "+
					"use as soon as it is stored, "+
					"so consumers have it before it is set: add a readyExpression to the generator, or use %s",
					m.Spelled(expression.Candidate), m.Name, m.Spelled(expression.Generated))
			}
			consumer := v.workloadOf(e)
			for _, d := range e.Data {
				isForOne := consumer != "" || connectionString().MatchString(d.Value.Source().Text)
				if m.Ready != nil && isForOne && v.readsCandidate(d.Value, m) {
					*say(field(d.Path), "is for %s, and %s is not in use before it is verified: use %s",
						cmp.Or(consumer, "an application"), m.Spelled(expression.Candidate), m.Spelled(expression.Generated)) =
						respelled(d.Value, m, expression.Candidate, expression.Generated)
				}
			}
		}
	}
}

func (v *View) readsCandidate(x *expression.Expression, m plan.Generator) bool {
	return slices.ContainsFunc(v.reads(x), func(r read) bool {
		return r.Variable == expression.Candidate && plan.StepName(r.Reference, 0) == m.Name
	})
}

// respelled returns the edit of an expression that reads another variable of a generator.
func respelled(x *expression.Expression, m plan.Generator, from, to string) []diagnostic.Edit {
	if !strings.Contains(x.Source().Text, m.Spelled(from)) {
		return nil
	}
	return setText(x.Source().Path, strings.ReplaceAll(x.Source().Text, m.Spelled(from), m.Spelled(to)))
}

// connectionString matches an expression that writes a URL or another connection string.
var connectionString = lazy.MustCompile(`://|\b(?:jdbc|amqp|mongodb|redis)\.url\(|\b(?:libpq|pgpass)\.encode\(`)

// setterReadsGenerated finds a Secret from which another step sets a password, and which has the verified generation
// instead of the next one.
func setterReadsGenerated(v *View, say Say) {
	for _, m := range v.Plan.Generators {
		_, readers := v.setters(m)
		for _, e := range readers {
			if m.Ready == nil || uses(e.Candidates, m) || e.ForEach != nil {
				continue
			}
			for _, r := range v.resources() {
				if setter, _ := usesOf(r.Base, objectOf(e), ""); setter != "" {
					edits := say(field(e.Path.String()), "sets the credential through %s of %s, but has the generation that is "+
						"already in use: use %s", setter, r.Name, m.Spelled(expression.Candidate))
					for _, d := range e.Data {
						*edits = append(*edits, respelled(d.Value, m, expression.Generated, expression.Candidate)...)
					}
				}
			}
		}
	}
}

// workloadOf returns the workload that reads the Secret of an export, if no resource sets a password from it.
func (v *View) workloadOf(e plan.Export) (workload string) {
	for _, r := range v.resources() {
		setter, kind := usesOf(r.Base, objectOf(e), "")
		if setter != "" {
			return ""
		}
		if kind != "" {
			workload = "the " + kind + " " + r.Name
		}
	}
	return workload
}

// workloads are the kinds whose containers run on and on. A Job may be what sets a password.
var workloads = []string{ //nolint:gochecknoglobals // a table
	"DaemonSet", "Deployment", "Pod", "ReplicaSet", "StatefulSet",
}

// usesOf returns how a part of a manifest uses the Secret with a name: the field that sets a password from it, and the
// kind of the workload whose container or volume reads it. above is the kind of the workload that has the part.
func usesOf(part any, secret, above string) (setter, workload string) {
	list, _ := part.([]any)
	fields, _ := part.(map[string]any)
	if kind, _ := fields["kind"].(string); slices.Contains(workloads, kind) {
		above = kind
	}
	for _, name := range plan.SortedKeys(fields) {
		ref, _ := fields[name].(map[string]any)
		switch isNamed := ref["name"] == secret; {
		case isNamed && strings.HasSuffix(strings.ToLower(name), "passwordsecretref"):
			setter = name
		case isNamed && (name == "secretKeyRef" || name == "secretRef" || name == "secret"),
			name == "secret" && ref["secretName"] == secret:
			workload = above
		}
		list = append(list, fields[name])
	}
	for _, below := range list {
		s, w := usesOf(below, secret, above)
		setter, workload = cmp.Or(setter, s), cmp.Or(workload, w)
	}
	return setter, workload
}

// caWithoutFormer finds exports with only the present certificate of a CA that is rotated.
func caWithoutFormer(v *View, say Say) {
	for _, m := range v.Plan.Generators {
		if k := m.Certificate; k == nil || !k.IsCA() || !rotates(m) && m.Grace == 0 {
			continue
		}
		for _, e := range v.Plan.Exports {
			for _, d := range e.Data {
				if v.lacksFormer(d.Value, m.Name) {
					both := fmt.Sprintf("generated.%[1]s['tls.crt'] + previous.?%[1]s[?'tls.crt'].orValue('')", m.Name)
					edits := say(field(d.Path), "has only the present CA, but while the CA is rotated, clients also "+
						"need the former one: write %s", both)
					if present, _, _ := strings.Cut(both, " "); d.Value.Source().Text == present {
						*edits = setText(d.Value.Source().Path, both)
					}
				}
			}
		}
	}
}

// lacksFormer reports whether an expression uses the certificate of a CA, and not the former one.
func (v *View) lacksFormer(x *expression.Expression, ca string) bool {
	var present, former bool
	for _, r := range v.reads(x) {
		of := plan.StepName(r.Reference, 0)
		isCertificate := of == ca && plan.StepName(r.Reference, 1) == "tls.crt"
		present = present || r.Variable == expression.Generated && isCertificate
		former = former || r.Variable == expression.Previous && (of == ca || of == plan.Anything)
	}
	return present && !former
}

func certificateExpires(v *View, say Say) {
	for i, m := range v.Plan.Generators {
		if k := m.Certificate; k != nil && !k.IsCA() && v.Plan.Input.Generators[i].RefreshPolicy == "" {
			edits := say(field(m.Path.Child(plan.KindCertificate).String()), "expires, and is not renewed by default: "+
				"write refreshPolicy: OnChange beside it, which renews it in time, or refreshPolicy: CreatedOnce if it "+
				"is renewed by hand")
			*edits = []diagnostic.Edit{{Path: m.Path.Child("refreshPolicy").String(), Action: diagnostic.SetValue,
				Text: string(v1beta1.OnChange)}}
		}
	}
}

func derivedSchedule(v *View, say Say) {
	for i, m := range v.Plan.Generators {
		if m.Source == nil {
			continue
		}
		of, name := v.Plan.Input.Generators[i], ""
		switch {
		case of.RefreshInterval != nil:
			name = "refreshInterval"
		case of.RefreshIntervalExpression != "":
			name = "refreshIntervalExpression"
		case of.RotationWindow != nil:
			name = "rotationWindow"
		case of.KeepersExpression != "":
			name = "keepersExpression"
		default:
			continue
		}
		say(field(m.Path.Child(name).String()), "generates again from the same source: leave it and refreshPolicy out, "+
			"because each change of secretExpression already leads to a new generation, and rotate the source instead")
	}
}
