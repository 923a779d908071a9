package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	rehearsal "github.com/crossplane-contrib/function-export/internal/desk/diff"
	"github.com/crossplane-contrib/function-export/internal/desk/state"
)

// An effect is how people read and select effects of a kind.
type effect struct {
	kind         rehearsal.Kind
	word         string // of --only
	mark         string // before a line
	level        string // of an annotation of GitHub
	one, several string // in the summary, for one composite and for several
	text         string // in a line; the reason follows
}

// The levels of annotations.
const (
	grave   = "error"
	notable = "warning"
	minor   = "notice"
)

// effects has all kinds, the gravest first.
var effects = []effect{ //nolint:gochecknoglobals // a table
	{rehearsal.Refused, "refuses", "x", grave, "is refused", "are refused", "is refused"},
	{rehearsal.ObjectDeleted, "deletes", "-", grave, "deletes", "delete", "is deleted"},
	{rehearsal.Conflict, "conflicts", "!", grave, "would be in conflict", "would be in conflict", "is in conflict"},
	{rehearsal.Held, "holds", "!", grave, "would be held", "would be held", "is held"},
	{rehearsal.Waiting, "waits", "!", notable, "would wait", "would wait", "is not created"},
	{rehearsal.ReadinessLost, "unready", "!", notable, "loses readiness", "lose readiness", "loses its readiness"},
	{rehearsal.Rotates, "rotates", "!", notable, "rotates", "rotate", "rotates"},
	{rehearsal.KeysRemoved, "removes", "~", grave, "removes keys", "remove keys", ""},
	{rehearsal.KeysChanged, "changes", "~", notable, "changes keys", "change keys", ""},
	{rehearsal.KeysAdded, "adds", "~", minor, "adds keys", "add keys", ""},
	{rehearsal.ObjectRenamed, "renames", "+", notable, "renames", "rename", "is created"},
	{rehearsal.ObjectTakenOver, "takesOver", "=", minor, "takes over", "take over", "is taken over"},
	{rehearsal.ObjectCreated, "creates", "+", minor, "creates", "create", "is created"},
	{rehearsal.Retires, "retires", "!", minor, "retires", "retire", "retires"},
	{rehearsal.Abandons, "abandons", "!", minor, "abandons", "abandon", "is abandoned"},
	{rehearsal.StatusChanged, "status", "~", minor, "changes status", "change status", ""},
	{rehearsal.EnvironmentChanged, "environment", "~", minor, "changes the environment", "change the environment", ""},
	{rehearsal.Reads, "reads", ">", minor, "reads more", "read more", "is read, and was not read before"},
	{rehearsal.Unknown, "unknown", "?", notable, "cannot be known", "cannot be known", ""},
	{rehearsal.NotAffected, "notAffected", " ", minor, "not affected", "not affected", "is not affected"},
}

// effectOf returns the effect that a word means: a word of --only, or a kind. It is empty for another word.
func effectOf(word string) effect {
	for _, e := range effects {
		if strings.EqualFold(e.word, word) || strings.EqualFold(string(e.kind), word) {
			return e
		}
	}
	return effect{}
}

// gravestFirst orders effects as the table does.
func gravestFirst(a, b rehearsal.Effect) int {
	at := func(e rehearsal.Effect) int {
		return slices.IndexFunc(effects, func(of effect) bool { return of.kind == e.Kind })
	}
	return at(a) - at(b)
}

func kindsOf(words []string) []rehearsal.Kind {
	out := make([]rehearsal.Kind, 0, len(words))
	for _, word := range words {
		out = append(out, effectOf(word).kind)
	}
	return out
}

// A line is what one effect says to people, or several effects on the keys of one object.
type line struct{ mark, subject, text string }

// paint colors a line by its mark.
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
	of := effectOf(string(e.Kind))
	text := of.text
	switch {
	case e.Kind == rehearsal.Rotates:
		text = strings.ReplaceAll("rotates at "+cmp.Or(e.At, "now"), "at now", "now")
	case e.Generation > 0 && (e.Kind == rehearsal.Retires || e.Kind == rehearsal.Abandons):
		text = fmt.Sprintf("generation %d %s", e.Generation, text)
	case text != "":
	case e.Kind == rehearsal.Unknown:
		return line{of.mark, subject(e, composite), strings.TrimSpace(strings.Join(e.Keys, ", ") + " " + e.Reason)}
	default:
		return line{of.mark, subject(e, composite), keys(e)}
	}
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return line{of.mark, subject(e, composite), text}
}

// subject names what an effect is about. The namespace of the composite is left out.
func subject(e rehearsal.Effect, composite state.Ref) string {
	isGeneration := slices.Contains([]rehearsal.Kind{rehearsal.Rotates, rehearsal.Retires, rehearsal.Abandons}, e.Kind)
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

// keys says how keys or fields change. Values are only described by their lengths, and if these are equal, by labels.
func keys(e rehearsal.Effect) string {
	how := map[rehearsal.Kind]string{rehearsal.KeysAdded: "is added", rehearsal.KeysRemoved: "is removed"}
	out := make([]string, 0, len(e.Keys))
	for i, key := range e.Keys {
		text := key + " " + cmp.Or(how[e.Kind], "changes")
		if n := e.Bytes; e.Kind == rehearsal.KeysChanged && n[i][0] != n[i][1] {
			text += fmt.Sprintf(" (%d → %d bytes)", n[i][0], n[i][1])
		} else if e.Kind == rehearsal.KeysChanged {
			text += fmt.Sprintf(" (%d bytes, label %s → %s)", n[i][0], e.Labels[i][0], e.Labels[i][1])
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}
