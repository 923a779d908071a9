package reconcile_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/reconcile"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// lines runs a round, and returns its exports, its generations, what it says, and when it must run again. It returns no
// result if the round fails.
func (s *scene) lines(t *testing.T, firstCall bool) ([]string, *reconcile.Result) {
	t.Helper()
	before := s.print()
	result, err := s.call(t)
	if s.print() != before {
		t.Error("Run(...) changed its request")
	}
	for calls := 1; err == nil && !firstCall; calls++ { // as Crossplane does
		required := result.Requirements
		for _, q := range required {
			s.req.Found[q.Key()] = s.answer(q)
		}
		if result, err = s.call(t); err != nil || cmp.Equal(required, result.Requirements) {
			break
		}
		if calls == 5 {
			t.Fatalf("Run(...): requires %v after %v: Crossplane fails after 5 calls", result.Requirements, required)
		}
	}
	if err != nil {
		return []string{"error: " + err.Error()}, nil
	}
	lines, outcomes := show(result), make([]reconcile.Outcome, 0, len(result.Objects))
	for _, o := range result.Objects {
		outcomes = append(outcomes, o.Outcome)
	}
	for _, f := range result.Status {
		outcomes = append(outcomes, f.Outcome)
	}
	for i, o := range slices.Concat(outcomes, result.Others) {
		lines[i] += showMarks(o)
	}
	for _, o := range result.Objects {
		lines = append(lines, showRecord(o)...)
	}
	for _, g := range result.Generations {
		lines = append(lines, showGeneration(g))
	}
	for _, name := range slices.Sorted(maps.Keys(result.GeneratorState)) {
		lines = append(lines, name+" has "+showState(result.GeneratorState[name].GetStructValue().AsMap()))
	}
	var required []string
	for _, q := range result.Requirements {
		required = append(required, q.String())
	}
	if len(required) > 0 {
		lines = append(lines, "requires "+strings.Join(required, ", "))
	}
	if !result.Due.IsZero() {
		lines = append(lines, "due in "+result.Due.Sub(s.req.Now).String())
	}
	if result.Fresh {
		lines = append(lines, "fresh")
	}
	return lines, result
}

// shorten returns lines with those that were the same in the former round at the end, by their first words.
func shorten(lines, former []string) []string {
	var out, same []string
	for _, line := range lines {
		if slices.Contains(former, line) {
			word, _, _ := strings.Cut(line, " ")
			same = append(same, word)
		} else {
			out = append(out, line)
		}
	}
	if len(same) > 0 {
		out = append(out, "as before: "+strings.Join(same, ", "))
	}
	return out
}

// showMarks is what an outcome says in addition to its message.
func showMarks(o reconcile.Outcome) string {
	text := ""
	if o.Aside {
		text += " (the exports match)"
	}
	if o.Author {
		text += " (for the author)"
	}
	if o.See != "" {
		text += "; see: " + o.See
	}
	return text
}

// showRecord has a line for each generator of which an export records more than the generation in use.
func showRecord(o reconcile.Object) []string {
	type reference struct {
		Generation int    `json:"generation"`
		UID        string `json:"uid"`
	}
	var all struct {
		Generators map[string]struct {
			Former    []reference `json:"former"`
			Candidate *reference  `json:"candidate"`
			State     struct {
				Highest int `json:"highest"`
			} `json:"state"`
		} `json:"generators"`
	}
	text := annotationsOf(o.Desired).GetStructValue().GetFields()[generator.AnnotationRecord].GetStringValue()
	if json.Unmarshal([]byte(text), &all) != nil {
		return nil
	}
	record := all.Generators
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(record)) {
		var parts []string
		for _, ref := range record[name].Former {
			parts = append(parts, fmt.Sprintf("former %d %s", ref.Generation, ref.UID))
		}
		if ref := record[name].Candidate; ref != nil {
			parts = append(parts, fmt.Sprintf("candidate %d %s", ref.Generation, ref.UID))
		}
		if n := record[name].State.Highest; n > 0 {
			parts = append(parts, fmt.Sprintf("highest number %d", n))
		}
		if len(parts) > 0 {
			lines = append(lines, o.Name+" also records of "+name+": "+strings.Join(parts, ", "))
		}
	}
	return lines
}

func annotationsOf(o *structpb.Struct) *structpb.Value {
	return o.GetFields()["metadata"].GetStructValue().GetFields()["annotations"]
}

