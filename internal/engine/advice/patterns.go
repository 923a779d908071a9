package advice

import "github.com/crossplane-contrib/function-export/internal/engine/lazy"

// A pattern is what people write, or what CEL says, and the message about it. $1 in the message is the first group.
type pattern struct {
	lazy.Pattern

	message string
}

// patterns compiles a table of patterns and messages.
func patterns(table [][2]string) (out []pattern) {
	for _, row := range table {
		out = append(out, pattern{lazy.MustCompile(row[0]), row[1]})
	}
	return out
}

// messageFor returns the message of the first pattern that matches a text, or an empty text.
func messageFor(all []pattern, text string) string {
	for _, p := range all {
		if m := p.FindStringSubmatchIndex(text); m != nil {
			return string(p.ExpandString(nil, p.message, text, m))
		}
	}
	return ""
}
