// Package limits holds every number that can refuse work, each with its reason.
//
// Nothing happens here: the rooms that do the work compare against these
// numbers, and name the limit in what they refuse. Sizes are in bytes unless
// the name says otherwise.
package limits

import "time"

// Limits of an input, known before anything runs. The CustomResourceDefinition
// of the input repeats those that it can express.
const (
	// Faults of one input that are listed: nobody reads more, and each takes as much
	// memory as a small input.
	Faults = 1000

	// InputBytes is the size of one input, much as it is in protobuf. A Composition has to fit
	// into etcd's 1.5 MiB together with its other steps.
	InputBytes = 512 << 10

	// Expressions in one input. Checking the largest expression that is allowed
	// takes up to 110 ms, so that this bounds a compilation to minutes at the
	// very worst, and to a second for expressions of the usual size.
	Expressions = 2048

	// ListItems of one list of the input.
	ListItems = 64

	// DataItems of one object.
	DataItems = 256

	// ExplainedCharacters of an expression that does not compile, which is checked once
	// more to say why in words: a longer one says it in CEL's own, for checking the
	// longest takes as long again.
	ExplainedCharacters = 1024

	// RewriteRules of one entry of dataFrom: each runs over all of its keys.
	RewriteRules = 32
)

// Limits of a generator.
const (
	// ManifestBytes of the manifest of a resource generator, which each generation keeps
	// in an annotation, of 256 KiB together with all others.
	ManifestBytes = 64 << 10

	// RefreshInterval is the shortest: a generation takes some reconciles until all that
	// exports it has its value.
	RefreshInterval = time.Minute

	// Longest interval or grace period, 100 years: a longer one is a mistake.
	Longest = 100 * 365 * 24 * time.Hour

	// GenerationNumber is the highest that is believed of an object or of a record. A
	// generator that makes one a minute reaches it after a thousand years, and the
	// numbers after it are still legal.
	GenerationNumber = 500_000_000

	// UnlistedFor is how long an object that the composite does not list may be one that
	// was just created: Crossplane reads the composite from a cache, which is some seconds
	// old at most. One that is older was never used.
	UnlistedFor = 15 * time.Minute

	// HiddenGenerations are the look-ups of one request beyond which no more generations are
	// looked up that the composite lists and Crossplane does not show: there are none, or
	// those that were just deleted.
	HiddenGenerations = 1000

	// LostGracePeriod of a generation whose state was changed by somebody else, while its
	// generator is not in the input: the grace period is not known, and a short one
	// could take away a credential that is in use.
	LostGracePeriod = 24 * time.Hour

	// Generations of one generator that are kept at once: each is an object, and a part of
	// each request. Who asks for more waits for the first of them to be dropped.
	Generations = 16

	// StateBytes of all annotations of a generation: the API server's limit.
	StateBytes = 256 << 10

	// SlowGenerations that one request makes, of those with an RSA key: one takes up to
	// some seconds of the 10 that Crossplane waits. The others are made after it.
	SlowGenerations = 1
)

// Limits of the source of an expression. Checking grows faster than linearly
// with the source and cannot be interrupted: a 22 KB list of 1,600
// comprehensions takes seconds and gigabytes.
const (
	// ExpressionCharacters keeps the worst check seen at 110 ms, together with the
	// limits below.
	ExpressionCharacters = 4096

	// ExpressionRecursion is how deep the parser recurses.
	ExpressionRecursion = 64

	// ExpressionNodes of the parsed tree, after macros were expanded.
	ExpressionNodes = 4000

	// ComprehensionNesting is how deep comprehensions nest, where the range of
	// one counts as inside of it: each level multiplies.
	ComprehensionNesting = 8

	// BindNesting is how deep cel.bind and its like nest: each level can double
	// a shared structure.
	BindNesting = 16

	// Comprehensions in one expression: each takes the checker a millisecond once
	// there are hundreds.
	Comprehensions = 100

	// EmptyLiterals of lists and maps: the checker works out the type of each
	// from all that is done with any of them.
	EmptyLiterals = 100

	// ExpressionBulk is how many parts the types of all nodes have together, and how
	// many paths they may be. A local variable that uses another one twice has twice as
	// much: sixteen cel.bind in 400 characters take the checker hours.
	ExpressionBulk = 50_000

	// RegexInstructions of a compiled regular expression: RE2 does that many
	// steps per character at worst.
	RegexInstructions = 1000

	// RegexCharacters of a pattern: one that is computed is compiled anew in each
	// evaluation.
	RegexCharacters = 512
)

