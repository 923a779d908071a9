package why

import (
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/inspect"
	"github.com/crossplane-contrib/function-export/internal/engine/advice"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/outcome"
)

type missing = observation.Missing

// The people and programs that can act.
const (
	compositionAuthor = "the author of the Composition"
	compositeAuthor   = "the author of the composite"
	crossplane        = "Crossplane, in one of its next reconciles: wait"
	provider          = "the provider of {object}"
)

// acts are those who can provide a missing input, by what is known about it. {object} is the object that lacks it.
var acts = [observation.EndOfFacts]string{ //nolint:gochecknoglobals // a table
	observation.CompositeLacks:        compositeAuthor,
	observation.CompositeHasNoDetails: compositionAuthor,
	observation.ItemLacks:             "the author of the list",
	observation.EnvironmentLacks:      "the owner of the EnvironmentConfigs",
	observation.NotComposed:           compositionAuthor,
	observation.NotCreated:            crossplane,
	observation.OwnData:               compositionAuthor,
	observation.NotReady:              provider,
	observation.Exists:                provider,
	observation.LacksField:            provider,
	observation.LacksKey:              provider,
	observation.LacksSourceKey:        "the owner of {object}",
	observation.NoPlace:               compositionAuthor,
	observation.NoSecret:              provider,
	observation.NoDetails:             provider,
	observation.IsSecret:              compositionAuthor,
}

// absent matches an object in a message that does not exist.
var absent = lazy.MustCompile(`\((\w+ [\w./-]+) does not exist`)

// act returns who must act, so that an outcome becomes available. Waiting does not help if an object is ready and lacks
// something: the Composition reads the wrong part of it.
func act(o outcome.Outcome, all []missing) string {
	switch {
	case o.Author:
		return compositeAuthor
	case o.State == outcome.Created:
		return crossplane
	case o.State == outcome.Conflict:
		return compositionAuthor + ", or the owner of the other object"
	case o.Wrong:
		return compositionAuthor
	}
	for _, m := range all {
		if !strings.Contains(o.Message, m.Input) || acts[m.Fact] == "" {
			continue
		}
		if m.State == observation.ObjectReady && (m.Fact == observation.LacksField || m.Fact == observation.LacksKey) {
			return compositionAuthor
		}
		return strings.ReplaceAll(acts[m.Fact], "{object}", m.Object)
	}
	if m := absent().FindStringSubmatch(o.Message); m != nil {
		return "the owner of " + m[1] + ", who creates it"
	}
	if strings.Contains(o.Message, "generated.") || strings.Contains(o.Message, "candidate.") {
		return crossplane
	}
	return compositionAuthor
}

// missingFrom returns keys whose missing inputs are marked. An expression names the first of its missing inputs only.
func missingFrom(keys []inspect.Key, message string, all []missing) []inspect.Key {
	for i := range keys {
		for j := range keys[i].Inputs {
			in := &keys[i].Inputs[j]
			for _, m := range all {
				if m.Input == in.Name && strings.Contains(message, m.Input) {
					in.Missing = advice.Missing(m)
				}
			}
		}
	}
	return keys
}
