package laws

import (
	"fmt"
	"maps"
	"slices"
)

func kept(l lives) (out []string) {
	l.eachGeneration(func(g []Version) {
		was := Version{}
		for _, v := range g {
			if e, ok := l.has(v, v.Revision); ok && v.event == Deleted && !v.User {
				out = append(out, fmt.Sprintf("%s: still in %s", v, e))
			} else if ok && was.Flagged.IsZero() && !v.Flagged.IsZero() {
				out = append(out, fmt.Sprintf("%s: flagged, and still in %s", v, e))
			}

			was = v
		}
	})

	return out
}

func grace(l lives) (out []string) {
	there := map[string]bool{}
	for _, v := range l.Final {
		there[v.uid] = true
	}

	l.eachGeneration(func(g []Version) {
		var before Version // it is deleted

		used := false
		last := g[len(g)-1]

		for _, v := range g {
			if v.event != Deleted {
				before = v
				used = used || v.Adopted
			}
		}

		flagged := l.flagged(before, last.Revision)

		switch {
		case !used || there[last.uid] || last.User:
		case flagged.IsZero():
			out = append(out, fmt.Sprintf("%s: gone, and was never flagged", last))
		case last.event == Deleted && last.at.Before(flagged.Add(l.Grace)) && !l.ahead(before, last):
			out = append(out, fmt.Sprintf("%s: gone %s after it was flagged", last, last.at.Sub(flagged)))
		}
	})

	return out
}

func settled(l lives) (out []string) {
	if l.cut {
		return nil
	}

	current := map[string][]Version{}
	for _, v := range l.Final {
		if v.Generator != "" {
			current[v.Composite+" "+v.Generator] = append(current[v.Composite+" "+v.Generator], v)
		}
	}

	for _, c := range l.Composites {
		for _, g := range slices.Sorted(maps.Keys(l.Generators)) {
			if n := len(current[c+" "+g]); n != 1 {
				out = append(out, fmt.Sprintf("%s: %d generations of %s", c, n, g))
			}
		}

		for _, name := range slices.Sorted(maps.Keys(l.Exports)) {
			i := slices.IndexFunc(l.Final, func(v Version) bool { return v.Composite == c && v.Export == name })
			if i < 0 {
				out = append(out, fmt.Sprintf("%s: there is no %s", c, name))
				continue
			}

			out = append(out, settledExport(l, l.Final[i], l.Exports[name], current)...)
		}
	}

	return out
}

// settledExport returns what is not as it must be in an export, if these are the generations of each generator.
func settledExport(l lives, v Version, s Shape, current map[string][]Version) (out []string) {
	v.seen = l.seen + 1

	for _, key := range slices.Sorted(maps.Keys(s.Generated)) {
		o := s.Generated[key]
		if g := current[v.Composite+" "+o.Generator]; len(g) == 1 && g[0].Data[o.Name] != v.Data[key] {
			out = append(out, fmt.Sprintf("%s: %s is not of %s", v, key, g[0]))
		}
	}

	for _, key := range slices.Sorted(maps.Keys(s.Former)) {
		if v.Data[key] != "" {
			out = append(out, fmt.Sprintf("%s: %s is still there", v, key))
		}
	}

	if s.Source != "" && s.Moment(v.Data) != l.asked(v, s.Source) {
		out = append(out, fmt.Sprintf("%s: moment %d, and %d were written", v, s.Moment(v.Data), l.asked(v, s.Source)))
	}

	return out
}

// Settled returns what is not as it must be after the system has become stable.
func (h *History) Settled() []string { return settled(h.lives()) }
