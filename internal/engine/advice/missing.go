package advice

import (
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// Uncomposed is why a composed resource is missing, if it is neither observed nor desired.
const Uncomposed = "no earlier step composes it"

// ofState begins the texts about an existing object.
const ofState = "{object} {state}"

// texts are what a message says for each fact, between the parentheses after the input.
var texts = [observation.EndOfFacts]string{ //nolint:gochecknoglobals // a table
	observation.CompositeLacks:        "correct it, set it in {object}, or write {default}",
	observation.CompositeHasNoDetails: "the composite never has connection details: {instead}",
	observation.ItemLacks:             "the item lacks it: set it there, or write {default}",
	observation.EnvironmentLacks:      "add it to an EnvironmentConfig",

	observation.NotComposed: Uncomposed + "{resource}",
	observation.NotCreated:  "it does not exist yet",
	observation.OwnData:     suggest.OwnExport,

	observation.NotReady:       "{object}",
	observation.Exists:         ofState,
	observation.LacksField:     ofState,
	observation.LacksKey:       ofState + ", and has the keys {names}",
	observation.LacksSourceKey: ofState,
	observation.NoPlace: ofState + ", and has no spec.writeConnectionSecretToRef: add it to {resource} in the " +
		"Composition",
	observation.NoSecret:  ofState + ", and its connection Secret does not exist yet",
	observation.NoDetails: ofState + ", and has no connection details",
	observation.IsSecret:  ofState + ", and has " + suggest.ComposedSecret,
}

// similar are the texts if a name that exists is probably meant.
var similar = map[observation.Fact]string{ //nolint:gochecknoglobals // a table
	observation.EnvironmentLacks: "the environment has no such field",
	observation.LacksKey:         ofState,
	observation.LacksSourceKey:   ofState,
}

// ifReady are the ends of the texts for an object that is ready, because waiting does not help then.
var ifReady = map[observation.Fact]string{ //nolint:gochecknoglobals // a table
	observation.LacksField: ", and lacks it: select another field, or write {default}",
	observation.LacksKey:   ": select another key",
	observation.NoDetails:  ": select a field of {resources}",
}

// Missing says what is known about a missing input, and what to do. It is empty if nothing is known.
func Missing(m observation.Missing) string {
	text, resource := texts[m.Fact], m.Resource
	if m.State == observation.ObjectReady {
		text += ifReady[m.Fact]
	}
	switch meant := suggest.Nearest(m.Wrong, m.Names); {
	case m.Fact == observation.EnvironmentLacks && m.Wrong == "data":
		text = "leave data out, because the environment is the data of the EnvironmentConfigs"
	case m.Fact == observation.NotComposed:
		if resource = ""; m.Names != nil {
			resource = suggest.Resource(m.Wrong, m.Names)
		}
	case meant != "":
		text = similar[m.Fact] + suggest.DidYouMean(meant)
	case len(m.Names) == 1:
		text = strings.Replace(text, "the keys", "only the key", 1)
	}
	return strings.NewReplacer("{object}", m.Object, "{state}", string(m.State), "{resource}", resource,
		"{resources}", expression.PathText(expression.Resources, m.Resource), "{names}", suggest.List(m.Names),
		"{instead}", m.Instead, "{default}", withDefault(m)).Replace(text)
}

// withDefault says how to select the last step of the input if it may be missing or null.
func withDefault(m observation.Missing) string {
	step, value, purpose := optionalStep(m.Input), "'none'", " for a default"
	if m.List {
		value, purpose = "[]", " for an empty list"
	}
	switch {
	case m.Null:
		return "value == null ? " + value + " : value" + purpose
	case m.Below && !m.List:
		return step + " for a field that may be missing"
	}
	return step + ".orValue(" + value + ")" + purpose
}
