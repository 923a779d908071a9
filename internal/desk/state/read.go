package state

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// Read adds the objects of a file of kubectl get -o yaml or -o json, and returns their number. A document that is not
// an object of Kubernetes is left out. An error has the position, and quotes no value.
func (s *State) Read(name, content string) (int, error) {
	content = document.Text(content)
	n := 0
	for _, p := range split(content) {
		items, err := p.read()
		if err != nil {
			return n, fmt.Errorf("%s:%w", name, err)
		}
		for _, item := range items {
			n += s.addAll(item)
		}
	}
	return n, nil
}

// addAll adds an object, or the items of a list, and returns their number.
func (s *State) addAll(v any) int {
	o, _ := v.(map[string]any)
	kind := Text(o, "kind")
	items, isList := o["items"].([]any)
	switch {
	case isList && strings.HasSuffix(kind, "List"):
		n := 0
		for _, item := range items {
			if of, ok := item.(map[string]any); ok && of["kind"] == nil { // as in the answer of an API server
				of["apiVersion"], of["kind"] = o["apiVersion"], strings.TrimSuffix(kind, "List")
			}
			n += s.addAll(item)
		}
		return n
	case kind == "" || Text(o, "apiVersion") == "" || Text(o, "metadata", "name") == "":
		return 0
	}
	s.Add(o)
	return 1
}

// A part is a part of a file that can be read on its own.
type part struct {
	text string
	line int // before it
}

// item begins an item of the list that kubectl prints.
var item = lazy.MustCompile(`(?m)^- `)

// split splits a file into its documents, and a list of kubectl into its items: one tree of all objects of a cluster
// would need much memory. Nothing else in a block of YAML begins with a hyphen and a space in the first column.
func split(content string) []part {
	if strings.HasPrefix(strings.TrimSpace(content), "{") {
		return []part{{text: content}}
	}
	var out []part
	line := 0
	for _, doc := range strings.SplitAfter(content, "\n---") {
		starts := item.FindAllStringIndex(doc, -1)
		if !strings.Contains(doc, "\nkind: List\n") || strings.Contains(doc, "&") && anchor.MatchString(doc) {
			starts = nil
		}
		at := 0
		for _, start := range starts {
			out = append(out, part{doc[at:start[0]], line})
			line += strings.Count(doc[at:start[0]], "\n")
			at = start[0]
		}
		last := doc[at:]
		if end := listEnd.FindStringIndex(last); len(starts) > 0 && end != nil {
			last = last[:end[0]]
		}
		out = append(out, part{last, line})
		line += strings.Count(doc[at:], "\n")
	}
	return out
}

var (
	anchor  = lazy.MustCompile(`[-:] &\w`)           // an alias can name it in another item
	listEnd = lazy.MustCompile(`(?m)^(?:[a-z]|---)`) // the fields after the items
)

// read returns the documents of the part, or its item of a list.
func (p part) read() ([]any, error) {
	if items, ok := p.readJSON(); ok {
		return items, nil
	}
	docs, wrong := document.Parse(strings.TrimSuffix(p.text, "\n---"))
	if len(wrong) > 0 {
		at := *wrong[0]
		at.Line += p.line
		return nil, &at
	}
	var out []any
	for _, d := range docs {
		if items, ok := d.Value().([]any); ok {
			out = append(out, items...)
			continue
		}
		out = append(out, d.Value())
	}
	return out, nil
}

// readJSON reads objects of JSON, as far as the part is JSON.
func (p part) readJSON() (out []any, ok bool) {
	if !strings.HasPrefix(strings.TrimSpace(p.text), "{") {
		return nil, false
	}
	d := json.NewDecoder(strings.NewReader(p.text))
	for d.More() {
		var v any
		if d.Decode(&v) != nil {
			return nil, false // YAML can also begin with a brace
		}
		out = append(out, v)
	}
	return out, true
}

// masked matches what tools write in place of the value of a Secret.
var masked = lazy.MustCompile(`(?i)^\s*(\*+|x{3,}|\.{3}|[<\[(*{]*\s*(redacted|masked|hidden|omitted|removed|sensitive|\d+ bytes)\b.*)\s*$`)

// hide removes the values of a masked Secret, and moves stringData into data. It returns the keys that have no value,
// or nil if all have one. A Secret without data is masked as a whole.
func hide(o map[string]any) []string {
	data, _ := o["data"].(map[string]any)
	plain, _ := o["stringData"].(map[string]any)
	if data == nil {
		data = map[string]any{}
	}
	for key, v := range plain {
		text, _ := v.(string)
		data[key] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	hidden := []string{}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if isMasked(data[key]) {
			hidden = append(hidden, key)
			delete(data, key)
		}
	}
	delete(o, "stringData")
	o["data"] = data
	if len(hidden) == 0 && len(data) > 0 {
		return nil
	}
	return hidden
}

func isMasked(v any) bool {
	text, _ := v.(string)
	b, err := base64.StdEncoding.DecodeString(text)
	return v == nil || err != nil || masked.MatchString(text) || masked.MatchString(string(b))
}
