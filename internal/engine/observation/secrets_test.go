package observation_test

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// inExpression matches the position in the expression here.
var inExpression = regexp.MustCompile(`: here(:\d+)*:`)

// seen returns the result of an expression, without the position of a failure.
func seen(t *testing.T, text string, scope *observation.Scope) string {
	t.Helper()
	x, wrong := env.Compile(expression.Source{Text: text, Path: "here"})
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	return inExpression.ReplaceAllString(result(x, scope), ":")
}

const hiddenData = "*expression.Failed: reads the data of a v1 Secret, which is hidden here: read it as " +
	"secrets.<name>, by a source of kind Secret"

// The data of a Secret is hidden wherever a Secret is: in a resource, a manifest, a status, or a list.
func TestSecretsAreHiddenEverywhere(t *testing.T) {
	data := map[string]any{"k": "canary"}
	secret := map[string]any{"apiVersion": "v1", "kind": "Secret", "data": data}
	noKind := map[string]any{"data": data}
	o := &observation.Observation{Composite: observation.Resource{Object: wire.Of(asStruct(t, map[string]any{
		"manifest": secret, "status": []any{secret},
		"list": map[string]any{
			"apiVersion": "v1",
			"kind":       "SecretList",
			"metadata":   map[string]any{},
			"items":      []any{noKind},
			"data":       data,
			"stringData": data,
		},
		"config": map[string]any{
			"apiVersion": "v1",
			"kind":       "ConfigMap",
			"data":       map[string]any{"k": "v"},
			"items":      []any{"v"},
		},
		"other": map[string]any{"apiVersion": "example.org/v1", "kind": "Secret", "data": map[string]any{"k": "v"}},
		"kind":  "Secret", "data": "v",
	}))}}
	for text, want := range map[string]string{
		"composite.manifest.data.k":       hiddenData,
		"composite.status[0].data.k":      hiddenData,
		"composite.status[0].size()":      "types.Int(2)",
		"composite.list.items[0].data.k":  hiddenData,
		"composite.list.data":             hiddenData,
		"composite.list.stringData":       hiddenData,
		"composite.list.map(k, k)":        "list[types.String(apiVersion) types.String(kind) types.String(metadata)]",
		"composite.manifest.map(k, k)":    "list[types.String(apiVersion) types.String(kind)]",
		"json.encode(composite.manifest)": `types.String({"apiVersion":"v1","kind":"Secret"})`,
		"composite.config.data.k":         "types.String(v)",
		"composite.config.items[0]":       "types.String(v)",
		"composite.config.size()":         "types.Int(4)",
		"composite.other.data.k":          "types.String(v)",
		"composite.other.size()":          "types.Int(3)",
		"composite.data":                  "types.String(v)", // without apiVersion, it is no Secret
	} {
		if got := seen(t, text, o.Scope("", nil)); got != want || strings.Contains(got, "canary") {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// Tools keep a copy of an applied Secret in an annotation. It is hidden in any map, because annotations can be in any
// map.
func TestCopiesAreHidden(t *testing.T) {
	const hidden = "*expression.Failed: reads an annotation that holds a copy of an object, which is hidden: read " +
		"the object's own fields"
	for name, hides := range map[string]bool{
		"kubectl.kubernetes.io/last-applied-configuration": true,
		"kapp.k14s.io/original":                            true,
		"objectset.rio.cattle.io/applied":                  true,
		"kopf.zalando.org/last-handled-configuration":      true,
		"banzaicloud.com/last-applied":                     true,
		"kapp.k14s.io/identity":                            false,
		"example.org/last-applied":                         false,
		"original":                                         false,
		"":                                                 false,
	} {
		o := &observation.Observation{
			Composite: observation.Resource{Object: wire.Of(asStruct(t, map[string]any{name: "canary", "b": "b"}))},
		}
		want := map[bool][]string{
			false: {"types.String(canary)", "types.Bool(true)", "types.Int(2)"},
			true:  {hidden, "types.Bool(false)", "types.Int(1)"},
		}[hides]
		for i, form := range []string{"composite['%s']", "'%s' in composite", "size(composite)"} {
			if strings.Contains(form, "%") {
				form = fmt.Sprintf(form, name)
			}
			if got := seen(t, form, o.Scope("", nil)); got != want[i] {
				t.Errorf("%s: got %s, want %s", form, got, want[i])
			}
		}
		if got := observation.HoldsCopy(name); got != hides {
			t.Errorf("HoldsCopy(%q): got %t, want %t", name, got, hides)
		}
	}
}

// authorsView is the observation that composite authors see a part of.
func authorsView(t *testing.T) *observation.Observation {
	t.Helper()
	object := func(name string) wire.Struct { return wire.Of(asStruct(t, map[string]any{"name": name})) }
	canary := observation.Details{"password": []byte("canary")}
	return &observation.Observation{
		Composite: observation.Resource{Object: object("xr"), Details: canary},
		Resources: map[string]observation.Resource{
			"db":    {Object: object("db"), Details: observation.Details{"password": []byte("open")}},
			"cache": {Object: object("cache"), Details: canary},
			"queue": {Object: object("queue"), Details: canary, Withheld: &expression.Failed{Reason: "belongs to " +
				"somebody else"}},
			"hidden": {Object: object("hidden"), Details: canary},
		},
		Sources: map[string]observation.Source{
			"ca": {Read: true, Secret: true, Objects: []wire.Struct{object("ca")}, Details: canary},
			"cm": {Read: true, Objects: []wire.Struct{object("cm")}},
		},
		Environment: object("environment"), Context: object("context"),
		Generated: map[string]observation.Generated{"admin": {Outputs: canary}},
		Previous:  map[string]observation.Generated{"admin": {Outputs: canary}},
		Candidate: map[string]observation.Generated{"admin": {Outputs: canary}},
		Revisions: map[string]observation.Revision{"a": {Number: 1}},
	}
}

// A composite author sees only what the Composition allows. The check of an expression refuses everything else. Without
// the check, the expression would still not find it.
func TestWhatAuthorsSee(t *testing.T) {
	const nothing = "*expression.Waiting: waiting for " // a variable that does not exist
	all := &observation.Author{
		Secret:      "db",
		Secrets:     []string{"db", "queue"},
		Resources:   []string{"cache", "later"},
		Environment: true,
	}
	none := &observation.Author{}
	for name, c := range map[string]struct {
		reason string
		author *observation.Author
		text   string
		want   string
	}{
		"Composite": {"it is theirs", none, "composite.name", "types.String(xr)"},
		"Resource":  {"it is the composite", none, "resource.name", "types.String(xr)"},
		"Self":      {"it is the composite", none, "self.name", "types.String(xr)"},
		"Secret":    {"that of the composed resource", all, "secret.password", "types.String(open)"},
		"SecretLater": {"of a resource that does not exist " +
			"yet", &observation.Author{Secret: "later"}, "secret.password", "*expression.Waiting: waiting for " +
			"secret (secrets.later)"},
		"Secrets":       {"one that is allowed", all, "secrets.db.password", "types.String(open)"},
		"SecretsOthers": {"one that is not", all, "secrets[?'ca' + 'che']", "none"},
		"SecretsNames":  {"not even its name", all, "secrets.map(k, k)", "list[types.String(db) types.String(queue)]"},
		"SecretsIn":     {"not even whether it exists", all, "'cache' in secrets", "types.Bool(false)"},
		"SecretsCount":  {"not even how many there are", all, "secrets.size()", "types.Int(2)"},
		"SecretsSource": {"no source", all, "'ca' in secrets", "types.Bool(false)"},
		"SecretsWithheld": {"one that cannot be used", all, "secrets.queue.password", "*expression.Failed: " +
			"belongs to somebody else"},
		"SecretsWithheld?": {"it fails also if it is optional", all, "secrets[?'queue']", "*expression.Failed: " +
			"belongs to somebody else"},
		"SecretsNone":     {"nothing is allowed", none, "secrets.size()", "types.Int(0)"},
		"Resources":       {"one that is allowed", all, "resources.cache.name", "types.String(cache)"},
		"ResourcesLater":  {"one that does not exist yet", all, "resources[?'later']", "none"},
		"ResourcesOthers": {"one that is not", all, "resources[?'db']", "none"},
		"ResourcesNames":  {"not even its name", all, "resources.map(k, k)", "list[types.String(cache)]"},
		"ResourcesNone":   {"nothing is allowed", none, "resources.size()", "types.Int(0)"},
		"Environment":     {"it is allowed", all, "environment.name", "types.String(environment)"},
		"NoSecret":        {"nothing is allowed", none, "secret.password", nothing + "secret.password"},
		"NoEnvironment":   {"it is not allowed", none, "environment.name", nothing + "environment.name"},
		"NoContext":       {"it is never allowed", all, "context.name", nothing + "context.name"},
		"NoSources":       {"they are never allowed", all, "sources.cm.name", nothing + "sources.cm.name"},
		"NoGenerated":     {"they are never allowed", all, "generated.admin.password", nothing + "generated.admin.password"},
		"NoPrevious":      {"they are never allowed", all, "previous.admin.password", nothing + "previous.admin.password"},
		"NoCandidate":     {"they are never allowed", all, "candidate.admin.password", nothing + "candidate.admin.password"},
		"NoVariables":     {"they are never allowed", all, "variables.a", nothing + "variables.a"},
		"NoRevisions":     {"they are never allowed", all, "revisions.a", nothing + "revisions.a"},
		"NoSecretAtAll":   {"nothing is allowed", none, "secret == {}", nothing + "secret"},
		"NoSecretIfListed": {"several are allowed, and none is " +
			"meant", &observation.Author{Secrets: []string{"db", "cache"}}, "secret.password", nothing + "secret.password"},
	} {
		got := seen(t, c.text, authorsView(t).AuthorScope(c.author))
		if got != c.want || strings.Contains(got, "canary") {
			t.Errorf("%s: %s: %s: got %s, want %s", name, c.reason, c.text, got, c.want)
		}
	}
}

// The variables of an export are those of its input.
func TestWhatExportsSee(t *testing.T) {
	o := authorsView(t)
	variables := types.DefaultTypeAdapter.NativeToValue(map[string]string{"a": "v"})
	for text, want := range map[string]string{
		"secret.password":   "types.String(open)",
		"resource.name":     "types.String(db)",
		"self.name":         "types.String(db)",
		"variables.a":       "types.String(v)",
		"environment.?name": "*expression.Waiting: waiting for EnvironmentConfig a",
	} {
		o.EnvironmentWaits = []string{"EnvironmentConfig a"}
		if got := seen(t, text, o.Scope("db", variables)); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// No method of a value returns what is hidden, whatever a function of CEL calls.
func TestMethodsHideSecrets(t *testing.T) {
	o := &observation.Observation{Composite: observation.Resource{Object: wire.Of(asStruct(t, map[string]any{
		"apiVersion": "v1", "kind": "Secret", "data": "canary", "": "empty",
	}))}}
	v, _ := o.Scope("", nil).ResolveName(expression.Composite)
	m, ok := v.(traits.Mapper)
	if !ok {
		t.Fatalf("composite is a %T, and no map", v)
	}
	for key, want := range map[ref.Val]string{
		types.String("kind"): "types.String(Secret)",
		types.String("data"): "*types.Err(reads the data of a v1 Secret, which is hidden here: read it as " +
			"secrets.<name>, by a source of kind Secret)",
		types.String("gone"): "*types.Err(no such key)",
		types.Int(1):         "*types.Err(no such key)", // not the key that is empty
	} {
		if got := show(m.Get(key)); got != want {
			t.Errorf("Get(%v): got %s, want %s", key, got, want)
		}
	}
	if got := m.Get(types.NewErr("wrong")); show(got) != "*types.Err(wrong)" {
		t.Errorf("Get(...) of an error: got %v, want the error", got)
	}
	if got := m.Value(); got != v {
		t.Errorf("Value(): got a %T, want the value itself, which hides the data", got)
	}
	if v, found := m.Find(types.String("data")); found {
		t.Errorf("Find(data): got %v, want that it is not found", v)
	}
	if z, ok := v.(traits.Zeroer); !ok || z.IsZeroValue() {
		t.Error("IsZeroValue(): got true for a Secret with visible fields")
	}
	for to, want := range map[ref.Type]string{
		types.MapType:    show(m),
		types.TypeType:   "map",
		types.StringType: "*types.Err(type conversion error from 'map(dyn, dyn)' to 'string')",
	} {
		if got := show(m.ConvertToType(to)); got != want {
			t.Errorf("ConvertToType(%v): got %s, want %s", to, got, want)
		}
	}
	if got, err := m.ConvertToNative(reflect.TypeFor[map[string]any]()); err == nil {
		t.Errorf("ConvertToNative(...): got %v, want an error", got)
	}
}

// A read of connection details that cannot be used fails, also if it asks first whether they exist.
func TestWithheldIsNotFound(t *testing.T) {
	o := authorsView(t)
	for name, scope := range map[string]*observation.Scope{
		"export": o.Scope("", nil), "author": o.AuthorScope(&observation.Author{Secrets: []string{"queue"}}),
	} {
		v, _ := scope.ResolveName(expression.Secrets)
		m, ok := v.(traits.Mapper)
		if !ok {
			t.Fatalf("%s: secrets is a %T, and no map", name, v)
		}
		if v, found := m.Find(types.String("queue")); found || !types.IsError(v) {
			t.Errorf("%s: Find(queue): got %v, %t, want an error", name, v, found)
		}
	}
}
