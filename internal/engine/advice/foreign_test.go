package advice

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

// calls matches the functions that a hint calls.
var calls = regexp.MustCompile(`([A-Za-z][\w.]*)\(`)

func TestTranslated(t *testing.T) {
	for path, want := range map[string]string{
		".spec.region":                                    "composite.spec.region",
		"$.status.hosts[0]":                               "resource.status.hosts[0]",
		"observed.composite.resource.spec.a":              "composite.spec.a",
		"observed.composite.connectionDetails.a":          "secret.a",
		"observed.resources.my-db.resource.status.a":      "resources.my-db.status.a",
		`observed.resources["my-db"].connectionDetails.a`: `secrets["my-db"].a`,
		"desired.resources.db.resource.spec.a":            "resources.db.spec.a",
		"ocds['db'].Resource.status.a":                    "resources['db'].status.a",
		"ocds['db'].ConnectionDetails.a":                  "secrets['db'].a",
		"observed.resources['db'].status.a":               "resources['db'].status.a",
		"_dxr.spec.a":                                     "composite.spec.a",
		"schema.spec.a":                                   "composite.spec.a",
		".Values.a.b":                                     "composite.spec.a.b",
		"atProvider.arn":                                  "resource.status.atProvider.arn",
		"resources.db.status.a":                           "resources.db.status.a",
		"variables.a":                                     "variables.a",
		"metadata":                                        "composite.metadata",
		"latest":                                          "", // may be a text, for example a tag
		"values":                                          "",
		"specification.a":                                 "",
		"statusCode":                                      "",
		"a + spec.b":                                      "",
		"spec.a.size()":                                   "",
	} {
		if got := translated(path); got != want {
			t.Errorf("%s: want %q, got %q", path, want, got)
		}
	}
}

// A hint about an unknown function must not name another unknown function.
func TestForeignFunctionsExist(t *testing.T) {
	env, err := NewEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range env.CEL().Functions() {
		names = append(names, name)
	}
	for _, macro := range env.CEL().Macros() {
		names = append(names, macro.Function(), "cel."+macro.Function())
	}
	for name, hint := range foreignFunctions {
		if slices.Contains(names, name) && name != "timestamp" { // a variable of other tools
			t.Errorf("%s exists, so that its hint is never used", name)
		}
		for _, call := range calls.FindAllStringSubmatch(hint, -1) {
			if !slices.Contains(names, call[1]) && !slices.Contains(names, call[1][strings.LastIndexByte(call[1],
				'.')+1:]) {
				t.Errorf("%s: the hint %q names %s, which does not exist", name, hint, call[1])
			}
		}
	}
}

// A translated path begins with a variable that exists.
func TestForeignPathsExist(t *testing.T) {
	env, err := NewEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	names := env.Names(expression.Source{})
	for _, f := range foreignPaths {
		if variable := root(f.message); !slices.Contains(names, variable) {
			t.Errorf("%s: there is no variable %s", f.message, variable)
		}
	}
}
