// Package vocabulary describes the functions, operators and macros of expressions: what they do, how they are written,
// and an example with its result. The reference of the input and `function-export explain --functions` print the same list.
package vocabulary

import (
	_ "embed"
	"fmt"

	"sigs.k8s.io/yaml"
)

//go:embed vocabulary.yaml
var text []byte

// A vocabulary is the content of the file.
type vocabulary struct {
	Hidden []string          `json:"hidden"` // functions that expressions cannot call
	Secret map[string]string `json:"secret"` // the variable secret in examples
	Groups []Group           `json:"groups"`
}

// A Group of functions.
type Group struct {
	Title   string  `json:"title"`
	Note    string  `json:"note"`
	Entries []Entry `json:"entries"`
}

// An Entry is a function, several that do the same, or a macro.
type Entry struct {
	Names      []string `json:"names"`      // of functions
	Macros     []string `json:"macros"`     // as the environment has them
	Signatures []string `json:"signatures"` // how it is written
	Does       string   `json:"does"`
	Example    string   `json:"example"`
	Result     string   `json:"result"` // of the example, as an expression
}

// Groups returns all functions, operators and macros of expressions.
func Groups() ([]Group, error) {
	v, err := read()
	return v.Groups, err
}

func read() (v vocabulary, err error) {
	if err := yaml.UnmarshalStrict(text, &v); err != nil {
		return v, fmt.Errorf("cannot read the vocabulary: %w", err)
	}
	return v, nil
}
