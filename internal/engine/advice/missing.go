package advice

import (
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// OwnExport is the message for the use of the data of an export of the same input.
const OwnExport = "an export of this step, whose data cannot be read: " +
	"move the expression of the key to variables, and use the variable in both places"

// ComposedSecret is the message for the use of the connection details of a composed Secret.
const ComposedSecret = "no connection details, because it is a Secret itself: " +
	"read it as secrets.<name>, by a source of kind Secret with another name"

// Uncomposed is why a composed resource is missing, if it is neither observed nor desired.
const Uncomposed = "no earlier step composes it"

// A Fact is what is known about a missing input.
type Fact int

// The facts. The first one says nothing.
const (
	Unknown Fact = iota

	CompositeLacks        // a field that the author of the composite can set
	CompositeHasNoDetails // only legacy composites have connection details
	ItemLacks             // a field of an item of a list
	EnvironmentLacks      // a field of the environment
	EnvironmentData       // the field data of an EnvironmentConfig, which is the environment itself
	EnvironmentHasSimilar // and the environment has a field with a similar name

	NotComposed  // a composed resource that no earlier step composes
	NotCreated   // a composed resource that is desired, and does not exist
	OwnNotExists // an export of the same step, which does not exist
	OwnData      // the data of an export of the same step
	NoItem       // an item of the list of a generator

	NotReady   // the condition Ready of an existing object
	Exists     // something that an existing object lacks
	LacksField // a field of an existing object
	HasSimilar // a key of an existing object that has a similar key
	HasOthers  // a key of an existing object that has other keys
	NoPlace    // the connection details of a resource without a place for them
	NoSecret   // the connection details of a resource whose connection Secret does not exist
	NoDetails  // the connection details of a resource that wrote none
	IsSecret   // the connection details of a composed Secret
	endOfFacts
)

// texts are what a message says for each fact, between the parentheses after the input.
var texts = [endOfFacts]string{
	CompositeLacks:        "correct it, set it in {object}, or write {default}",
	CompositeHasNoDetails: "the composite never has connection details: {instead}",
	ItemLacks:             "the item lacks it: set it there, or write {default}",
	EnvironmentLacks:      "add it to an EnvironmentConfig",
	EnvironmentData:       "leave data out, because the environment is the data of the EnvironmentConfigs",
	EnvironmentHasSimilar: "the environment has no such field{instead}",

	NotComposed:  Uncomposed + "{instead}",
	NotCreated:   "it does not exist yet",
	OwnNotExists: "an export of this step, which does not exist yet",
	OwnData:      OwnExport,
	NoItem:       "no item of {resource} has this key",

	NotReady:   "{object}",
	Exists:     "{object} {state}",
	LacksField: "{object} {state}",
	HasSimilar: "{object} {state}{instead}",
	HasOthers:  "{object} {state}, and has {instead}",
	NoPlace:    "{object} {state}, and has no spec.writeConnectionSecretToRef: add it to {resource} in the Composition",
	NoSecret:   "{object} {state}, and its connection Secret does not exist yet",
	NoDetails:  "{object} {state}, and has no connection details",
	IsSecret:   "{object} {state}, and has " + ComposedSecret,
}

// ifReady are the ends of the texts for an object that is ready, because waiting does not help then.
var ifReady = [endOfFacts]string{
	LacksField: ", and lacks it: select another field, or write {default}",
	HasOthers:  ": select another key",
	NoDetails:  ": select a field of {resources}",
}

// A State is the state of an existing object, as a verb.
type State string

// The states.
const (
	ObjectExists   State = "exists" // without a condition Ready
	ObjectNotReady State = "is not ready"
	ObjectReady    State = "is ready"
)

// A Missing input, with what is known about it.
type Missing struct {
	Input string // as it is written in CEL
	Null  bool   // it exists, and is null
	List  bool   // the expression returns a list
	Below bool   // the expression reads an optional field below it

	Fact     Fact
	Object   string // the kind and the name
	State    State  // of the object
	Resource string // the composition resource name, or the path of the list
	Instead  string // what to use instead
}

// String says what is known, and what to do. It is empty if nothing is known.
func (m Missing) String() string {
	text := texts[m.Fact]
	if m.State == ObjectReady {
		text += ifReady[m.Fact]
	}
	return strings.NewReplacer("{object}", m.Object, "{state}", string(m.State), "{resource}", m.Resource,
		"{resources}", expression.PathText(expression.Resources, m.Resource),
		"{instead}", m.Instead, "{default}", m.withDefault()).Replace(text)
}

// withDefault says how to select the last step of the input if it may be missing or null.
func (m Missing) withDefault() string {
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

// Resource says which composed resource may be meant by a name that does not exist. The name of the object of a
// composed resource mostly ends with its composition resource name.
func Resource(wrong string, names []string) string {
	meant := suggest.Nearest(wrong, names)
	for _, n := range names {
		if strings.HasSuffix(wrong, "-"+n) {
			meant = n
		}
	}
	switch {
	case wrong == expression.Composite:
		return ": to read the composite, leave out from, or write composite.<field>"
	case meant != "":
		return suggest.DidYouMean(meant)
	case len(names) == 0:
		return ": compose it in an earlier step"
	case len(names) == 1:
		return ": use " + names[0] + ", or compose it in an earlier step"
	}
	return ": use one of " + suggest.List(names) + ", or compose it in an earlier step"
}

// Key says which key may be meant by one that does not exist, of those that exist.
func Key(wrong string, keys []string) (Fact, string) {
	switch meant := suggest.Nearest(wrong, keys); {
	case meant != "":
		return HasSimilar, suggest.DidYouMean(meant)
	case len(keys) == 1:
		return HasOthers, "only the key " + keys[0]
	}
	return HasOthers, "the keys " + suggest.List(keys)
}

// KeyOfSource is like Key, but names no other keys, because a source may belong to others.
func KeyOfSource(wrong string, keys []string) (Fact, string) {
	if fact, instead := Key(wrong, keys); fact == HasSimilar {
		return fact, instead
	}
	return Exists, ""
}

// Field says which field of the environment may be meant. It does not list the fields, because the composite author
// may not know them.
func Field(wrong string, names []string) (Fact, string) {
	switch meant := suggest.Nearest(wrong, names); {
	case wrong == "data":
		return EnvironmentData, ""
	case meant != "":
		return EnvironmentHasSimilar, suggest.DidYouMean(meant)
	}
	return EnvironmentLacks, ""
}