// Limits of one evaluation. CEL's own cost limit is charged after a call has
// run, and so stops neither a call that takes gigabytes nor one that never
// ends: these are looked at before.
const (
	// Fuel of one expression, in calls and in units of eight visited nodes or
	// bytes. It is the limit that decides, since it does not depend on the
	// machine. Honest work takes a hundredth of it.
	Fuel = 250_000

	// KeyFuel of one evaluation of a key expression, which runs for each key of an
	// entry.
	KeyFuel = 1_000

	// RequestFuel of all that one request makes the function do: expressions, rules,
	// merging, checking types. A unit took up to 0.7 microseconds of CPU
	// where rules were measured, so that all of it takes less than a second.
	RequestFuel = 1_000_000

	// PieceFuel of one piece of work that is not interrupted: 70 ms of
	// CPU at that price, so that the context is looked at again within 100 ms.
	PieceFuel = 100_000

	// EvaluationTime is a net below the fuel: it decides only where the fuel
	// does not know what a call costs. It is as long as it is because a container
	// that has used up its share of the CPU stands still for most of 100 ms, and
	// no honest expression may fail by that.
	EvaluationTime = 500 * time.Millisecond

	// RequestTime of all expressions of one request: half of the 10 s that
	// Crossplane waits for a function.
	RequestTime = 5 * time.Second

	// CallVisits is how many nodes and bytes one call may look at: what the fuel
	// of an expression pays for, so that looking before the call takes no longer.
	CallVisits = 8 * Fuel

	// CallBytes is how much one call may produce. Nothing larger fits into an
	// object.
	CallBytes = 1 << 20

	// CallElements is how many list elements one call may produce.
	CallElements = 100_000

	// RangeElements is how many elements lists.range gives.
	RangeElements = 10_000

	// RegexVisits is what one regular expression may cost: characters of the
	// text times instructions of the pattern.
	RegexVisits = 64 << 20

	// YAMLBytes of a document to decode: reading YAML is a hundred times slower
	// than reading JSON.
	YAMLBytes = 64 << 10

	// YAMLDepth of what is encoded: each line is indented as deep as it is.
	YAMLDepth = 100

	// ResultNodes of a result, counted as a tree: a structure that is shared
	// inside the result counts each time it occurs, as it would be written.
	ResultNodes = 64 << 10

	// ResultBytes of a result. Nothing larger fits into an object.
	ResultBytes = 1 << 20
)

// Limits of what the author of a composite asks for, who is not the author of the
// Composition, and one of many. All of it together, compiled and evaluated, has to
// end within a second on a machine that does other work as well, so they are a
// part of what a Composition may do. They hold for one composite.
const (
	// TenantEntries of all lists together.
	TenantEntries = 64

	// TenantCharacters of all expressions together. Checking takes the longest, and
	// grows faster than linearly with an expression: this is two of the largest.
	TenantCharacters = 2 * ExpressionCharacters

	// TenantFuel of one expression. Honest work takes a twentieth of it.
	TenantFuel = 50_000

	// TenantRequestFuel of all expressions, which no other composite's and none of
	// the Composition's own is short of for that.
	TenantRequestFuel = 200_000

	// TenantTime of all evaluations. Fuel decides before, on a machine that has little
	// else to do.
	TenantTime = 500 * time.Millisecond

	// TenantBytes of all objects together: what a single one may have.
	TenantBytes = 1 << 20

	// TenantKeys of all objects together: each is looked at several times.
	TenantKeys = 1024

	// TenantLabels of one entry, and as many annotations.
	TenantLabels = 32

	// TenantExpressionsKept stay compiled, over all composites, those used last. Who
	// may write a composite may fill them all with new ones: that takes 18 MiB.
	TenantExpressionsKept = 128

	// TenantBytesKept is how long one of them may be. The worst seen takes 140 KiB. A
	// longer one is compiled in each request.
	TenantBytesKept = 512
)

// Limits of what is kept and answered.
const (
	// Plans that stay compiled. A plan takes 4 to 20 KB per expression.
	Plans = 256

	// Schemas that are asked for at once to explain why something waits. Kubernetes' own
	// workload kinds have 0.4 MiB each, and a request has 4 MiB unless the function is
	// told otherwise.
	Schemas = 4

	// ResponseBytes is what Crossplane's client accepts: it fails the whole reconcile on a
	// larger response. It is gRPC's default, which Crossplane does not change.
	ResponseBytes = 4 << 20

	// SchemaBytes of all schemas that one request is checked against. Decoded, each takes
	// up to 25 times its bytes.
	SchemaBytes = 2 << 20

	// MessageBytes of one message of a condition or a result. Crossplane turns
	// results into events, whose notes hold 1 KiB at most; longer messages
	// become hard to read long before a condition's 32 KiB.
	MessageBytes = 4 << 10

	// MessageItems listed in one message, before the rest is counted only.
	MessageItems = 10
)
