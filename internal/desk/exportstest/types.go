// Package exportstest tests the exports of a Composition over time. An ExportsTest says what happens to one composite,
// moment by moment, and what is expected then. The package reads tests, plays them against package world with the real
// function, and compares. It opens no file: a command reads the files that a test names.
package exportstest

// The API version and kind of a test.
const (
	Group      = "test.export.fn.crossplane.io"
	APIVersion = Group + "/v1alpha1"
	Kind       = "ExportsTest"
)

// An ExportsTest is a file with tests. The tag doc is the description for editors.
type ExportsTest struct {
	APIVersion string   `doc:"The version of the format." enum:"test.export.fn.crossplane.io/v1alpha1" json:"apiVersion" required:"true"`
	Kind       string   `doc:"ExportsTest." enum:"ExportsTest" json:"kind" required:"true"`
	Metadata   Metadata `doc:"The name of the tests." json:"metadata,omitzero"`
	Spec       Spec     `doc:"The inputs and the tests." json:"spec" required:"true"`
}

// Metadata names the tests.
type Metadata struct {
	Name string `doc:"The name in the output. The default is the name of the file." json:"name,omitempty"`
}

// A Spec has the inputs that tests share, and the tests.
type Spec struct {
	Inputs Inputs              `doc:"The inputs of all tests." json:"inputs,omitzero"`
	Steps  map[string]Recorded `doc:"What other steps of the pipeline return, by the name of the step. By default, a step returns what is observed under the names of the resources in its input, or else the bases of function-patch-and-transform." json:"steps,omitempty"`
	Tests  []Test              `doc:"The tests. Each one begins with a new composite." json:"tests" required:"true"`
}

// Inputs are files or objects. Paths are relative to the file of the test.
type Inputs struct {
	Composition        any            `doc:"The Composition: a path, or the object." json:"composition,omitempty"`
	XR                 any            `doc:"The composite: a path, or the object." json:"xr,omitempty"`
	XRD                any            `doc:"The definition of the composite: a path, or the object." json:"xrd,omitempty"`
	Observed           []any          `doc:"Composed resources that exist from the beginning, and their connection Secrets: paths, or objects." json:"observed,omitempty"`
	ObservedResources  []any          `doc:"The same as observed, as in a CompositionTest." json:"observedResources,omitempty"`
	ExtraResources     []any          `doc:"Other objects that the function may require: paths, or objects." json:"extraResources,omitempty"`
	EnvironmentConfigs []any          `doc:"EnvironmentConfigs that the function may require: paths, or objects." json:"environmentConfigs,omitempty"`
	Schemas            []any          `doc:"Files with the schemas that the function may require: OpenAPI documents, XRDs or CRDs." json:"schemas,omitempty"`
	Context            map[string]any `doc:"The context of the pipeline." json:"context,omitempty"`
}

// Recorded is what a step of another function returns.
type Recorded struct {
	Resources map[string]any `doc:"The desired objects, by their composition resource names: paths, or the objects." json:"resources,omitempty"`
}

// A Test is one composite over time.
type Test struct {
	Name    string   `doc:"What is tested." json:"name" required:"true"`
	Inputs  Inputs   `doc:"Inputs that replace those of all tests." json:"inputs,omitzero"`
	Moments []Moment `doc:"What happens, in the order of time." json:"moments" required:"true"`
	Always  []any    `doc:"Laws that hold at each write: noLostValue, neverHalf, storedBeforeExport, overlap: {of, atLeast}, and refusedAtMost: 30s." json:"always,omitempty"`
}

// A Moment is a point in time: what happens, and what is expected after Crossplane has reconciled.
type Moment struct {
	Name        string                 `doc:"What the moment shows." json:"name,omitempty"`
	At          Time                   `doc:"The time. It is not before the moment above. The first default is 2026-01-01T00:00:00Z." json:"at,omitzero"`
	After       Duration               `doc:"The time since the moment above. Crossplane reconciles in between whenever the function asks for it." json:"after,omitzero"`
	Until       string                 `doc:"Settled (default): reconcile until nothing changes. Reconciled: reconcile once." enum:"Settled,Reconciled" json:"until,omitempty"`
	Composition any                    `doc:"The Composition from now on: a path, or the object." json:"composition,omitempty"`
	Observe     map[string]Observation `doc:"What providers report from now on, by composition resource name." json:"observe,omitempty"`
	Do          []Action               `doc:"What people, providers, or failures do now, in this order." json:"do,omitempty"`
	Expect      *Expectation           `doc:"What is expected at the end of the moment." json:"expect,omitempty"`
}

