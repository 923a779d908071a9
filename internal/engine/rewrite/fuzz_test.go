package rewrite

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fuzzed is what the fuzz targets are given: a rule for each letter of program,
// and a key for each line of names, with the value in the same line of values.
type fuzzed struct {
	program, source, target, template string
	conversion, decoding              uint8
	names, values                     string
}

func addSeeds(f *testing.F) {
	f.Helper()
	for _, s := range []fuzzed{
		{"r", "^db-(.*)$", "DB_${1}", "x", 0, 0, "db-host\ndb-port\nuser", "a\nb\nc"},
		{"rt", ".*", "k", "{{ .value | upper }}", 1, 3, "a\nb", "YQ==\nYQ=="},
		{"em", "a", "b", "x", 0, 0, "a\nb", `{"p":1,"q":{"b":[1,"<"],"a":null}}` + "\n" + `{"r":"s"}`},
		{"i", "a", "b", "x", 0, 0, "a\nb\nc", `{"p":1}` + "\n" + `{"p":2}` + "\nnull"},
		{"jr", "^(j).*", "$1", "x", 2, 0, "a\nb", `{"p":1}` + "\n" + `{"q":2}`},
		{"etk", "a", "b", "{{ .value | b64dec }}", 1, 0, "a/b\na_b", `{"p":1}` + "\n" + `{"q":2}`},
		{"e", "a", "b", "x", 0, 0, "a\nb", `{"p":1}` + "\n" + `{"p":2}`},
		{"m", "a", "b", "x", 0, 0, "a\nb", `{"p":1}` + "\n" + `{"p":2}`},
		{"t", "a", "b", "{{ if isAbs .value }}{{ dir .value }}{{ end }}{{ base .value }}{{ ext .value }}{{ clean " +
			".value }}", 1, 0, "/a/../b.c\na", "x\ny"},
		{"k", "a", "b", "x", 0, 1, "a\nb", "x\ny"},
		{"t", "a", "b", "{{ if eq .value `a` }}{{ printf `%s` .value }}{{ end }}", 1, 1, "a\nb", "x\ny"},
		{"er", "[pq]", "", "x", 0, 2, "a\nb", `{"p":1,"q":2}` + "\n" + `{"x":"\ud83d"}`},
	} {
		f.Add(s.program, s.source, s.target, s.template, s.conversion, s.decoding, s.names, s.values)
	}
}

func (z fuzzed) options() Options {
	conversions := []string{"Default", "Unicode", "None"}
	decodings := []string{"None", "Base64", "Base64URL", "Auto"}
	o := Options{ConversionStrategy: conversions[z.conversion%3], DecodingStrategy: decodings[z.decoding%4]}
	rules := map[rune]Rule{
		'r': regexpRule(z.source, z.target), 't': templateRule(z.template),
		'e': mergeRule(
			Merge{},
		), 'i': mergeRule(Merge{ConflictPolicy: "Ignore"}), 'j': mergeRule(Merge{Strategy: "JSON", Into: "j"}),
		'm': mergeRule(Merge{Strategy: "JSON", Into: "m", ConflictPolicy: "Ignore", Priority: []string{"a"}}),
		'k': {Transform: &Transform{KeyExpression: "k"}},
	}
	for _, letter := range z.program {
		if rule, ok := rules[letter]; ok && len(o.Rewrite) < 8 {
			o.Rewrite = append(o.Rewrite, rule)
		}
	}
	return o
}

func (z fuzzed) keys() []Key {
	values := strings.Split(z.values, "\n")
	var keys []Key
	for i, name := range strings.Split(z.names, "\n") {
		keys = append(keys, key(fmt.Sprint("in", i%2), name, values[i%len(values)]))
	}
	return keys
}

// Every key is in exactly one that goes out, with its value, whatever rules
// rename it; a merge opens up each of its members or, with the policy Ignore,
// overwrites it and says from where. Or all of it is an error.
func FuzzRewriteLosesNoKey(f *testing.F) {
	addSeeds(f)
	f.Fuzz(
		func(t *testing.T, program, source, target, template string, conversion, decoding uint8, names, values string) {
			z := fuzzed{program, source, target, template, conversion, decoding, names, values}
			full := z.options()
			before := z.keys()
			for i, rule := range full.Rewrite {
				after, err := run(Options{Rewrite: []Rule{rule}, ConversionStrategy: "None"}, before)
				if err != nil {
					if got, err := run(full, z.keys()); err == nil {
						t.Errorf("rule %d fails by itself, and all of them give %d keys", i, len(got))
					}
					return
				}
				assertDistinct(t, after)
				switch {
				case rule.Merge == nil:
					assertSame(t, before, after)
				case rule.Merge.Strategy == "JSON":
					assertAdded(t, rule.Merge, before, after)
				default:
					assertOpened(t, rule.Merge, before, after)
				}
				before = after
			}
			full.DecodingStrategy = ""
			if after, err := run(full, z.keys()); err == nil {
				assertDistinct(t, after)
				assertSame(t, before, after)
			}
		},
	)
}

func assertDistinct(t *testing.T, keys []Key) {
	t.Helper()
	for i, k := range keys {
		if k.Name == "" || i > 0 && keys[i-1].Name >= k.Name {
			t.Errorf("key %d of %q is empty, there twice or not sorted", i, keys)
		}
	}
}

