package diff

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	rehearsal "github.com/crossplane-contrib/function-export/internal/desk/diff"
	"github.com/crossplane-contrib/function-export/internal/desk/state"
)

// A report is the result of all rehearsals.
type report struct {
	Source     source    `json:"source"`
	Notes      []string  `json:"notes,omitempty"`
	Composites []*result `json:"composites"`
	Later      *timeline `json:"later,omitempty"`
	Summary    summary   `json:"summary"`
}

// asComposedNow is what the steps of other functions return, unless they are recomputed.
const asComposedNow = "asComposedNow"

// A source says where the state comes from.
type source struct {
	Kind       string   `json:"kind"` // files, or cluster
	Context    string   `json:"context,omitempty"`
	Paths      []string `json:"paths,omitempty"`
	Objects    int      `json:"objects"`
	OtherSteps string   `json:"otherSteps"` // asComposedNow, or recomputed
}

// String is the first line for people.
func (s source) String() string {
	other := "other steps are taken as composed now"
	if s.OtherSteps != asComposedNow {
		other = "other steps are recomputed by crossplane composition render"
	}
	if s.Kind == "cluster" {
		return fmt.Sprintf("State: context %s of kubectl; %s", s.Context, other)
	}
	return fmt.Sprintf("State: %s (%s); %s", strings.Join(s.Paths, ", "), terminal.Counted(s.Objects, "object", "objects"),
		other)
}

// A result has the effects on one composite.
type result struct {
	state.Ref

	Composition string             `json:"composition"`
	Effects     []rehearsal.Effect `json:"effects"`

	later []*event
	ends  error // where what is later ends early
}

// has returns the first effect of a kind, or nil.
func (r *result) has(kind rehearsal.Kind) *rehearsal.Effect {
	i := slices.IndexFunc(r.Effects, func(e rehearsal.Effect) bool { return e.Kind == kind })
	if i < 0 {
		return nil
	}
	return &r.Effects[i]
}

func (r *report) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// has reports whether there is an effect of some kinds, or of any. A composite that is not affected has none.
func (r *report) has(kinds []rehearsal.Kind) bool {
	return slices.ContainsFunc(r.Composites, func(one *result) bool {
		return slices.ContainsFunc(one.Effects, func(e rehearsal.Effect) bool {
			return slices.Contains(kinds, e.Kind) || len(kinds) == 0 && e.Kind != rehearsal.NotAffected
		})
	})
}

// only counts all effects, and then removes those of other kinds, if some are given.
func (r *report) only(kinds []rehearsal.Kind) {
	r.Summary = newSummary(r.Composites)
	for _, one := range r.Composites {
		if one.Effects = slices.DeleteFunc(one.Effects, func(e rehearsal.Effect) bool {
			return len(kinds) > 0 && !slices.Contains(kinds, e.Kind)
		}); one.Effects == nil {
			one.Effects = []rehearsal.Effect{}
		}
	}
}

// A summary counts composites: all, those that are unchanged, and those with an effect of a kind.
type summary struct {
	composites, unchanged int
	by                    map[rehearsal.Kind][]string // the reason of each one
}

func newSummary(all []*result) summary {
	out := summary{composites: len(all), by: map[rehearsal.Kind][]string{}}
	for _, one := range all {
		if len(one.Effects) == 0 {
			out.unchanged++
		}
		for _, of := range effects {
			if e := one.has(of.kind); e != nil {
				out.by[of.kind] = append(out.by[of.kind], e.Reason)
			}
		}
	}
	return out
}

// MarshalJSON returns one object with a number for each kind.
func (s summary) MarshalJSON() ([]byte, error) {
	out := map[string]int{"composites": s.composites, "unchanged": s.unchanged}
	for kind, reasons := range s.by {
		out[string(kind)] = len(reasons)
	}
	return json.Marshal(out)
}

