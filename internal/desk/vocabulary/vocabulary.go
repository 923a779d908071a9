// Package vocabulary describes the variables, functions, operators and macros of expressions: what they are, how they
// are written, and examples with their results. It also has the descriptions of the fields of the input. The reference
// of the input, `function-export explain --functions` and editors show the same texts.
package vocabulary

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"

	"sigs.k8s.io/yaml"
)

//go:embed vocabulary.yaml
var text []byte

// A vocabulary is the content of the file.
type vocabulary struct {
	Hidden []string          `json:"hidden"` // functions that expressions cannot call
	Secret map[string]string `json:"secret"` // the variable secret in examples
	Groups []Group           `json:"groups"`

	Variables []Variable `json:"variables"`
}

// A Variable of expressions.
type Variable struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Secret bool   `json:"secret"`
	Does   string `json:"does"`
}

// Text returns the item of the reference.
func (v Variable) Text() string {
	secret := ""
	if v.Secret {
		secret = "**Secret.** "
	}
	return fmt.Sprintf("<a id=\"variable-%s\"></a>`%[1]s`: `%s`. %s%s", v.Name, v.Type, secret, v.Does)
}

// Variables returns all variables of expressions.
func Variables() []Variable { return read().Variables }

// fields are the descriptions of the fields of the input, by Go type and field. go generate writes them.
//
//go:embed fields.json
var fields []byte

var fieldTexts = sync.OnceValue(func() (out map[string]map[string]string) {
	if err := json.Unmarshal(fields, &out); err != nil {
		panic(err)
	}
	return out
})

// Field returns the description of a field of an object of the input, which is named by its Go type.
func Field(object, name string) string { return fieldTexts()[object][name] }

// A Group of functions.
type Group struct {
	Title   string  `json:"title"`
	Page    string  `json:"page"` // how the reference shows it
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
func Groups() []Group { return read().Groups }

// read reads the file once, because editors ask for it at each key.
var read = sync.OnceValue(func() (v vocabulary) {
	if err := yaml.UnmarshalStrict(text, &v); err != nil {
		panic(err) // a test reads it
	}
	return v
})
