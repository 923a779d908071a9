package environment

// Asked is what an item of environmentConfigs asks for, before there is a composite.
type Asked struct {
	// Path of the item.
	Path string

	// Name of the EnvironmentConfig, or Labels: just one of them is set.
	Name   string
	Labels []AskedLabel
}

// An AskedLabel is a label whose value is Text, or what a field has.
type AskedLabel struct {
	Key, Text string

	// Field that has the value: of the environment that earlier steps left, or of the
	// composite. It is empty for a Text.
	Field       string
	Environment bool

	// Optional is set if the label is left out while the field has no value.
	Optional bool
}

// Asked is what the lookup asks for, in the order of the input.
func (l *Lookup) Asked() []Asked {
	if l == nil {
		return nil
	}
	out := make([]Asked, 0, len(l.sources))
	for _, s := range l.sources {
		a := Asked{Path: s.at.String()}
		switch f := s.finder.(type) {
		case reference:
			a.Name = f.name
		case single:
			a.Labels = f.asked()
		case multiple:
			a.Labels = f.asked()
		}
		out = append(out, a)
	}
	return out
}

func (l labels) asked() []AskedLabel {
	out := make([]AskedLabel, 0, len(l.matchers))
	for _, m := range l.matchers {
		label := AskedLabel{Key: m.key, Text: m.text, Optional: m.optional}
		if !m.path.isTop() {
			label.Field, label.Environment = m.path.String(), m.before
		}
		out = append(out, label)
	}
	return out
}
