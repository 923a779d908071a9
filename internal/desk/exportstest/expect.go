package exportstest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/pipeline"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// expect compares what exists with what the current moment expects.
func (p *player) expect(ctx context.Context, e *Expectation) {
	for _, name := range slices.Sorted(maps.Keys(e.Objects)) {
		p.expectObject(name, e.Objects[name])
	}
	for i, name := range e.Absent {
		p.expectGone(fmt.Sprintf("expect.absent[%d]", i), name)
	}
	for _, field := range slices.Sorted(maps.Keys(e.Composite)) {
		p.walk("expect.composite."+field, e.Composite[field], p.now().composite[field], comparison{})
	}
	p.expectCondition(e.Condition)
	for i, r := range e.Results {
		p.expectResult(i, r)
	}
	p.expectChanges(e)
	for i, text := range e.Assert {
		p.assert(ctx, i, text)
	}
}

func (p *player) expectObject(name string, fields map[string]any) {
	field := "expect.objects." + name
	got, exists := p.now().objects[name].(map[string]any)
	switch absent := fields["absent"] == true; {
	case absent && exists:
		p.fail(field, "%s exists", name)
	case absent:
	case !exists:
		_, err := p.find(name)
		p.fail(field, "%s%s", err, p.clean(p.now().why()))
	case fields["exactly"] != nil:
		p.walk(field+".exactly", fields["exactly"], withoutServer(got), comparison{isSecret(got), true})
	default:
		p.walk(field, fields, got, comparison{secret: isSecret(got)})
	}
}

// why returns the fatal result, or else the condition that is not true, as the end of a message about something that
// does not exist.
func (s *snapshot) why() string {
	for _, r := range s.results {
		if fields, _ := r.(map[string]any); fields["severity"] == "Fatal" {
			return fmt.Sprintf("\nthe pipeline has failed: %s", fields[fieldMessage])
		}
	}
	c := read(s.conditions["ExportsReady"])
	if message := c.Get(fieldMessage).Text(); message != "" {
		return fmt.Sprintf("\nExportsReady is %s: %s: %s", c.Get("status").Text(), c.Get("reason").Text(), message)
	}
	return ""
}

// inData matches a field of the data of an object.
var inData = lazy.MustCompile(`\.data\b`)

// A comparison says how an object is compared.
type comparison struct {
	secret bool // its data is secret
	exact  bool // it has no other fields
}

// walk compares each expected value with the actual one.
func (p *player) walk(field string, want, got any, c comparison) {
	fields, isMap := want.(map[string]any)
	actual, isObject := got.(map[string]any)
	hidden := c.secret && (isObject || inData().MatchString(field))
	switch {
	case len(fields) == 1 && fields["matches"] != nil:
		p.matches(field, textOf(fields["matches"]), got, hidden)
	case len(fields) == 1 && fields["absent"] == true:
		if got != nil {
			p.differs(field, diagnostic.SetValue, got, "exists: %s", p.value(got, hidden))
		}
	case got == nil && (c.exact || !isMap):
		p.missing(field, want, hidden, c)
	case got != nil && isMap && !isObject:
		p.differs(field, diagnostic.SetValue, got, "is no object")
	case isMap:
		p.walkFields(field, fields, actual, c)
	default:
		p.equal(field, want, got, hidden)
	}
}

func (p *player) missing(field string, want any, hidden bool, c comparison) {
	action, instead, text := diagnostic.SetValue, any(map[string]any{"absent": true}), ""
	if _, isMap := want.(map[string]any); !isMap {
		text = "\n- " + p.value(want, hidden)
	}
	if c.exact {
		action, instead = diagnostic.Remove, nil
	}
	p.differs(field, action, instead, "is missing%s", text)
}

// walkFields walks through the fields of an object.
func (p *player) walkFields(field string, want, got map[string]any, c comparison) {
	for _, key := range slices.Sorted(maps.Keys(want)) {
		p.walk(fieldBelow(field, key), want[key], got[key], c)
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if c.exact && want[key] == nil {
			text, below := "", fieldBelow(field, key)
			if _, isMap := got[key].(map[string]any); !isMap {
				text = "\n+ " + p.value(got[key], c.secret && inData().MatchString(below))
			}
			p.differs(field, diagnostic.SetValue, got[key], "has another field %s%s", key, text)
			p.failures[len(p.failures)-1].Edit.Path = fieldBelow(p.field(field), key)
		}
	}
}

// equal compares a list, or a value as text.
func (p *player) equal(field string, want, got any, hidden bool) {
	if list, ok := want.([]any); ok && reflect.DeepEqual(list, got) || textOf(want) == textOf(got) {
		return
	}
	action := diagnostic.SetValue
	if _, isText := got.(string); isText {
		action = diagnostic.SetText
	}
	p.differs(field, action, got, "differs\n- %s\n+ %s", p.value(want, hidden), p.value(got, hidden))
}

// fieldBelow returns the field of a key. A key with dots is in brackets.
func fieldBelow(field, key string) string {
	if strings.ContainsAny(key, "./") {
		return field + "[" + key + "]"
	}
	return field + "." + key
}

