package laws

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// laws say how Secrets may change, whatever happens to the processes that write them. Each law returns the
// events that broke it.
var laws = map[string]func(l lives) []string{
	"what is exported is of one moment":                         whole,
	"what is exported was stored and adopted before":            stored,
	"what is exported changes only when that was asked for":     asked,
	"what is exported never goes back":                          forward,
	"a generation stays while something exports it":             kept,
	"a generation stays for its grace period":                   grace,
	"no Secret loses a key, and none that is exported goes":     complete,
	"an exported change has a revision of its own":              counted,
	"in the end one generation is left, and all that is has it": settled,
	"nothing changes while its composite is paused":             still,
}

// Judge checks a history, and those that ended when etcd was restored. It returns the broken laws, and what broke them.
func (h *History) Judge() map[string][]string {
	out := map[string][]string{}

	for _, h := range append(slices.Clone(h.past), h) {
		l := h.lives()

		for name, law := range laws {
			if broken := law(l); len(broken) > 0 {
				out[name] = append(out[name], broken...)
			}
		}
	}

	return out
}

func whole(l lives) (out []string) {
	l.eachExport(func(v, _ Version, s Shape) {
		if err := s.Whole(v.Data); err != nil {
			out = append(out, fmt.Sprintf("%s: %v", v, err))
		}

		of := map[string]string{}

		for _, key := range slices.Sorted(maps.Keys(s.Generated)) {
			o := s.Generated[key]

			g := l.generation(v.Composite, o, v.Data[key])
			if g.uid == "" {
				continue // another law checks it
			}

			if first, ok := of[o.Generator]; ok && first != g.uid {
				out = append(out, fmt.Sprintf("%s: %s is of another generation of %s than other keys", v, key,
					o.Generator))
			}

			of[o.Generator] = g.uid
			if said, ok := v.generated[o.Generator]; !ok || said != g.uid {
				out = append(out, fmt.Sprintf("%s: %s is of %s, and its annotation says another", v, key, g))
			}
		}
	})

	return out
}

func stored(l lives) (out []string) {
	l.eachExport(func(v, _ Version, s Shape) {
		for _, key := range slices.Sorted(maps.Keys(s.Generated)) {
			o := s.Generated[key]
			if _, ok := v.Data[key]; !ok {
				continue
			}

			uid := l.generation(v.Composite, o, v.Data[key]).uid
			if !slices.ContainsFunc(l.generations[uid], func(g Version) bool {
				return g.Revision < v.Revision && g.event != Deleted && g.immutable && l.adopted(g, v.Revision)
			}) {
				out = append(out, fmt.Sprintf("%s: %s is of no generation of %s that was stored and adopted before", v,
					key, o.Generator))
			}
		}
	})

	return out
}

func asked(l lives) (out []string) {
	first := map[string]time.Time{}

	l.eachGeneration(func(g []Version) {
		id := g[0].Composite + " " + g[0].Generator
		if t := g[0].at; first[id].IsZero() || t.Before(first[id]) {
			first[id] = t
		}
	})

	check := func(v, g Version) {
		r := l.Generators[g.Generator]

		n := l.asked(v, g.Generator)
		if r.With != "" {
			n += l.asked(v, r.With) + l.back(v, r.With)
		}

		if r.Every > 0 {
			n += int(v.at.Sub(first[g.Composite+" "+g.Generator])/r.Every) + 1 // changes are seen late
			n += l.early(g.Composite, g.Generator)
		}

		if g.Number > n+1 {
			out = append(out, fmt.Sprintf("%s: generation %d of %s after %d causes for another one", v, g.Number,
				g.Generator, n))
		}
	}

	l.eachGeneration(func(g []Version) { check(g[0], g[0]) })
	l.eachExport(func(v, _ Version, s Shape) {
		for _, key := range slices.Sorted(maps.Keys(s.Generated)) {
			check(v, l.generation(v.Composite, s.Generated[key], v.Data[key]))
		}

		if s.Source != "" && s.Moment(v.Data) > l.asked(v, s.Source) {
			out = append(out, fmt.Sprintf("%s: moment %d, and %d were written", v, s.Moment(v.Data),
				l.asked(v, s.Source)))
		}
	})

	return out
}

func forward(l lives) (out []string) {
	l.eachExport(func(v, before Version, s Shape) {
		for _, key := range slices.Sorted(maps.Keys(s.Generated)) {
			o := s.Generated[key]
			is, was := l.generation(v.Composite, o, v.Data[key]).Number, l.generation(v.Composite, o, before.Data[key])
			if is < was.Number && !l.removed[was.uid] {
				out = append(out, fmt.Sprintf("%s: %s is of generation %d, and was of %d", v, key, is, was.Number))
			}
		}

		for _, key := range slices.Sorted(maps.Keys(s.Former)) {
			o := s.Former[key]
			keys := slices.Sorted(maps.Keys(s.Generated))
			now := keys[slices.IndexFunc(keys, func(k string) bool { return s.Generated[k] == o })]
			is, was := l.generation(v.Composite, o, v.Data[now]).Number,
				l.generation(v.Composite, o, before.Data[now]).Number
			has := l.generation(v.Composite, o, v.Data[key]).Number

			switch {
			case v.Data[key] != "" && (has == 0 || has >= is):
				out = append(out, fmt.Sprintf("%s: %s is of generation %d, and what is exported of %d", v, key, has,
					is))
			case was != 0 && was < is && has < was && !l.removed[l.generation(v.Composite, o, before.Data[now]).uid]:
				out = append(out, fmt.Sprintf("%s: %s is of generation %d, and %d was exported before", v, key, has,
					was))
			}
		}

		if s.Source != "" && before.Name != "" && s.Moment(v.Data) < s.Moment(before.Data) {
			out = append(out, fmt.Sprintf("%s: moment %d, and was %d", v, s.Moment(v.Data), s.Moment(before.Data)))
		}
	})

	return out
}

func complete(l lives) (out []string) {
	l.eachExport(func(v, before Version, s Shape) {
		if before.Name != "" && before.uid != v.uid && !v.edited {
			out = append(out, fmt.Sprintf("%s: was deleted and created again", v))
		}

		for _, key := range slices.Concat(slices.Sorted(maps.Keys(s.Generated)), s.Keys) {
			if v.Data[key] == "" {
				out = append(out, fmt.Sprintf("%s: has no %s", v, key))
			}
		}
	})

	for _, versions := range l.exported {
		if last := versions[len(versions)-1]; last.event == Deleted && !last.User {
			out = append(out, fmt.Sprintf("%s: is exported", last))
		}
	}

	l.eachGeneration(func(g []Version) {
		for _, v := range g {
			if !maps.Equal(v.Data, g[0].Data) {
				out = append(out, fmt.Sprintf("%s: a generation changed", v))
			}
		}
	})

	return out
}

func counted(l lives) (out []string) {
	l.eachExport(func(v, before Version, _ Shape) {
		switch changed := !maps.Equal(v.Data, before.Data); {
		case before.uid != v.uid || v.edited:
		case changed && v.changes <= before.changes:
			out = append(out, fmt.Sprintf("%s: the data changed, and the revision is %d after %d", v, v.changes,
				before.changes))
		case !changed && v.changes != before.changes:
			out = append(out, fmt.Sprintf("%s: the data is the same, and the revision is %d after %d", v, v.changes,
				before.changes))
		}
	})

	return out
}