// showState is the generations in the state for later steps.
func showState(state map[string]any) string {
	entry := func(v any) string {
		m, _ := v.(map[string]any)
		return fmt.Sprintf("%v %v", m["resourceName"], m["name"])
	}
	var parts []string
	for _, name := range []string{"latest", "pending"} {
		if v := state[name]; v != nil {
			parts = append(parts, name+" "+entry(v))
		}
	}
	gc, _ := state["gc"].(map[string]any)
	var former []string
	for _, v := range gc {
		former = append(former, "former "+entry(v))
	}
	slices.Sort(former)
	if parts = append(parts, former...); len(parts) == 0 {
		return "no generation"
	}
	return strings.Join(parts, ", ")
}

// showGeneration is a composed generation, in one line.
func showGeneration(c reconcile.Composed) string {
	line := c.Name
	if c.Hides != "" {
		line += " hides " + c.Hides
	}
	if !c.Ready {
		line += " unready"
	}
	m := c.Desired.AsMap()
	meta, _ := m["metadata"].(map[string]any)
	line += fmt.Sprintf(" %v %v/%v", m["kind"], meta["namespace"], meta["name"])
	annotations, _ := meta["annotations"].(map[string]any)
	line += showGenerationState(c.Desired, annotations)
	number := stateNumber(annotations)
	if labels, _ := meta["labels"].(map[string]any); labels[generator.LabelGeneration] != number {
		line += " without its label"
	}
	if number == "" || !strings.HasSuffix(c.Name, "/"+number) {
		line += " number " + number
	}
	for _, fields := range []any{annotations, meta["labels"]} {
		if fields, ok := fields.(map[string]any); ok {
			maps.DeleteFunc(fields, func(name string, _ any) bool { return strings.HasPrefix(name, object.StatePrefix) })
		}
	}
	if data, ok := m["data"].(map[string]any); ok && m["kind"] == "Secret" {
		m["data"] = strings.Join(slices.Sorted(maps.Keys(data)), " ")
	}
	maps.DeleteFunc(meta, func(name string, v any) bool {
		fields, ok := v.(map[string]any)
		return name == "name" || name == "namespace" || ok && len(fields) == 0
	})
	maps.DeleteFunc(m, func(name string, v any) bool {
		fields, ok := v.(map[string]any)
		return name == "kind" || name == "apiVersion" || ok && len(fields) == 0
	})
	line += " " + flow1(m)
	if len(line) > 1000 {
		line = line[:200] + "…"
	}
	return line
}

// stateNumber is the number in the state of a generation.
func stateNumber(annotations map[string]any) string {
	text, _ := annotations[generator.AnnotationState].(string)
	return strconv.Itoa(generator.ReadRecord(text).Number)
}

// showGenerationState is the state in the annotations of a generation, and whether its seal is right.
func showGenerationState(desired *structpb.Struct, annotations map[string]any) string {
	var record struct {
		Resource map[string]any `json:"resource"`
		State    map[string]any `json:"state"`
		Follows  []struct {
			Generation int      `json:"generation"`
			UID        string   `json:"uid"`
			Codes      []string `json:"codes"`
		} `json:"follows"`
	}
	text, _ := annotations[generator.AnnotationState].(string)
	if json.Unmarshal([]byte(text), &record) != nil {
		return ""
	}
	s := record.State
	flagged, hashes := s["flaggedForGCTime"], map[string]any{"keepers-hash": s["keepersHash"], "source-hash": s["sourceHash"]}
	for _, field := range []string{"generator", "generation", "generatedAt", "specHash", "keepersHash", "sourceHash"} { // too long
		delete(s, field)
	}
	delete(s, "flaggedForGCTime")
	if flagged != nil {
		s["flagged"] = true
	}
	line := " " + flow1(s)
	if record.Resource == nil {
		line += " without the input of its resource"
	}
	if flagged != nil {
		line += fmt.Sprintf(" flagged %v", flagged)
	}
	if strings.Contains(text, `"seal":`) {
		data, _ := object.DataOf(wire.Of(desired)) // an object without data must have no seal
		if generator.Sealed(generator.AnnotationState, data, text) {
			line += " sealed"
		} else {
			line += " with a wrong seal"
		}
	}
	for _, hash := range []string{"keepers-hash", "source-hash"} {
		if hashes[hash] != nil {
			line += " " + hash
		}
	}
	for _, f := range record.Follows {
		line += fmt.Sprintf(" follows %d %s with %d codes", f.Generation, f.UID, len(f.Codes))
	}
	return line
}
