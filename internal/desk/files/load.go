package files

import (
	"fmt"
	"slices"
	"strings"
)

// Inputs are the inputs of this function in files.
type Inputs struct {
	Steps []Step
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
	settings := s.readSettings(names)
	known, err := s.newKnowledge(flags, settings)
	if err != nil {
		return nil, err
	}
	out := &Inputs{Known: known, Unread: settings.wrong}
	read := s.ReadAll(names, mayMatter)
	for _, f := range read {
		steps, unread := FindSteps(f)
		out.Steps = append(out.Steps, steps...)
		out.Unread = append(out.Unread, slices.Concat(f.Unread(), unread)...)
	}
	out.Unread = append(out.Unread, known.learn(read)...)
	if len(out.Steps)+len(out.Unread) == 0 {
		return nil, fmt.Errorf("cannot find an input of kind Exports in %s: name the files with the Compositions",
			strings.Join(paths, ", "))
	}
	return out, known.learnSchemas(*s, out.Steps)
}
