package attack

import "strings"

// reads read the author's data repeatedly for little fuel. The data is in the bytes of a request:
// finding a value requires reading everything before it, and each text is copied.
func reads() map[string]Case {
	text := value(object("spec", object("big", long("y", 1400<<10))))
	structs := value(object("spec", object("many", many(object(), 2300, oneLetterFields()))))
	elements := value(object("spec", object("list", list(400_000, func(int) any { return "" }))))
	fields := value(object("spec", object("many", many(object(), 100_000, ""))))
	const (
		again = "lists.range(5000)"
		most  = "lists.range(10000)"
	)
	return map[string]Case{
		"presence of a text":          readFour(text, "copied each time, though it is only there", "string("+again+".all(i, has(self.spec.big)))"),
		"beginning of a text":         readFour(text, "of which a letter is looked at", "string("+again+".all(i, self.spec.big.startsWith('y')))"),
		"optional text":               readFour(text, "by another way", "string("+again+".all(i, self.spec[?'big'].hasValue()))"),
		"small objects compared":      readAll(structs, "each field is found in the other", "string(self.spec.many == self.spec.many)"),
		"sizes of small objects":      readAll(structs, "as many as there are names", "string(self.spec.many.map(k, self.spec.many[k].size()).size())", "string("+most+".all(i, self.spec.many['x' + string(i % 2300)].size() == 90))"),
		"fields of small objects":     readAll(structs, "each by its name", "string(self.spec.many.all(k, self.spec.many[k].all(j, self.spec.many[k][j] == '')))", "string("+most+".all(i, self.spec.many.x2299['z'] == ''))", "string("+most+".all(i, has(self.spec.many.x2299.none) || true))"),
		"small objects as JSON":       readAll(structs, "in the order of their names", "json.encode(self.spec.many)", "string("+most+".all(i, json.encode(self.spec.many.x1) != ''))"),
		"elements by index":           readAll(elements, "the last one is behind all others", "string("+most+".all(i, self.spec.list[399999 - i] == ''))", "string("+most+".all(i, self.spec.list.size() == 400000))"),
		"last element":                readFour(elements, "the last one is behind all others", "string(lists.range(3000).all(i, self.spec.list[399999] == ''))"),
		"computed names":              readAll(fields, "each of 100,000", "string("+most+".all(i, self.spec.many['x' + string(99999 - i)] == ''))", "string("+most+".all(i, self.spec.many[?'y' + string(i)].hasValue() || true))", "string("+most+".all(i, ('y' + string(i)) in self.spec.many || true))"),
		"computed names, few of them": readFour(fields, "each of 100,000", "string(lists.range(2000).all(i, self.spec.many['x' + string(99999 - i)] == ''))"),
		"numbers of fields":           readAll(fields, "which no field of it says", "string("+most+".all(i, self.spec.many.size() == 100000))", "string("+most+".all(i, i < self.spec.many.size()))"),
	}
}

// readFour has four Secrets with a cheap expression each, so that all four are evaluated. Each
// expression takes a quarter of the fuel for all exports of an author.
func readFour(composite Maker, reason, expression string) Case {
	c := readAll(composite, reason, expression, expression, expression, expression)
	for _, name := range c.Exist {
		c.Composes = append(c.Composes, "fromComposite/Secret/"+name)
	}
	return c
}

func readAll(composite Maker, reason string, expressions ...string) Case {
	return Case{Reason: reason, Composite: composite, Exist: numberedNames(len(expressions)), Exports: in(secrets, eachOf(expressions)...)}
}

// oneLetterFields are ninety fields in less than 1 KiB.
func oneLetterFields() map[string]any {
	out := map[string]any{}
	for c := ' '; len(out) < 90; c++ {
		if !strings.ContainsRune(`"\<>&`, c) { // JSON escapes these
			out[string(c)] = ""
		}
	}
	return out
}