// matches compares a text with a regular expression.
func (p *player) matches(field, pattern string, got any, hidden bool) {
	re, err := regexp.Compile(pattern)
	switch wrong := (*syntax.Error)(nil); {
	case errors.As(err, &wrong): // the error quotes the pattern
		p.fail(field+".matches", "is no regular expression: %s", wrong.Code)
	case got == nil:
		p.fail(field, "is missing")
	case re.MatchString(textOf(got)):
	case hidden && !p.mask.show: // the pattern may contain the value
		p.fail(field, "does not match its pattern\n+ %s", p.value(got, true))
	default:
		p.fail(field, "does not match\n- %s\n+ %s", p.clean(pattern), p.value(got, false))
	}
}

// withoutServer returns an object without the fields that the API server and Crossplane set.
func withoutServer(o map[string]any) map[string]any {
	out, metadata := maps.Clone(o), maps.Clone(read(o).Get("metadata").Object())
	maps.DeleteFunc(metadata, pipeline.IsServers)
	for _, field := range []string{"annotations", "labels"} {
		m := maps.Clone(read(metadata).Get(field).Object())
		maps.DeleteFunc(m, func(key string, _ any) bool {
			domain, _, _ := strings.Cut(key, "/")
			return strings.HasSuffix(domain, "crossplane.io")
		})
		if metadata[field] = m; len(m) == 0 {
			delete(metadata, field)
		}
	}
	out["metadata"] = metadata
	return out
}

func (p *player) expectCondition(c *ConditionExpectation) {
	if c == nil {
		return
	}
	kind := cmp.Or(c.Type, "ExportsReady")
	got, _ := p.now().conditions[kind].(map[string]any)
	if got == nil {
		p.fail("expect.condition", "the composite has no condition %s%s", kind,
			suggest.ThereAre(kind, slices.Sorted(maps.Keys(p.now().conditions)), ""))
		return
	}
	before := len(p.failures)
	p.walk("expect.condition", fieldsOf(map[string]any{"status": c.Status, "reason": c.Reason, fieldMessage: c.Message}),
		got, comparison{})
	if len(p.failures) > before && c.Message == nil {
		p.failures[before].Message += ": " + p.clean(textOf(got[fieldMessage]))
	}
}

// fieldsOf returns the fields that an expectation has.
func fieldsOf(fields map[string]any) map[string]any {
	maps.DeleteFunc(fields, func(_ string, v any) bool { return v == nil || v == "" })
	return fields
}

func (p *player) expectResult(i int, want ResultExpectation) {
	fields := fieldsOf(map[string]any{"severity": want.Severity, fieldMessage: want.Message})
	if !slices.ContainsFunc(p.now().results, func(got any) bool {
		alone := &player{test: p.test, mask: p.mask}
		alone.walk("", fields, got, comparison{})
		return len(alone.failures) == 0
	}) {
		p.fail(fmt.Sprintf("expect.results[%d]", i), "no result is like this\n- %s\n+ %s", p.clean(Inline(want)),
			p.clean(Inline(p.now().results)))
	}
}

func (p *player) expectChanges(e *Expectation) {
	for _, list := range e.changes() {
		for i, item := range list.items {
			name, field := nameOf(item), fmt.Sprintf("expect.%s[%d]", list.name, i)
			got, exists := p.now().stored[name]
			was, existed := p.before().stored[name]
			same := exists && existed && maps.Equal(pipeline.DataOf(was), pipeline.DataOf(got))
			switch {
			case list.name == "gone":
				p.expectGone(field, name)
			case !exists:
				p.fail(field, "%s does not exist%s", name,
					suggest.ThereAre(name, slices.Sorted(maps.Keys(p.now().stored)), "no object exists"))
			case list.name == "changed" && same:
				p.fail(field, "the data of %s has not changed%s", name, p.clean(p.now().why()))
			case list.name == "kept" && !same:
				p.fail(field, "the data of %s has changed: %s", name, p.differences(was, got))
			}
		}
	}
}

// expectGone fails if an object exists, or if its name can only be misspelled.
func (p *player) expectGone(field, name string) {
	known, export := p.names(), exportOf(name)
	generator, _, isGeneration := plan.ParseGeneration(name)
	wrong := p.knowsGenerator(generator)
	switch _, exists := p.now().objects[name]; {
	case exists:
		p.fail(field, "%s exists", name)
	case isGeneration && wrong != nil:
		p.fail(field, "%s", wrong)
	case !isGeneration && export != "fromComposite" && !slices.Contains(known, export): // whose authors name objects
		p.fail(field, "nothing in the test has the composition resource name %q%s", name, suggest.ThereAre(name, known, ""))
	}
}

// names returns the names that an object can have, without the keys of items.
func (p *player) names() []string {
	out := slices.AppendSeq(slices.Collect(maps.Keys(p.laws.exports)), maps.Keys(p.named()))
	for _, s := range p.moments {
		out = slices.AppendSeq(out, maps.Keys(s.objects))
	}
	for i, name := range out {
		out[i] = exportOf(name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// differences lists the keys that differ.
func (p *player) differences(before, after *structpb.Struct) string {
	var out []string
	was, got, secret := pipeline.DataOf(before), pipeline.DataOf(after), isSecret(after.AsMap())
	keys := maps.Clone(was)
	maps.Copy(keys, got)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if was[key] != got[key] {
			out = append(out, fmt.Sprintf("%s was %s and is %s", key, p.value(was[key], secret), p.value(got[key], secret)))
		}
	}
	return strings.Join(out, ", ")
}
