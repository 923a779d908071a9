// Package limits has every number that can refuse work, each with its reason.
//
// The packages that do the work compare against these numbers, and name the limit when they refuse.
// Sizes are in bytes unless the name says otherwise. input/README.md lists those that an input can reach.
package limits

import "time"

// Limits of an input. They are checked before anything runs. The CustomResourceDefinition of the input repeats those
// that it can express.
const (
	// Diagnostics is how many diagnostics of one input are listed. Each one takes as much memory as a small input.
	Diagnostics = 1000

	// InputBytes is the size of one input, measured in protobuf. A Composition must fit into etcd's 1.5 MiB
	// together with its other steps.
	InputBytes = 512 << 10

	// Expressions is how many expressions one input may have. Checking the largest expression that is allowed takes
	// up to 110 ms. With this many expressions of the usual size, a compilation takes a second. At worst, it takes
	// minutes.
	Expressions = 2048

	// ListItems is how many items a list of the input may have, for example secrets or sources.
	ListItems = 64

	// Items is how many items one forEachExpression may return. For each item, Crossplane looks up one object before it
	// is created, and applies it, one object after another. An object took 10 ms in the measurements with many
	// composites, and the function took 6 ms for this many items.
	Items = 256

	// AllItems is how many items the lists of all exports may have together, and those of all generators. Crossplane
	// has a minute for one reconcile, of which this many objects take about five seconds.
	AllItems = 2 * Items

	// DataItems is how many entries the data of one object may have in the input.
	DataItems = 256

	// ExplainedCharacters is the length up to which an expression that does not compile is checked once more, to
	// say why in words. A longer expression is reported in CEL's own words, because a second check would take as
	// long as the first one.
	ExplainedCharacters = 1024

	// RewriteRules is how many rules one entry of dataFrom may have. Each rule runs over all keys of the entry.
	RewriteRules = 32
)

// Limits of a generator.
const (
	// ManifestBytes is the size of the manifest of a resource generator. Each generation keeps it in an annotation,
	// and all annotations together can have at most 256 KiB.
	ManifestBytes = 64 << 10

	// RefreshInterval is the shortest interval. After a generation is created, it takes some reconciles until all
	// exports that use it have its value.
	RefreshInterval = time.Minute

	// FirstRetry is how long after a rotation was abandoned the same one starts again. The time doubles with each
	// failure.
	FirstRetry = time.Hour

	// LastRetry is the longest time after which an abandoned rotation starts again. The person who must repair the
	// other system may be away for a day.
	LastRetry = 24 * time.Hour

	// Retries is how many failures of the same rotation are counted. After them, the time no longer doubles.
	Retries = 6

	// GenerationNumber is the highest number that an object or a record may have. A generator that creates one
	// generation each minute reaches it after almost a thousand years. A forged number above it is ignored, so that
	// numbers for further generations always remain.
	GenerationNumber = 500_000_000

	// UnlistedFor is how long after its creation an object that the composite does not list counts as new.
	// Crossplane reads the composite from a cache that is some seconds old at most. If the composite does not list
	// an older object, the object was never used.
	UnlistedFor = 15 * time.Minute

	// LostGracePeriod is the grace period of a generation whose state was changed from outside while its generator
	// is not in the input. The real grace period is not known, and a short one could delete a credential that is in
	// use.
	LostGracePeriod = 24 * time.Hour

	// Generations is how many generations of one generator may exist at the same time. Each one is an object, and a
	// part of each request. A further generation is created only after the oldest one is deleted.
	Generations = 16

	// RecordBytes is the size up to which the record of an export has all generations that it had. A larger record has
	// only those whose values the export has. The rest of the API server's limit is for other annotations.
	RecordBytes = 160 << 10

	// SlowGenerations is how many generations with an RSA key, a password hash or a keystore one request creates. A
	// single one can take several of the 10 seconds that Crossplane waits. Each further one is created in one of the
	// next requests.
	SlowGenerations = 1

	// GenerationsFuel is the work of all generations that one request creates: a unit for each byte of their objects.
	// In measurements, a character of a password took a unit. It is a part of the work of the request, so that exports
	// can use the rest. Further generations are created in the next requests.
	GenerationsFuel = RequestFuel / 4

	// GenerationSpace is how many times the size of a generation must be free in the request, of which Crossplane and
	// the function accept as much as of a response. Each generation is in all further requests and responses, with the
	// metadata that others add to it, and with the export that uses it. Exports follow two requests later, when further
	// generations may have been created.
	GenerationSpace = 8

	// SourceBytes is the size of a password or of PEM data that a generator reads from secretExpression. All public CAs
	// together have 220 KB.
	SourceBytes = 256 << 10

	// KeyBytes is the size of a private key in PEM. The largest RSA key that TLS accepts has 6 KiB.
	KeyBytes = 16 << 10

	// RSABits is the size of an RSA key. Go's TLS accepts no larger one, because checking a signature would take long.
	RSABits = 8192

	// HtpasswdWork is the number of users of an htpasswd, times 2 to the power of the cost. All hashes together take a
	// second of CPU, for 16 users with a cost of 10.
	HtpasswdWork = 1 << 14
)

