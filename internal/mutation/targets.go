package main

// A target is a package whose tests are tested.
type target struct {
	dir     string // below the root of the repository
	mutants string // a pattern of their names; all if empty
	// then has the packages whose tests also use the target. They try the mutants that its own tests do not kill.
	then  []string
	env   []string // of all tests
	tests string   // a pattern of the tests that are run; all if empty
	skip  string   // a pattern of tests that measure time or memory: they may also fail without a mutant
}

// The random histories of the models are short. A longer run finds no other mutants.
var histories = []string{"MODEL_HISTORIES=60", "SIM_HISTORIES=5"}

var targets = map[string]target{
	// The life of generations, and the state that is stored for them.
	"generations": {
		dir: "internal/generator", mutants: `^(abandon|generation|record|step|window)\.go`, env: histories,
		tests: `Next|Model$|Abandon|Candidate|Retries|Record|Annotations|Labels|Hash|Forged|Window|Schedule|NegativeGrace`,
	},
	// The kinds of credentials, and the proof that a generation is genuine.
	"credentials": {
		dir: "internal/generator", then: []string{"internal/function"}, env: histories, skip: "Argon2idConcurrently",
		mutants: `^(argon2id|bcrypt|certificate|dice|format|htpasswd|issue|jks|jwk|keystore|kind|password|pkcs12|proof|` +
			`refusal|sshkey|totp|trust|uuid|wireguard)\.go`,
	},
	"rewrite":   {dir: "internal/rewrite", then: []string{"internal/plan", "internal/function"}, env: histories},
	"collect":   {dir: "internal/collect", then: []string{"internal/reconcile", "internal/function"}, env: histories},
	"object":    {dir: "internal/object", then: []string{"internal/reconcile", "internal/function"}, env: histories},
	"wire":      {dir: "internal/wire", then: []string{"internal/server", "internal/function"}, env: histories},
	"reconcile": {dir: "internal/reconcile", then: []string{"internal/function"}, env: histories},
	// All functions that find or refuse uses of secret data, and the places that call them. Composite authors have their
	// own.
	"secretflow": {
		dir: "internal/plan",
		mutants: `^secretflow\.go|: compiler\.(refuse\w*|generatedUse|withSources): |` +
			`c\.(refuse|usesOf|reading|withSources)|` +
			`^authors\w*\.go: (Authors\.(refuse\w*|expression|described?)|notAllowed|listed|allowList\.\w+|compiler\.\w+): `,
		then: []string{"internal/reconcile", "internal/function"}, env: histories,
	},
	// What expressions see: the data of Secrets is hidden, and composite authors see only what is allowed.
	"views": {
		dir:     "internal/observation",
		mutants: `^secrets\.go|: (Author|fields|Observation)\.\w+: |: object: `,
		then:    []string{"internal/reconcile", "internal/function"}, env: histories,
	},
	"references": {
		dir: "internal/expression", mutants: `^references\.go`,
		then: []string{"internal/plan", "internal/function"}, env: histories,
	},
	"sensitive": {dir: "internal/sensitive", then: []string{"internal/plan", "internal/function"}, env: histories},
}