// assertSame wants the same keys under any names.
func assertSame(t *testing.T, before, after []Key) {
	t.Helper()
	list := func(keys []Key) []string {
		var out []string
		for _, k := range keys {
			out = append(out, fmt.Sprintf("%q %q", k.Origins, k.Value.Reveal()))
		}
		slices.Sort(out)
		return out
	}
	if diff := cmp.Diff(list(before), list(after)); diff != "" {
		t.Errorf("keys are lost, or there twice: -before, +after:\n%s", diff)
	}
}

// members of a key, decoded by encoding/json.
func members(t *testing.T, k Key) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(k.Value.Reveal())))
	d.UseNumber()
	var out map[string]any
	if err := d.Decode(&out); err != nil {
		t.Errorf("%q is no object: %v", k.Value.Reveal(), err)
	}
	return out
}

func assertOpened(t *testing.T, m *Merge, before, after []Key) {
	t.Helper()
	want := map[string]any{} // before is sorted, so that the last one wins
	from := map[string][]Origin{}
	total := 0
	for _, k := range before {
		all := members(t, k)
		total += len(all)
		maps.Copy(want, all)
		for name := range all {
			from[name] = append(from[name], k.Origins...)
		}
	}
	if len(after) != len(want) || m.ConflictPolicy != "Ignore" && len(after) != total {
		t.Errorf("%d members of %d names give %d keys", total, len(want), len(after))
	}
	for _, k := range after {
		if !sameOrigins(k.Origins, from[k.Name]) {
			t.Errorf("%q comes from %v, not from %v", k.Name, from[k.Name], k.Origins)
		}
		if text, ok := want[k.Name].(string); ok && string(k.Value.Reveal()) != text {
			t.Errorf("%q is %q, not %q", k.Name, text, k.Value.Reveal())
		}
	}
}

func assertAdded(t *testing.T, m *Merge, before, after []Key) {
	t.Helper()
	if len(before) == 0 && len(after) == 0 {
		return // an object of nothing comes from nowhere
	}
	i := slices.IndexFunc(after, func(k Key) bool { return k.Name == m.Into })
	if i < 0 {
		t.Fatalf("no key %q", m.Into)
	}
	added := after[i]
	assertSame(t, before, slices.Delete(slices.Clone(after), i, i+1))
	var from []Origin
	want := map[string]any{}
	last := slices.SortedStableFunc(slices.Values(before), func(a, b Key) int { // listed keys are last
		return slices.Index(m.Priority, a.Name) - slices.Index(m.Priority, b.Name)
	})
	for _, k := range last {
		from = append(from, k.Origins...)
		maps.Copy(want, members(t, k))
	}
	if !sameOrigins(added.Origins, from) {
		t.Errorf("%q comes from %v, not from %v", m.Into, from, added.Origins)
	}
	if diff := cmp.Diff(want, members(t, added)); diff != "" {
		t.Errorf("the merged object: -want, +got:\n%s", diff)
	}
}

func sameOrigins(a, b []Origin) bool {
	return slices.Equal(origins(Key{Origins: a}, Key{Origins: a}), origins(Key{Origins: b}, Key{Origins: b}))
}

// Any order of the keys gives the same keys or the same error.
func FuzzRewriteIgnoresOrder(f *testing.F) {
	addSeeds(f)
	f.Fuzz(
		func(t *testing.T, program, source, target, template string, conversion, decoding uint8, names, values string) {
			z := fuzzed{program, source, target, template, conversion, decoding, names, values}
			r, faults := Compile(z.options(), testKey)
			if faults != nil {
				t.Skip("not compiled")
			}
			in := z.keys()
			want, wantErr := r.Apply(fresh(), in)
			random := rand.New(rand.NewPCG(uint64(len(names)), uint64(len(values))))
			for range 3 {
				random.Shuffle(len(in), func(i, j int) { in[i], in[j] = in[j], in[i] })
				got, err := r.Apply(fresh(), in)
				if message(err) != message(wantErr) {
					t.Errorf("want %q, got %q", message(wantErr), message(err))
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("-want, +got:\n%s", diff)
				}
			}
		},
	)
}

// No value, no member of one and no name that was made of one is in an error.
func FuzzErrorsHoldNoValue(f *testing.F) {
	addSeeds(f)
	f.Fuzz(
		func(t *testing.T, program, source, target, template string, conversion, decoding uint8, names, values string) {
			if strings.Contains(strings.ToLower(source+target+template+names), canary) {
				t.Skip("the input shows it")
			}
			// Strings, and so the names of members, have the canary at both ends.
			values = canary + strings.ReplaceAll(values, "\n", canary+"\n"+canary) + canary
			if strings.Contains(values, "{") {
				values = strings.ReplaceAll(strings.ReplaceAll(values, canary, ""), `"`, `"`+canary)
				values = strings.ReplaceAll(values, `"`+canary+`:`, canary+`":`)
				values = strings.ReplaceAll(values, `"`+canary+`,`, canary+`",`)
				values = strings.ReplaceAll(values, `"`+canary+`}`, canary+`"}`)
			}
			z := fuzzed{program, source, target, template, conversion, decoding, names, values}
			_, err := run(z.options(), z.keys())
			if strings.Contains(strings.ToLower(fmt.Sprintf("%v %+v %#v", err, err, err)), canary) {
				t.Errorf("the error shows a value: %v", err)
			}
		},
	)
}
