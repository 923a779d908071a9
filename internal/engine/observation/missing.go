package observation

// A Fact is what is known about a missing input.
type Fact int

// The facts. The first one says nothing.
const (
	Unknown Fact = iota

	CompositeLacks        // a field that the author of the composite can set
	CompositeHasNoDetails // only legacy composites have connection details
	ItemLacks             // a field of an item of a list
	EnvironmentLacks      // a field of the environment

	NotComposed // a composed resource that no earlier step composes
	NotCreated  // a composed resource or an export of the same step that does not exist
	OwnData     // the data of an export of the same step

	NotReady       // the condition Ready of an existing object
	Exists         // something that an existing object lacks
	LacksField     // a field of an existing object
	LacksKey       // a key of an existing object
	LacksSourceKey // a key of a source, which may belong to others
	NoPlace        // the connection details of a resource without a place for them
	NoSecret       // the connection details of a resource whose connection Secret does not exist
	NoDetails      // the connection details of a resource that wrote none
	IsSecret       // the connection details of a composed Secret
	EndOfFacts
)

// A State is the state of an existing object, as a verb.
type State string

// The states.
const (
	ObjectExists   State = "exists" // without a condition Ready
	ObjectNotReady State = "is not ready"
	ObjectReady    State = "is ready"
)

// A Missing input, with what is known about it. It contains names and parts of the input, but no data.
type Missing struct {
	Input string // as it is written in CEL
	Null  bool   // it exists, and is null
	List  bool   // the expression returns a list
	Below bool   // the expression reads an optional field below it

	Fact     Fact
	Object   string   // the kind and the name
	State    State    // of the object
	Resource string   // the composition resource name, or the path of the list
	Wrong    string   // the name that does not exist
	Names    []string // that exist instead of it, if one of them may be meant
	Instead  string   // what to write instead
}
