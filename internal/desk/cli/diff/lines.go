package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	rehearsal "github.com/crossplane-contrib/function-export/internal/desk/diff"
	"github.com/crossplane-contrib/function-export/internal/desk/state"
)

// A line is what one effect says to people, or several effects on the keys of one object.
type line struct{ mark, subject, text string }

// String returns the line without its mark.
func (l line) String() string { return l.subject + " " + l.text }

// paint colors a line by its mark.
func (l line) paint(colors terminal.Colors, text string) string {
	switch l.mark {
	case "-", "x":
		return colors.Error(text)
	case "!", "~":
		return colors.Warning(text)
	}
	return text
}

// linesOf returns the lines about a composite. Effects on the keys of one object are in one line.
func linesOf(one *result) []line {
	var out []line
	at := map[string]int{}
	for _, e := range one.Effects {
		l := lineOf(e, one.Ref)
		if i, again := at[l.subject]; again && l.mark == "~" && out[i].mark == "~" {
			out[i].text += ", " + l.text
			continue
		}
		at[l.subject] = len(out)
		out = append(out, l)
	}
	return out
}

// lineOf describes an effect on a composite, or on one of its objects.
func lineOf(e rehearsal.Effect, composite state.Ref) line {
	l := line{"!", subject(e, composite), e.Reason}
	why := ""
	if e.Reason != "" {
		why = ": " + e.Reason
	}
	switch e.Effect {
	case rehearsal.KeysAdded, rehearsal.KeysChanged, rehearsal.KeysRemoved:
		l.mark, l.text = "~", keys(e)
	case rehearsal.ObjectCreated, rehearsal.ObjectRenamed:
		l.mark, l.text = "+", "is created"+why
	case rehearsal.ObjectDeleted:
		l.mark, l.text = "-", "is deleted"+why
	case rehearsal.ObjectTakenOver:
		l.mark, l.text = "=", "is taken over"+why
	case rehearsal.Rotates:
		l.text = "rotates " + when(e.At) + why
	case rehearsal.Retires:
		l.text = fmt.Sprintf("generation %d retires%s", e.Generation, why)
	case rehearsal.Abandons:
		l.text = fmt.Sprintf("generation %d is abandoned%s", e.Generation, why)
	case rehearsal.Refused:
		l.mark, l.text = "x", "is refused"+why
	case rehearsal.Conflict:
		l.text = "is in conflict" + why
	case rehearsal.Held:
		l.text = "is held" + why
	case rehearsal.Waiting:
		l.text = "is not created" + why
	case rehearsal.ReadinessLost:
		l.text = "loses its readiness" + why
	case rehearsal.StatusChanged, rehearsal.EnvironmentChanged:
		l.mark, l.text = "~", "changes "+strings.Join(e.Keys, ", ")
	case rehearsal.Reads:
		l.mark, l.text = ">", "is read, and was not read before"+why
	case rehearsal.Unknown:
		l.mark, l.text = "?", strings.TrimSpace(strings.Join(e.Keys, ", ")+" "+e.Reason)
	case rehearsal.NotAffected:
		l.mark, l.text = " ", "is not affected"+why
	}
	return l
}

// subject names what an effect is about. The namespace of the composite is left out.
func subject(e rehearsal.Effect, composite state.Ref) string {
	isGeneration := slices.Contains([]rehearsal.Kind{rehearsal.Rotates, rehearsal.Retires, rehearsal.Abandons}, e.Effect)
	switch {
	case e.Generator != "" && (isGeneration || e.Object == nil):
		return "generator " + e.Generator
	case e.Object == nil && e.Export != "":
		return "export " + e.Export
	case e.Object == nil:
		return composite.Kind
	case e.Object.Namespace == composite.Namespace:
		return e.Object.Kind + " " + cmp.Or(e.Object.Name, "with labels")
	}
	return e.Object.String()
}

func when(at string) string {
	if at == "" {
		return "now"
	}
	return "at " + at
}

// keys says how keys change. Values are only described by their lengths.
func keys(e rehearsal.Effect) string {
	var out []string
	for i, key := range e.Keys {
		switch e.Effect {
		case rehearsal.KeysAdded:
			out = append(out, key+" is added")
		case rehearsal.KeysRemoved:
			out = append(out, key+" is removed")
		default:
			n := e.Bytes[i]
			text := fmt.Sprintf("%s changes (%d → %d bytes)", key, n[0], n[1])
			if n[0] == n[1] {
				text = fmt.Sprintf("%s changes (%d bytes, label %s → %s)", key, n[0], e.Labels[i][0], e.Labels[i][1])
			}
			out = append(out, text)
		}
	}
	return strings.Join(out, ", ")
}
