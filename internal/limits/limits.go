// Package limits holds every number that can refuse work, each with its reason.
//
// The packages that do the work compare against these numbers, and name the limit when they refuse.
// Sizes are in bytes unless the name says otherwise.
package limits

import "time"

// Limits of an input, known before anything runs. The CustomResourceDefinition of the input repeats those
// that it can express.
const (
	Diagnostics = 1000 // diagnostics of one input that are listed. Each takes as much memory as a small input

	// InputBytes is the size of one input, measured in protobuf. A Composition must fit into etcd's 1.5 MiB
	// together with its other steps.
	InputBytes = 512 << 10

	// Expressions in one input. Checking the largest expression that is allowed takes up to 110 ms, so a
	// compilation takes a second for expressions of the usual size, and minutes at worst.
	Expressions = 2048

	ListItems = 64  // of one list of the input
	DataItems = 256 // of one object

	// ExplainedCharacters of an expression that does not compile. It is checked once more to say why in words.
	// A longer expression is reported in CEL's own words, because checking the longest takes as long again.
	ExplainedCharacters = 1024

	RewriteRules = 32 // of one entry of dataFrom. Each rule runs over all keys of the entry
)

// Limits of a generator.
const (
	// ManifestBytes of the manifest of a resource generator. Each generation keeps it in an annotation, and all
	// annotations together have 256 KiB.
	ManifestBytes = 64 << 10

	// RefreshInterval is the shortest interval: a generation takes some reconciles until all exports that use it
	// have its value.
	RefreshInterval = time.Minute

	// GenerationNumber is the highest number that is believed of an object or of a record. A generator that makes
	// one generation a minute reaches it after a thousand years, and the numbers after it are still legal.
	GenerationNumber = 500_000_000

	// UnlistedFor is how long an object that the composite does not list may be one that was just created.
	// Crossplane reads the composite from a cache that is some seconds old at most. An older object was never used.
	UnlistedFor = 15 * time.Minute

	// HiddenGenerations is how many generations that the composite lists and Crossplane does not show are looked up
	// in one request. They do not exist, or were just deleted.
	HiddenGenerations = 1000

	// LostGracePeriod of a generation whose state somebody else changed, while its generator is not in the input. The
	// real grace period is not known, and a short one could delete a credential that is in use.
	LostGracePeriod = 24 * time.Hour

	// Generations of one generator that are kept at once: each is an object, and a part of each request. Further
	// generations wait until the first of them is dropped.
	Generations = 16

	StateBytes = 256 << 10 // of all annotations of a generation: the API server's limit

	// SlowGenerations is how many generations with an RSA key one request makes. One takes up to some seconds of the
	// 10 that Crossplane waits.
	SlowGenerations = 1
)

// Limits of the source of an expression. Checking grows faster than linearly with the source and cannot be
// interrupted: a 22 KB list of 1,600 comprehensions takes seconds and gigabytes.
const (
	ExpressionCharacters = 4096 // which keeps the worst check seen at 110 ms, together with the limits below
	ExpressionRecursion  = 64   // how deep the parser recurses
	ExpressionNodes      = 4000 // of the parsed tree, after macros were expanded

	// ComprehensionNesting is how deep comprehensions nest, where the range of a comprehension counts as inside of
	// it: each level multiplies.
	ComprehensionNesting = 8

	BindNesting    = 16  // how deep cel.bind and its like nest: each level can double a shared structure
	Comprehensions = 100 // in one expression: each takes the checker a millisecond once there are hundreds
	EmptyLiterals  = 100 // of lists and maps: the checker infers the type of each from all that is done with any of them

	// ExpressionCheckingCost is how many parts the types of all nodes have together, and how many paths they may be.
	// A local variable that uses another one twice doubles it: sixteen cel.bind in 400 characters take the checker
	// hours.
	ExpressionCheckingCost = 50_000

	RegexInstructions = 1000 // of a compiled regular expression: RE2 does that many steps per character at worst
	RegexCharacters   = 512  // of a pattern: a computed pattern is compiled anew in each evaluation
)

