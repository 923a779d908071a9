package rules

// all are the rules, sorted by name.
var all = []Rule{ //nolint:gochecknoglobals // a table
	{"abandoned-after-next", Warning, "`abandonAfter` is shorter than `refreshInterval`.", abandonedAfterNext},
	{"ca-without-former", Warning, "While a CA is rotated, clients know the present and the former certificate.", caWithoutFormer},
	{"candidate-for-consumers", Warning, "Only the export that sets a credential reads `candidate`.", candidateForConsumers},
	{"candidate-never-set", Warning, "If `readyExpression` compares the candidate, an export sets it.", candidateNeverSet},
	{"certificate-expires", Warning, "A certificate has a `refreshPolicy`.", certificateExpires},
	{"changing-value", Warning, "Names, keys, labels and keepers do not depend on fields that change with each write.", changingValue},
	{"composed-later", Warning, "The step that composes a resource is before the step that reads it.", composedLater},
	{"derived-schedule", Warning, "A generator with `secretExpression` has no schedule of its own.", derivedSchedule},
	{"encoded-twice", Warning, "The data of a Secret is not encoded in Base64 by the expression.", encodedTwice},
	{"function-keys", Error, "Literal keys and names are those that a function accepts.", functionKeys},
	{"index-as-key", Warning, "The key of an item identifies the item, not its position.", indexAsKey},
	{LiteralCredential, Warning, "A Composition contains no password, token or private key.", literalCredential},
	{"no-overlap", Warning, "A rotated credential stays valid until all applications have the next one.", noOverlap},
	{"optional-field", Warning, "A field of the composite that may be missing has a default, or is read as optional.", optionalField},
	{"other-function", Error, "`functionRef` names this function.", otherFunction},
	{"same-object", Error, "Each object is composed by one step, under one name.", sameObject},
	{"same-status-field", Warning, "Each field of the composite's status is written by one step.", sameStatusField},
	{"setter-reads-generated", Warning, "The export that sets a verified credential reads `candidate`.", setterReadsGenerated},
	{"unknown-connection-key", Warning, "The provider writes the connection detail that an expression reads.", unknownConnectionKey},
	{"unknown-function", Warning, "The files contain the Function that `functionRef` names.", unknownFunction},
}
