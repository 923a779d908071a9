package main

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/plan"
)

// inputOf a step, as Crossplane would hand it over; nil if it has none.
func inputOf(s exportsStep) (*structpb.Struct, *field.Error) {
	if s.input == nil {
		return nil, nil //nolint:nilnil // a step without an input
	}
	input, err := structpb.NewStruct(s.input)
	if err != nil {
		return nil, &field.Error{Type: field.ErrorTypeInvalid, Field: "input", BadValue: field.OmitValueType{}, Detail: "holds something that is not JSON"}
	}
	return input, nil
}

// checkStep finds the faults of a step, in the order of the file.
func checkStep(ctx context.Context, env *expression.Environment, known *knowledge, s exportsStep) []finding {
	input, fault := inputOf(s)
	if fault != nil {
		return []finding{s.finding(fault, false)}
	}
	faults, typed := plan.Check(ctx, env, input, func(p *plan.Plan) *plan.Known { return known.of(ctx, env, s, p) })
	out := make([]finding, 0, len(faults)+len(typed))
	for _, f := range faults {
		out = append(out, s.finding(f, false))
	}
	for _, f := range typed {
		out = append(out, s.finding(f, true))
	}
	slices.SortStableFunc(out, func(a, b finding) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
	return out
}

// finding is a fault and its place in the file.
func (s exportsStep) finding(f *field.Error, typed bool) finding {
	at := s.locate(f.Field, f.Type == field.ErrorTypeForbidden)
	out := finding{
		File: s.file, Line: at.Line, Column: at.Column, Step: s.name, Field: positionInText.ReplaceAllString(f.Field, ""),
		Rule: ruleInput, Message: f.Detail,
	}
	if at.expression {
		out.Column = nameBehindDot(s.doc.Line(at.Line), out.Column)
	}
	if s.hasOwnLines() {
		out.source = s.doc.Line(at.Line)
	}
	switch {
	case typed:
		out.Rule = ruleType
	case positionInText.MatchString(f.Field):
		out.Rule = ruleExpression
	}
	return out
}

// hasOwnLines reports whether the lines of an input hold nothing else: one in braces can
// share them with another object, a Secret say, whose values are not to be shown.
func (s exportsStep) hasOwnLines() bool {
	if len(s.at) == 0 {
		return true // it is all of the document
	}
	place, _ := s.doc.Find(s.at...)
	line := []rune(s.doc.Line(place.Value.Line))
	return place.Value.Column > len(line) || line[place.Value.Column-1] != '{'
}

// nameBehindDot is the column of what is selected, of that of the selection, which CEL
// has at its dot.
func nameBehindDot(line string, column int) int {
	runes := []rune(line)
	if column < 1 || column > len(runes) || runes[column-1] != '.' {
		return column
	}
	name := column
	for name < len(runes) && strings.ContainsRune("? ", runes[name]) {
		name++
	}
	if name == len(runes) { // it is in the next line
		return column
	}
	return name + 1
}