// Limits of one evaluation. CEL charges its own cost limit after a call has run, so that limit does not stop a call
// that takes gigabytes or never ends. The limits here are checked before a call.
const (
	// Fuel of one expression, in calls and in units of eight visited nodes or bytes. It is the limit that decides,
	// because it does not depend on the machine. Honest work takes a hundredth of it.
	Fuel = 250_000

	KeyFuel = 1_000 // of one evaluation of a key expression, which runs for each key of an entry

	// RequestFuel of all that one request makes the function do: expressions, rules, merging, checking types. A unit
	// took up to 0.7 microseconds of CPU where rules were measured, so all of it takes less than a second.
	RequestFuel = 1_000_000

	// PieceFuel of one piece of work that is not interrupted: 70 ms of CPU at that price, so the context is checked
	// again within 100 ms.
	PieceFuel = 100_000

	// EvaluationTime decides only where the fuel does not know what a call costs. It is long because a container that
	// has used up its share of the CPU stands still for most of 100 ms, and no honest expression may fail by that.
	EvaluationTime = 500 * time.Millisecond

	RequestTime   = 5 * time.Second // of all expressions: half of the 10 s that Crossplane waits for a function
	CallVisits    = 8 * Fuel        // nodes and bytes that one call may visit: what the fuel of an expression pays for
	CallBytes     = 1 << 20         // that one call may produce. Nothing larger fits into an object
	CallElements  = 100_000         // list elements that one call may produce
	RangeElements = 10_000          // that lists.range returns
	RegexVisits   = 64 << 20        // characters of the text times instructions of the pattern, for one regular expression
	YAMLBytes     = 64 << 10        // of a document to decode: reading YAML is a hundred times slower than reading JSON
	YAMLDepth     = 100             // of a value to encode: each line is indented as deep as it is nested

	// ResultNodes of a result, counted as a tree: a structure that is shared inside the result counts each time it
	// occurs, as it would be written.
	ResultNodes = 64 << 10

	ResultBytes = 1 << 20 // of a result. Nothing larger fits into an object
)

// Limits of the exports of a composite author, who is one of many and not the author of the Composition. They hold for
// one composite. All of its exports together must compile and evaluate within a second on a busy machine, so they get
// a part of what a Composition may do.
const (
	AuthorEntries = 64 // of all lists together

	// AuthorCharacters of all expressions together, as many as two of the largest have. Checking takes the longest,
	// and grows faster than linearly.
	AuthorCharacters = 2 * ExpressionCharacters

	AuthorFuel        = 50_000                 // of one expression. Honest work takes a twentieth of it
	AuthorRequestFuel = 200_000                // of all expressions. Other composites and the Composition have their own
	AuthorTime        = 500 * time.Millisecond // of all evaluations. Fuel decides before it, except on a busy machine
	AuthorBytes       = 1 << 20                // of all objects together: as many as a single object may have
	AuthorKeys        = 1024                   // of all objects together: each is visited several times
	AuthorLabels      = 32                     // of one entry, and as many annotations

	// AuthorExpressionsCached stay compiled, over all composites, the most recently used. If an author fills them all
	// with new ones, they take 18 MiB.
	AuthorExpressionsCached = 128

	// AuthorExpressionCharactersCached is how long one of them may be. The worst seen takes 140 KiB. A longer expression is compiled in
	// each request.
	AuthorExpressionCharactersCached = 512
)

// Limits of caches and of answers.
const (
	Plans = 256 // that stay compiled. A plan takes 4 to 20 KB per expression

	// Schemas that are requested at once to explain why something waits. Kubernetes' own workload kinds have 0.4 MiB
	// each, and a request has 4 MiB by default.
	Schemas = 4

	// ResponseBytes that Crossplane's client accepts: it fails the whole reconcile on a larger response. It is gRPC's
	// default, which Crossplane does not change.
	ResponseBytes = 4 << 20

	SchemaBytes = 2 << 20 // of all schemas of one request. A decoded schema takes up to 25 times its bytes

	// MessageBytes of one message of a condition or a result. Crossplane turns results into events, whose notes hold
	// 1 KiB at most, and a condition holds 32 KiB, but a longer message is hard to read.
	MessageBytes = 4 << 10

	MessageItems = 10 // listed in one message, before the rest is only counted
)
