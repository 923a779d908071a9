package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"cel.dev/cel-go/cel"

	"github.com/crossplane-contrib/function-export/internal/desk/vocabulary"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

// A Variable that expressions see.
type Variable struct {
	Name, Type, Does string
	Secret           string // whether its data is secret

	uses []string // expressions that use it as a string; nonSensitive can list what the first one uses
	key  string   // in nonSensitive
}

// isSecret is what the table says of a variable whose data is always secret.
const isSecret = "yes"

// variablesText describes the variables, in the order of the page.
var variablesText = []Variable{ //nolint:gochecknoglobals // a table
	{Name: expression.Composite, Does: "The observed composite.", uses: []string{"composite.metadata.name"}},
	{
		Name: expression.Resource, uses: []string{"resource.metadata.name"},
		Does: "The observed composed resource that `from` names, or the composite. In a `resource` generator's `outputs` and " +
			"`readyExpression`, the resource of the generation.",
	},
	{
		Name: expression.Self, uses: []string{"self.metadata.name"},
		Does: "The same as `resource`, under the name that Azure Service Operator uses.",
	},
	{
		Name: expression.Secret, Secret: isSecret, uses: []string{"secret.endpoint"},
		Does: "The connection details of `resource`.", key: "db.endpoint composite.endpoint",
	},
	{
		Name: expression.Resources, uses: []string{"resources.db.metadata.name"},
		Does: "The observed composed resources. `resources.<name>` is one of them, by its composition resource name.",
	},
	{
		Name: expression.Secrets, Secret: isSecret, uses: []string{"secrets.db.endpoint"}, key: "db.endpoint",
		Does: "`secrets.<name>` contains the connection details of a composed resource, or the data of a source that is a " +
			"Secret.",
	},
	{
		Name: expression.Sources, uses: []string{"sources['by-name'].metadata.name"},
		Does: "`sources.<name>` is a source that is not a Secret. With `matchLabels` it is a list. The Composition's own " +
			"`requirements.requiredResources` are also here, each as a list.",
	},
	{
		Name: expression.Env, uses: []string{"environment.region"},
		Does: "The merged environment: the environment of earlier steps, and the values that the section `environment` of " +
			"this input adds.",
	},
	{
		Name: expression.Context, uses: []string{"context.a"},
		Does: "The whole pipeline context, as earlier steps left it.",
	},
	{
		Name: expression.Variables, Secret: "if it uses one", uses: []string{"variables.first"},
		Does: "`variables.<name>` is a variable of this input.",
	},
	{
		Name: expression.Generated, Secret: isSecret, uses: []string{"generated.uuid.uuid"}, key: "generated.uuid.uuid",
		Does: "`generated.<name>` contains the outputs of a generator, from its generation in use. If the name of an output " +
			"is not an identifier, write `generated.server['tls.crt']`. With `forEachExpression`, it contains the outputs for " +
			"each item by its key: `generated.users['alice'].password`.",
	},
	{
		Name: expression.Candidate, Secret: isSecret, uses: []string{"candidate.uuid.uuid"}, key: "candidate.uuid.uuid",
		Does: "`candidate.<name>` contains the outputs of the pending generation, which is stored and does not work yet, or " +
			"of the generation in use if none is pending. It is for the export that sets a credential: the Secret that a " +
			"managed resource reads. All others read `generated.<name>`.",
	},
	{
		Name: expression.Previous, Secret: isSecret, uses: []string{"previous.uuid.uuid"}, key: "previous.uuid.uuid",
		Does: "`previous.<name>` contains the outputs of the generation before the one in use, until its grace period ends. " +
			"Often there is none, so read it as `previous.?admin.?password`.",
	},
	{
		Name: expression.Revisions, uses: []string{"revisions.connection"},
		Does: "`revisions.<export>` is an int that counts the changes of the export's own keys in the data of its observed " +
			"object. It is 0 before the object exists. With `forEachExpression`, it contains the number for each item by its " +
			"key. It may be used in `status`, in labels and annotations of exports, in `readyExpression`, and in `data` of a " +
			"later export.",
	},
	{
		Name: expression.Generation, uses: []string{"generation.id"},
		Does: "In `set`, the generation that is created, and in `readyExpression` the pending one. `generation.number` is its " +
			"number, an int, and `generation.id` is a text that no other generation has.",
	},
	{
		Name: expression.Item, uses: []string{"item.name"},
		Does: "In an export or a generator with `forEachExpression`, the item of the list.",
	},
	{Name: expression.Index, uses: []string{"index"}, Does: "The position of the item in the list, from 0."},
	{
		Name: expression.Key, uses: []string{"key"},
		Does: "The key of the item, as `keyExpression` of the export or the generator returns it. In the `keyExpression` of " +
			"a `transform`, the key to rename.",
	},
}

// variables returns the variables of all environments. One without a description is an error.
func variables(env *expression.Environment) ([]Variable, error) {
	declared := map[string]*cel.Type{}
	for _, e := range []*expression.Environment{env, env.Authors(), env.Generations(), env.Keys()} {
		for _, v := range e.CEL().Variables() {
			declared[v.Name()] = v.Type()
		}
	}
	var out []Variable
	var wrong []error
	for _, v := range variablesText {
		t := declared[v.Name]
		if t == nil {
			wrong = append(wrong, fmt.Errorf("cannot describe variable %s: no expression sees it", v.Name))
			continue
		}
		v.Type = vocabulary.TypeText(t)
		delete(declared, v.Name)
		out = append(out, v)
	}
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		wrong = append(wrong, fmt.Errorf("cannot describe variable %s: add it to variablesText", name))
	}
	return out, errors.Join(wrong...)
}