// String is the last line for people. It has a reason that is the same for all composites.
func (s summary) String() string {
	parts := []string{fmt.Sprintf("%d unchanged", s.unchanged)}
	reasoned := []rehearsal.Kind{rehearsal.Refused, rehearsal.Conflict, rehearsal.Held, rehearsal.Waiting}
	for _, e := range effects {
		reasons := s.by[e.kind]
		if len(reasons) == 0 {
			continue
		}
		text := terminal.Counted(len(reasons), e.one, e.several)
		isSame := len(slices.Compact(slices.Clone(reasons))) == 1
		if slices.Contains(reasoned, e.kind) && isSame && reasons[0] != "" {
			text += " (" + reasons[0] + ")"
		}
		parts = append(parts, text)
	}
	return fmt.Sprintf("%s: %s", terminal.Counted(s.composites, "composite", "composites"), strings.Join(parts, ", "))
}

// print prints the report in the selected format.
func (c *Command) print(w io.Writer, r *report, changed []*composition) error {
	if c.Summary {
		r.Composites = []*result{}
	}
	var out strings.Builder
	switch c.Output {
	case "json":
		return terminal.WriteJSON(w, r) //nolint:wrapcheck // by the caller
	case "markdown":
		r.markdown(&out)
	case "github":
		r.github(&out, changed)
	default:
		r.text(&out)
	}
	_, err := io.WriteString(w, out.String())
	return err //nolint:wrapcheck // by the caller
}

// text prints the effects as kubectl diff and terraform plan do.
func (r *report) text(w io.Writer) {
	lines := []string{terminal.OneLine(r.Source.String())}
	for _, note := range r.Notes {
		lines = append(lines, "Note: "+terminal.OneLine(note))
	}
	for _, one := range r.Composites {
		if len(one.Effects) > 0 {
			lines = append(lines, terminal.OneLine(one.String()))
		}
		for _, l := range linesOf(one) {
			subject, text := terminal.OneLine(l.subject), terminal.OneLine(l.text)
			lines = append(lines, fmt.Sprintf("  %s %-26s %s", l.mark, subject, text))
		}
	}
	lines = append(append(lines, r.Later.lines()...), fmt.Sprintf("Summary: %s\n", r.Summary))
	_, _ = io.WriteString(w, strings.Join(lines, "\n"))
}

// markdown prints a comment for a pull request. All texts from the cluster are in code spans.
func (r *report) markdown(w io.Writer) {
	_, _ = fmt.Fprintf(w, "### Effects of the changed Composition\n\n%s\n\n", code(r.Source.String()))
	_, _ = fmt.Fprintf(w, "**%s**\n", code(r.Summary.String()))
	for _, note := range r.Notes {
		_, _ = fmt.Fprintf(w, "\n> %s\n", code(note))
	}
	for _, l := range r.Later.lines() {
		_, _ = fmt.Fprintf(w, "\n%s\n", code(l))
	}
	table := "\n| | Composite | Object | Effect |\n|---|---|---|---|\n"
	for _, one := range r.Composites {
		for _, l := range linesOf(one) {
			row := []any{table, code(l.mark), code(one.String()), code(l.subject), code(l.text)}
			_, _ = fmt.Fprintf(w, "%s| %s | %s | %s | %s |\n", row...)
			table = ""
		}
	}
}

// code returns a text as a code span of a table, in which nothing has a meaning.
func code(text string) string {
	text = strings.NewReplacer("`", "'", "|", "\\|").Replace(terminal.OneLine(text))
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// github prints one annotation for each kind of effect, at the Composition.
func (r *report) github(w io.Writer, changed []*composition) {
	for _, c := range changed {
		for _, of := range effects {
			var titles []string
			first := ""
			for _, one := range r.Composites {
				if e := one.has(of.kind); e != nil && one.Composition == c.Name {
					titles = append(titles, one.String())
					l := lineOf(*e, one.Ref)
					first = cmp.Or(first, l.subject+" "+l.text)
				}
			}
			if n := len(titles); n > 0 {
				const most = 5
				text := strings.Join(titles[:min(n, most)], ", ")
				if n > most {
					text += fmt.Sprintf(" and %d more", n-most)
				}
				title := fmt.Sprintf("%s: %s", terminal.Counted(n, "composite", "composites"), of.kind)
				_, _ = io.WriteString(w, terminal.GitHub(of.level, c.file, c.line, 1, title, text+": "+first))
			}
		}
	}
	_, _ = fmt.Fprintf(w, "Summary: %s\n", r.Summary)
}

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
