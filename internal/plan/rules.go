//go:build !faults

package plan

// The rules that tests can switch off, to see what breaks without them. In a program that
// is published they always hold.
const (
	rulesHold       = true // what misses an input is held as it was observed
	rulesLookUp     = true // what has a name is looked up before it is written
	rulesWriteAhead = true // what is generated is given once it is stored
)
