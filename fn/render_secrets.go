package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
)

// shortestSecret is the length, in bytes, from which on a value is looked for in
// text. A shorter one is no secret worth the name, and to blacken each "1" would
// leave nothing to read.
const shortestSecret = 4

// renderSecrets are the values of every Secret and connection detail that render
// has seen. It is the net below the function, which must not let one out: what
// a message, an error or an object that is no Secret holds of them is masked.
//
// A value that says nothing new is not masked: one that also stands in clear in
// the files (a region), one that is listed as nonSensitive, and one the function
// made of words that all stand there (a host name of composite and namespace).
type renderSecrets struct {
	clear  string
	words  map[string]bool
	shared []string
	known  map[string]bool
}

// newRenderSecrets knows the Secrets among the files.
func newRenderSecrets(in *renderInputs) *renderSecrets {
	s := &renderSecrets{words: map[string]bool{"true": true, "false": true}, known: map[string]bool{}}

	var all []any
	for _, d := range slices.Concat([]renderDoc{in.composite}, in.observed, in.required) {
		all = append(all, d.Object)
	}
	for _, st := range in.steps {
		all = append(all, st.Step, st.FunctionRef.Name, st.Input)
		s.shared = append(s.shared, nonSensitive(st.Input)...)
	}
	all = append(all, in.context)

	var values []secretValue
	clear, _ := walkSecrets(all, func(v secretValue) any {
		values = append(values, v)
		return nil
	})
	s.readClear(clear)
	for _, v := range values {
		if p, ok := v.plain(); ok {
			s.add(v.key, p)
		}
	}
	return s
}

// readClear remembers every text that is no secret, and its words.
func (s *renderSecrets) readClear(v any) {
	var b strings.Builder
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				b.WriteString(k + "\n")
				walk(v[k])
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		case string:
			b.WriteString(v + "\n")
		case float64:
			j, _ := json.Marshal(v)
			b.WriteString(string(j) + "\n")
		}
	}
	walk(v)
	s.clear = b.String()
	for _, w := range textWords(s.clear) {
		s.words[w] = true
	}
}

// nonSensitive lists what all fields of this name in an input list.
func nonSensitive(v any) []string {
	var out []string
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			list, _ := e.([]any)
			if k != "nonSensitive" {
				out = append(out, nonSensitive(e)...)
				continue
			}
			for _, i := range list {
				if name, ok := i.(string); ok {
					out = append(out, name)
				}
			}
		}
	case []any:
		for _, e := range v {
			out = append(out, nonSensitive(e)...)
		}
	}
	return out
}

// add makes the value of a key known, unless it says nothing new.
func (s *renderSecrets) add(key, value string) {
	bare := strings.TrimSpace(value)
	if len(bare) < shortestSecret || strings.Contains(s.clear, bare) {
		return
	}
	for _, name := range s.shared {
		if strings.HasSuffix(name, "."+key) {
			// Its words are no secret from now on, wherever they are used.
			for _, w := range textWords(value) {
				s.words[w] = true
			}
			return
		}
	}
	s.known[value], s.known[bare] = true, true
}

// learn makes known what a response brings: its Secrets, wherever they are, and
// its connection details.
func (s *renderSecrets) learn(rsp *fnv1.RunFunctionResponse) {
	all := []any{rsp.GetContext().AsMap(), rsp.GetDesired().GetComposite().GetResource().AsMap()}
	for k, v := range rsp.GetDesired().GetComposite().GetConnectionDetails() {
		s.derive(k, string(v))
	}
	for _, r := range rsp.GetDesired().GetResources() {
		all = append(all, r.GetResource().AsMap())
		for k, v := range r.GetConnectionDetails() {
			s.derive(k, string(v))
		}
	}
	_, _ = walkSecrets(all, func(v secretValue) any {
		if p, ok := v.plain(); ok {
			s.derive(v.key, p)
		}
		return nil
	})
}

// derive makes a value known that the function made of others.
func (s *renderSecrets) derive(key, value string) {
	for _, w := range textWords(value) {
		if !s.words[w] {
			s.add(key, value)
			return
		}
	}
}

// textWords are the runs of letters and digits in a text, in lower case.
func textWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c)
	})
}

// redact masks every known value in a text, as it is and in the encodings that
// it is likely to be met in.
func (s *renderSecrets) redact(text string) string { return s.redactor()(text) }

// redactor is redact for many texts: longest first, so that no value hides the
// longer one around it.
func (s *renderSecrets) redactor() func(string) string {
	masks := map[string]string{}
	for v := range s.known {
		for _, e := range encodings(v) {
			if len(e) >= shortestSecret {
				masks[e] = maskOf(len(v))
			}
		}
	}
	keys := slices.SortedFunc(maps.Keys(masks), func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	pairs := make([]string, 0, 2*len(keys))
	for _, k := range keys {
		pairs = append(pairs, k, masks[k])
	}
	return strings.NewReplacer(pairs...).Replace
}

func encodings(v string) []string {
	j := encodeJSON(v, v)
	return []string{
		v,
		strings.TrimSuffix(strings.TrimPrefix(j, `"`), `"`),
		strings.Trim(fmt.Sprintf("%q", v), `"`),
		url.QueryEscape(v),
		url.PathEscape(v),
		base64.RawStdEncoding.EncodeToString([]byte(v)),
		base64.RawURLEncoding.EncodeToString([]byte(v)),
	}
}

// redactTree returns v with every key and string redacted.
func (s *renderSecrets) redactTree(v any) any {
	return mapText(v, s.redactor())
}

func mapText(v any, f func(string) string) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out[f(k)] = mapText(v[k], f)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = mapText(v[i], f)
		}
		return out
	case string:
		return f(v)
	default:
		return v
	}
}
