// Package files finds and reads the files of commands, finds the inputs of this function in them, and
// finds the position of a diagnostic in a file.
package files

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// A File is a file that was read.
type File struct {
	Name   string
	docs   []*document.Document
	first  error        // the first reason why it cannot be read
	broken []Diagnostic // of all reasons

	inside []any // the path of its only object in the first document, or nil

	holdsSteps bool // it may contain inputs of this function
}

// First returns the first reason why a file cannot be read as a whole, with its line and column, or nil.
func (f File) First() error { return f.first }

// Broken returns the diagnostics of a file that cannot be read.
func (f File) Broken() []Diagnostic { return f.broken }

// Unread returns the diagnostics of a file that cannot be read and may contain an input of this function. Other
// files may be templates of a Helm chart, which are not YAML.
func (f File) Unread() []Diagnostic {
	if !f.holdsSteps {
		return nil
	}
	return f.broken
}

// failed returns the file with the reason why it could not be read by a name.
func (f File) failed(name string, err error) File {
	f.first, f.holdsSteps = CannotRead(name, err), true
	f.broken = []Diagnostic{f.unreadable(document.Position{Line: 1, Column: 1}, f.first.Error())}
	return f
}

// unreadable returns a diagnostic for a position in the file.
func (f File) unreadable(at document.Position, text string) Diagnostic {
	return Diagnostic{File: f.Name, Range: document.Range{Position: at, End: at}, Rule: Unreadable, Message: text}
}

// ReadAll reads and parses files on all cores. They stay in their order.
func (s *System) ReadAll(files []string, wanted func(text string) bool) []File {
	return OnAllCores(files, func(name string) File { return s.Read(name, wanted) }, func(int) {})
}

// Read reads a file. Its documents are parsed if wanted returns true for the text.
func (s *System) Read(name string, wanted func(text string) bool) File {
	out := File{Name: name}
	if p, isPart := s.parts[name]; isPart {
		name, out.Name, out.inside = p.file, p.file, p.at
	} else if name == Stdin && s.Stdin != nil {
		out.Name = StdinName
	}
	data, err := s.ReadFile(name)
	if err != nil {
		return out.failed(name, err)
	}
	return out.withText(document.Text(string(data)), wanted)
}

// Parse returns a file with a text, as if the file had it.
func Parse(name, text string) File {
	return File{Name: name}.withText(document.Text(text), AnyText)
}

func (f File) withText(text string, wanted func(text string) bool) File {
	if n := strings.Count(text, "\n---"); n > limits.FileDocuments {
		return f.failed(f.Name, fmt.Errorf("it has %d documents, over the limit of %d", n, limits.FileDocuments))
	}
	f.holdsSteps = mayHoldSteps(text)
	if !wanted(text) {
		return f
	}
	docs, wrong := document.Parse(text)
	f.docs = docs
	for _, d := range wrong {
		f.first = cmp.Or(f.first, fmt.Errorf("%s:%w", f.Name, d))
		f.broken = append(f.broken, f.unreadable(d.Position, d.Message))
	}
	return f
}

// A part is an object in a file, by the number of its document and its path there.
type part struct {
	file string
	at   []any
}

// Part returns the path of an object in a document of a file, as if the object was a file of this system.
func (s *System) Part(file string, document int, at ...any) string {
	p := part{file, append([]any{document}, at...)}
	if s.parts == nil {
		s.parts = map[string]part{}
	}
	name := fmt.Sprint(file, "\x00", p.at)
	s.parts[name] = p
	return name
}

// AnyText is true for each file.
func AnyText(string) bool { return true }

// An Object is a document, or an item of one that is a List, as kubectl prints several objects.
type Object struct {
	File  string // its name
	Doc   *document.Document
	At    []any // the path of the item in the document
	Value any
}

// Objects returns the objects of the files that the paths select, in their order. Each file must be readable.
func (s *System) Objects(paths []string, selected Selection) (out []Object, err error) {
	names, err := s.Find(paths, selected)
	if err != nil {
		return nil, err
	}
	for _, f := range s.ReadAll(names, AnyText) {
		if f.first != nil {
			return nil, f.first
		}
		out = append(out, f.Objects()...)
	}
	return out, nil
}

// start is where the object begins.
func (o Object) start() document.Position {
	if len(o.At) == 0 {
		return o.Doc.Start()
	}
	place, _ := o.Doc.Find(o.At...)
	return place.Value.Position
}

// Line returns the line of a field of the object, or of the nearest parent if the field is missing. Without a path it
// is the line where the object begins.
func (o Object) Line(path ...any) int {
	if len(path) == 0 {
		return o.start().Line
	}
	place, _ := o.Doc.Find(slices.Concat(o.At, path)...)
	return place.Key.Line
}

// Objects returns the objects of the file, in their order.
func (f File) Objects() []Object {
	if f.inside != nil && len(f.docs) > 0 {
		index, path := f.inside[0].(int), f.inside[1:] //nolint:forcetypeassert // the index of the document
		if index < len(f.docs) {
			d := f.docs[index]
			return objectsIn(Object{f.Name, d, path, d.At(path...)})
		}
	}
	out := make([]Object, 0, len(f.docs))
	for _, d := range f.docs {
		out = append(out, objectsIn(Object{File: f.Name, Doc: d, Value: d.Value()})...)
	}
	return out
}

func objectsIn(o Object) []Object {
	m, _ := o.Value.(map[string]any)
	items, ok := m["items"].([]any)
	if !ok || m["apiVersion"] != "v1" || m["kind"] != "List" {
		return []Object{o}
	}
	var out []Object
	for i, item := range items {
		out = append(out, objectsIn(Object{o.File, o.Doc, append(slices.Clone(o.At), "items", i), item})...)
	}
	return out
}

// OnAllCores calls do for each item, in parallel on all cores. The results are in the order of the items.
func OnAllCores[T, R any](items []T, do func(T) R, progress func(done int)) []R {
	out, done := make([]R, len(items)), 0
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i, item := range items {
		free <- struct{}{}
		wg.Go(func() {
			out[i] = do(item)
			mu.Lock()
			defer mu.Unlock()
			done++
			progress(done)
			<-free
		})
	}
	wg.Wait()
	return out
}
