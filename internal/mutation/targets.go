package main

// A target is a package whose tests are tested.
type target struct {
	dir       string // below the root of the repository
	functions string // a pattern of "file: function"; all if empty
	// then has the packages whose tests also use the target. They try the mutants that its own tests do not kill.
	then []string
	env  []string // of all tests
	skip string   // a pattern of tests that measure time or memory: they may also fail without a mutant
}

// The random histories of the models are short. A longer run finds no other mutants.
var histories = []string{"MODEL_HISTORIES=60", "SIM_HISTORIES=5"}

var targets = map[string]target{
	"generator": {
		dir: "internal/generator", then: []string{"internal/function"}, env: histories, skip: "Argon2idConcurrently",
	},
	"rewrite":   {dir: "internal/rewrite", then: []string{"internal/plan", "internal/function"}, env: histories},
	"collect":   {dir: "internal/collect", then: []string{"internal/reconcile", "internal/function"}, env: histories},
	"object":    {dir: "internal/object", then: []string{"internal/reconcile", "internal/function"}, env: histories},
	"wire":      {dir: "internal/wire", then: []string{"internal/server", "internal/function"}, env: histories},
	"reconcile": {dir: "internal/reconcile", then: []string{"internal/function"}, env: histories},
	// All functions that find or refuse uses of secret data.
	"secretflow": {
		dir: "internal/plan", functions: `^secretflow\.go|: compiler\.(dataFrom|extract|withSources|environment|export|metadata|` +
			`usedGenerators|forEach|isLate|refuse\w*|generatedUse|manifest|statusField|output|compile|compileSources)$`,
		then: []string{"internal/reconcile", "internal/function"}, env: histories,
	},
	"references": {
		dir: "internal/expression", functions: `^references\.go`,
		then: []string{"internal/plan", "internal/function"}, env: histories,
	},
	"sensitive": {dir: "internal/sensitive", then: []string{"internal/plan", "internal/function"}, env: histories},
}
