package plan

// Kinds that the input reads, for tests.
func (p *Plan) Kinds() []Kind { return p.kinds() }
