package migrate

import "github.com/crossplane-contrib/function-export/internal/desk/migrate/celtext"

// input returns the name of the input that replaces a remote secret: a composed resource of a
// Composition in the files, or a source.
func (x *external) input(remote string) string {
	name, ok := x.inputs[remote]
	if !ok {
		name = remote
		if !x.migration.composed[remote] {
			name = x.source(remote)
			x.inputs[remote] = name
		}
	}
	x.lastInput = celtext.Select("secrets", name)
	return name
}

// source adds a source of kind Secret. The names of sources are the same in all steps.
func (x *external) source(remote string) string {
	s, m := x.step, x.migration
	if len(s.sources.items) == 0 {
		s.sources.note(decide+"each source replaces a remote secret. Set matchName to a Secret that has the same keys, "+
			"or remove the source",
			"and compose a resource with its name that has these connection details.")
	}
	object := freeName(remote, func(name string) bool { return name == x.target }) // which would read itself
	own, ok := m.sources[remote]
	if !ok {
		own = s.exportName(remote)
		m.sources[remote] = own
	}
	if own == object {
		object = ""
	}
	s.source(own, object)
	return own
}
