package files

import (
	"fmt"
	"slices"
	"strings"
)

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
