package plan

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/object"
)

// warn of what the composite's author wrote.
func (g *generating) warn(text string) {
	g.out.Others = append(g.out.Others, Outcome{Message: text, Warn: true, Tenant: true})
}

// waits says what a generator waits for that has no generation in use.
func waits(step generator.Step, unready map[int]string, why reasons) string {
	switch {
	case !why.empty():
		return why.text()
	case step.Make > 0:
		return fmt.Sprintf("its generation %d is to be stored", step.Make)
	case unready[step.Pending] != "":
		return fmt.Sprintf("its generation %d is not ready: it waits for %s", step.Pending, unready[step.Pending])
	case step.Pending > 0:
		return fmt.Sprintf("its generation %d is to be adopted", step.Pending)
	}
	return "its next generation"
}

// tell what becomes of a generator.
func (g *generating) tell(s *stepping, step generator.Step, unready map[int]string, why reasons) {
	stays := ""
	if step.Current > 0 {
		stays = fmt.Sprintf("; generation %d stays in use", step.Current)
	}
	o := Outcome{State: Waiting}
	switch pending := step.Pending; {
	case !why.empty():
		o = why.outcome(s.String(), "makes no generation", false)
		o.Message += stays
	case pending > 0 && unready[pending] != "":
		o.Message = fmt.Sprintf("%s: generation %d is not ready: it waits for %s%s", s, pending, unready[pending], stays)
	case step.Current == 0:
		o.Message = fmt.Sprintf("%s: %s", s, waits(step, unready, why))
	default:
		o = g.judge(s, g.current[s.name])
	}
	o.Aside = step.Current > 0
	if o.State == Waiting && !o.Aside && g.plan.exportsOf(s.name) {
		return // what waits for it says why
	}
	if o.State != Available || o.Warn {
		g.out.Others = append(g.out.Others, o)
	}
}

// exportsOf reports whether something that is exported waits for a generator.
func (p *Plan) exportsOf(name string) bool {
	return slices.ContainsFunc(p.exports, func(e export) bool { return slices.Contains(e.generators, name) })
}

// judge the generation in use, if no other is to come.
func (g *generating) judge(s *stepping, k *kept) Outcome {
	var missing []string
	for _, key := range s.keys {
		if _, ok := k.details[key]; !ok {
			missing = append(missing, fmt.Sprintf("%q", key))
		}
	}
	rotate := fmt.Sprintf("make another one with the composite's annotation %s: %s=<anything new>", rotateAnnotation, s.name)
	once := s.policy == "" || s.policy == v1beta1.CreatedOnce
	switch {
	case len(missing) > 0 && k.Kind == s.kind:
		return Outcome{State: Held, Warn: true, Message: fmt.Sprintf("%s: generation %d has no output %s, for it was made before: %s", s, k.Number, shorten(missing, ", "), rotate)}
	case once && !k.RenewAt.IsZero() && !g.Now.Before(k.RenewAt):
		return Outcome{Warn: true, Message: fmt.Sprintf("%s: the certificate of generation %d ends soon, or its CA is another one by now, and refreshPolicy CreatedOnce makes no other: %s, or set refreshPolicy to OnChange", s, k.Number, rotate)}
	}
	return Outcome{}
}

// note the state of a generator for later steps.
func (g *generating) note(name, input string, step generator.Step) {
	fields := map[string]*structpb.Value{}
	if input != "" {
		fields["input"] = structpb.NewStringValue(input)
	}
	gc := map[string]*structpb.Value{}
	at := keptAt(step)
	for _, k := range g.have[name] {
		i, keeps := at[k.Number]
		switch {
		case !keeps:
		case k.Number == step.Current:
			fields["latest"] = noted(k, step.Keep[i])
		case k.Number == step.Pending:
			fields["pending"] = noted(k, step.Keep[i])
		default:
			gc[k.Key()] = noted(k, step.Keep[i])
		}
	}
	if len(gc) > 0 {
		fields["gc"] = structpb.NewStructValue(&structpb.Struct{Fields: gc})
	}
	if g.out.GeneratorState == nil {
		g.out.GeneratorState = map[string]*structpb.Value{}
	}
	g.out.GeneratorState[name] = structpb.NewStructValue(&structpb.Struct{Fields: fields})
}

// noted are the names, hashes and times of a generation.
func noted(k *kept, now generator.Generation) *structpb.Value {
	apiVersion, kind, ns, name := object.Identity(k.object)
	fields := map[string]*structpb.Value{"generation": structpb.NewNumberValue(float64(k.Number))}
	put := func(key, value string) {
		if value != "" {
			fields[key] = structpb.NewStringValue(value)
		}
	}
	put("apiVersion", apiVersion)
	put("kind", kind)
	put("namespace", ns)
	put("name", name)
	put("resourceName", generationName(k.Generator, k.Number))
	put("generatedAt", timeText(now.Made))
	put("specHash", now.SpecHash)
	put("keepersHash", now.KeepersHash)
	put("flaggedForGCTime", timeText(now.Flagged))
	return structpb.NewStructValue(&structpb.Struct{Fields: fields})
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