// Limits of the text of an expression. The time of a check grows faster than linearly with the types in it, and a check
// cannot be interrupted: 30 nested comprehensions in 750 characters can take seconds and gigabytes.
const (
	// ExpressionCharacters is the length of an expression. Together with the limits below, it keeps the slowest
	// check at 110 ms.
	ExpressionCharacters = 4096

	// ExpressionRecursion is how deep the parser may recurse.
	ExpressionRecursion = 64

	// ExpressionNodes is how many nodes the parsed tree may have, after macros were expanded.
	ExpressionNodes = 4000

	// ComprehensionNesting is how deep comprehensions may be nested. The range of a comprehension counts as inside
	// of it. Each level multiplies the cost, and the size of the types.
	ComprehensionNesting = 8

	// BindNesting is how deep cel.bind and similar macros may be nested. Each level can double a shared structure.
	BindNesting = 16

	// ExpressionCheckingCost is the number of parts that the types of all nodes may have, plus the number of paths
	// through the expression. A local variable that uses another one twice doubles it: sixteen cel.bind in 400
	// characters take the checker hours.
	ExpressionCheckingCost = 50_000

	// RegexInstructions is how many instructions a compiled regular expression may have. At worst, RE2 takes that
	// many steps for each character.
	RegexInstructions = 1000

	// RegexCharacters is the length of a pattern. A computed pattern is compiled again in each evaluation.
	RegexCharacters = 512
)

// Limits of one evaluation. CEL charges its own cost limit after a call has run, so that limit does not stop a call
// that takes gigabytes or never ends. The limits here are checked before a call.
const (
	// Fuel is the cost of one expression, in calls and in units of eight visited nodes or bytes. It is meant to stop
	// an expression before the limits of time do, because it does not depend on the machine. Usual expressions need
	// a hundredth of it.
	Fuel = 250_000

	// KeyFuel is the cost of one evaluation of a key expression, which runs for each key of an entry.
	KeyFuel = 1_000

	// RequestFuel is the cost of everything that one request makes the function do: expressions, rules, merging,
	// checking types. A unit took up to 0.7 microseconds of CPU where rules were measured, so all of it takes less
	// than a second.
	RequestFuel = 1_000_000

	// PieceFuel is the cost of one piece of work that is not interrupted. It takes 70 ms of CPU, so the context is
	// checked again within 100 ms.
	PieceFuel = 100_000

	// EvaluationTime is the time of one evaluation. It matters only if a call takes longer than its fuel suggests.
	// It is long because a container that has used up its share of the CPU pauses for most of 100 ms, and no usual
	// expression may fail because of that.
	EvaluationTime = 500 * time.Millisecond

	// RequestTime is the time of all expressions, which is half of the 10 s that Crossplane waits for a function.
	RequestTime = 5 * time.Second

	// CallElements is how many list elements one call may produce.
	CallElements = 100_000

	// RangeElements is how many elements lists.range may return.
	RangeElements = 10_000

	// YAMLBytes is the size of a document to decode. Reading YAML is a hundred times slower than reading JSON.
	YAMLBytes = 64 << 10

	// YAMLDepth is how deep a value to encode may be nested. Each line is indented as deep as it is nested.
	YAMLDepth = 100

	// PEMBlocks is how many blocks a PEM text may have. The certificates that a Linux distribution trusts are about
	// 150.
	PEMBlocks = 1000

	// ChainCertificates is how many different certificates may be sorted into a chain. Chains usually have up to five.
	ChainCertificates = 32

	// ResultNodes is how many values a result may have, counted as a tree. A structure that is shared inside the
	// result counts each time it occurs, as it would be written.
	ResultNodes = 64 << 10

	// ResultBytes is the size of a result. Nothing larger fits into an object.
	ResultBytes = 1 << 20
)

// Limits of composite authors. They are lower than the limits of a Composition, because there can be many composite
// authors. These limits hold for one composite: all of its exports together must compile and evaluate within a second
// on a busy machine.
const (
	// AuthorEntries is how many entries all lists may have together.
	AuthorEntries = 64

	// AuthorCharacters is the length of all expressions together, which is twice the length of the largest one.
	// Checking takes most of the time, which grows faster than linearly with the length.
	AuthorCharacters = 2 * ExpressionCharacters

	// AuthorFuel is the cost of one expression. Usual expressions need a twentieth of it.
	AuthorFuel = 50_000

	// AuthorRequestFuel is the cost of all expressions. Other composites and the Composition have separate budgets.
	AuthorRequestFuel = 200_000

	// AuthorTime is the time of all evaluations. Except on a busy machine, the limits of cost are reached first.
	AuthorTime = 500 * time.Millisecond

	// AuthorBytes is the size of all objects together, which is as much as a single object may have.
	AuthorBytes = 1 << 20

	// AuthorKeys is how many keys all objects may have together, without objects that are only kept. Each key is
	// visited several times.
	AuthorKeys = 1024

	// AuthorLabels is how many labels one entry may have. An entry may have as many annotations.
	AuthorLabels = 32
)

// Limits of caches and responses.
const (
	// Plans is how many inputs stay compiled. A plan takes 4 to 20 KB per expression.
	Plans = 256

	// Schemas is how many schemas are requested at once to explain why something waits. The schema of each of
	// Kubernetes' own workload kinds has 0.4 MiB, and a request has at most 4 MiB by default.
	Schemas = 4

	// ResponseBytes is the size of a response, with everything that earlier steps left in it. Crossplane's client does
	// not accept a larger one: the whole reconcile fails. The limit is gRPC's default, which
	// Crossplane does not change.
	ResponseBytes = 4 << 20

	// MessageBytes is the size of one message of a condition or a result. Crossplane turns results into events,
	// whose notes can have at most 1 KiB. A condition can have 32 KiB, but a longer message is hard to read.
	MessageBytes = 4 << 10

	// MessageItems is how many items one message lists. Further items are only counted.
	MessageItems = 10
)

// Limits of the files of commands. A pull request can change the files that a command reads in CI.
const (
	// FileBytes is the size of one file. The definitions of the largest provider have about 40 MB.
	FileBytes = 64 << 20

	// FileDocuments is how many documents one file may have. A hundred thousand small ones take a few seconds.
	FileDocuments = 100_000
)
