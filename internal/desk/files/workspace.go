package files

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// A Workspace holds files, such as those of a folder for an editor. It reads a file again only if the file changed, and
// learns again from all definitions only if one of them changed, or a file with settings, or if a step names another
// kind.
//
// It is not safe for concurrent use.
type Workspace struct {
	System *System

	root    string // the folder, or empty if there are only files in editors
	flags   Flags
	names   []string
	read    map[string]*held
	known   *Knowledge // nil if it must learn again
	kinds   map[string]bool
	unread  []Diagnostic // of settings and definitions
	problem error        // of the schemas, which no file has
}

// A held file is one that was read, with its steps.
type held struct {
	File

	steps   []Step
	unread  []Diagnostic
	teaches bool // it declares something about other files
}

// NewWorkspace returns the files in a folder. The current folder is a relative name, and an empty name is none.
func NewWorkspace(system *System, root string) *Workspace {
	w := &Workspace{System: system, root: root, read: map[string]*held{}}
	w.List()
	return w
}

// List lists the files of the folder again.
func (w *Workspace) List() {
	w.names, w.known = nil, nil
	if w.root != "" {
		w.names, _ = w.System.Find([]string{w.root}, Below)
	}
}

// Change notes that a file has another text.
func (w *Workspace) Change(name string) {
	if h := w.read[name]; h != nil && h.teaches || filepath.Base(name) == SettingsFile {
		w.known = nil
	}
	delete(w.read, name)
}

// Open returns a file, whether or not it is in the folder.
func (w *Workspace) Open(name string) File {
	if !slices.Contains(w.names, name) {
		w.names = append(w.names, name)
	}
	w.load()
	return w.read[name].File
}

// Known returns what the files declare.
func (w *Workspace) Known() *Knowledge {
	w.load()
	return w.known
}

// Problem returns why the schemas cannot be read, or nil. It is about no file of the workspace.
func (w *Workspace) Problem() error { return w.problem }

// Diagnostics returns the diagnostics of a file that are about no step.
func (w *Workspace) Diagnostics(name string) []Diagnostic {
	f := w.Open(name)
	h := w.read[name]
	out := slices.Concat(f.Unread(), h.unread)
	for _, d := range w.unread {
		if w.System.Absolute(d.File) == w.System.Absolute(name) {
			out = append(out, d)
		}
	}
	return out
}

// load reads what is not read yet, and learns again if it must.
func (w *Workspace) load() {
	missing := slices.DeleteFunc(slices.Clone(w.names), func(name string) bool { return w.read[name] != nil })
	for i, f := range w.System.ReadAll(missing, mayMatter) {
		h := &held{File: f, teaches: f.teaches()}
		h.steps, h.unread = FindSteps(f)
		w.read[missing[i]] = h
		if h.teaches {
			w.known = nil
		}
	}
	all, steps := make([]File, 0, len(w.names)), []Step(nil)
	for _, name := range w.names {
		all, steps = append(all, w.read[name].File), append(steps, w.read[name].steps...)
	}
	if w.known != nil && (len(w.known.schemas) == 0 || maps.Equal(w.kinds, w.known.wanted(steps))) {
		return
	}
	settings := w.System.readSettings(w.names)
	known, err := w.System.newKnowledge(w.flags, settings)
	w.known, w.problem = known, err
	w.unread = slices.Concat(settings.wrong, known.learn(all))
	if err == nil {
		w.problem = known.learnSchemas(*w.System, steps)
	}
	w.kinds = known.wanted(steps)
}

// teaches reports whether a file declares something about other files: a kind or a function.
func (f File) teaches() bool {
	kinds := []any{"CompositeResourceDefinition", "CustomResourceDefinition", "Function"}
	return slices.ContainsFunc(f.Objects(), func(o Object) bool {
		object, _ := o.Value.(map[string]any)
		return slices.Contains(kinds, object["kind"])
	})
}

// Files returns the files of the workspace that may matter.
func (w *Workspace) Files() (out []File) {
	w.load()
	for _, name := range w.names {
		out = append(out, w.read[name].File)
	}
	return out
}

// Inputs are the inputs of this function in files.
type Inputs struct {
	Steps []Step
	Files [][]Step   // the same, of each file
	Known *Knowledge // about the objects that they read

	// Unread are the diagnostics of files, inputs, and definitions that cannot be read.
	Unread []Diagnostic
}

// Load loads the inputs in the files that the paths select, with what the files and the flags declare. An error is
// about a flag, or says that there is nothing to load.
func (s *System) Load(paths []string, flags Flags) (*Inputs, error) {
	names, err := s.Find(paths, Below)
	if err != nil {
		return nil, err
	}
	w := &Workspace{System: s, flags: flags, names: names, read: map[string]*held{}}
	if w.load(); w.problem != nil {
		return nil, w.problem
	}
	out := &Inputs{Known: w.known, Unread: w.unread}
	for _, name := range names {
		h := w.read[name]
		out.Unread = append(out.Unread, slices.Concat(h.Unread(), h.unread)...)
		if len(h.steps) > 0 {
			out.Steps, out.Files = append(out.Steps, h.steps...), append(out.Files, h.steps)
		}
	}
	if len(out.Steps)+len(out.Unread) == 0 {
		return nil, fmt.Errorf("cannot find an input of kind Exports in %s: name the files with the Compositions",
			strings.Join(paths, ", "))
	}
	return out, nil
}