// An Observation is what a provider reports about a composed resource.
type Observation struct {
	ConnectionDetails map[string]string `doc:"The connection details, as text: every key, because they replace the former ones." json:"connectionDetails,omitzero"`
	Ready             *bool             `doc:"Whether the resource is ready." json:"ready,omitempty"`
	Status            map[string]any    `doc:"Fields that are merged into the status." json:"status,omitempty"`
	Gone              bool              `doc:"The connection details and the status are no longer reported." json:"gone,omitempty"`
}

// An Action has one field: what is done.
type Action struct {
	Rotate    string            `doc:"The name of a generator that the composite asks to rotate." json:"rotate,omitempty"`
	Edit      *Edit             `doc:"Someone edits the composite or an object." json:"edit,omitempty"`
	Create    map[string]any    `doc:"Someone creates an object that Crossplane does not compose." json:"create,omitempty"`
	Delete    string            `doc:"Someone deletes a composed object, by its composition resource name." json:"delete,omitempty"`
	Annotate  map[string]string `doc:"Someone annotates the composite. An empty text removes an annotation." json:"annotate,omitempty"`
	Pause     *bool             `doc:"true: Crossplane does not reconcile the composite. false: it does again." json:"pause,omitempty"`
	Restore   string            `doc:"The name of an earlier moment. Secrets and ConfigMaps are restored from a backup of it, with new UIDs and without owners." json:"restore,omitempty"`
	LoseWrite string            `doc:"The next write of this composition resource name fails, and the reconcile ends." json:"loseWrite,omitempty"`
	Late      string            `doc:"The kind whose informer sees no change until the end of this moment." json:"late,omitempty"`
	Restart   bool              `doc:"Crossplane starts again." json:"restart,omitempty"`
	Provider  *Provider         `doc:"How a provider treats the credential of a generator, from now on." json:"provider,omitempty"`
}

// An Edit is a merge patch.
type Edit struct {
	Object string         `doc:"The composition resource name of the object. The default is the composite." json:"object,omitempty"`
	Patch  map[string]any `doc:"The fields that change. A null removes a field." json:"patch" required:"true"`
}

// A Provider sets a credential that an export offers to it.
type Provider struct {
	Resource string   `doc:"The composition resource name of the resource whose connection details have the accepted value. The default is the only one that other steps compose." json:"resource,omitempty"`
	Accepts  string   `doc:"The value that it accepts, for example candidate.admin.password." json:"accepts" required:"true"`
	Key      string   `doc:"The connection detail. The default is the name of the output, for example password." json:"key,omitempty"`
	After    Duration `doc:"How long it takes to accept a value." json:"after,omitzero"`
	Refuses  bool     `doc:"It accepts no new value." json:"refuses,omitempty"`
}

// An Expectation is compared with what exists. Values in objects are equal, or {matches: REGEXP}, or {absent: true}.
type Expectation struct {
	Objects   map[string]map[string]any `doc:"Composed objects by composition resource name, with the expected fields. Data of Secrets is text. With exactly, all fields of that object are expected." json:"objects,omitempty"`
	Absent    []string                  `doc:"Composition resource names of objects that do not exist." json:"absent,omitempty"`
	Composite map[string]any            `doc:"Fields of the composite." json:"composite,omitempty"`
	Condition *ConditionExpectation     `doc:"The condition of the composite." json:"condition,omitempty"`
	Results   []ResultExpectation       `doc:"Results of the last reconcile. Others may exist." json:"results,omitempty"`
	Changed   []any                     `doc:"Objects whose data has changed since the moment above: composition resource names, or {generation: admin/2}." json:"changed,omitempty"`
	Kept      []any                     `doc:"Objects whose data is the same as in the moment above." json:"kept,omitempty"`
	Gone      []any                     `doc:"Objects that do not exist." json:"gone,omitempty"`
	Assert    []string                  `doc:"CEL expressions that are true. They see objects, composite, conditions, results, requirements, now, and previousMoment." json:"assert,omitempty"`
}

// A ConditionExpectation is about a condition.
type ConditionExpectation struct {
	Type    string `doc:"The default is ExportsReady." json:"type,omitempty"`
	Status  string `doc:"True, False or Unknown." enum:"True,False,Unknown" json:"status,omitempty"`
	Reason  string `doc:"The reason, for example Available." json:"reason,omitempty"`
	Message any    `doc:"The message, or {matches: REGEXP}." json:"message,omitempty"`
}

// A ResultExpectation is about a result.
type ResultExpectation struct {
	Severity string `doc:"Fatal, Warning or Normal." enum:"Fatal,Warning,Normal" json:"severity,omitempty"`
	Message  any    `doc:"The message, or {matches: REGEXP}." json:"message,omitempty"`
}
