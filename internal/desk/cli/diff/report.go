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
	err   error
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
				if e := one.has(of.kind); e != nil && one.Composition == c.name {
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
