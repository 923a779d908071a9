//go:build faults

package plan

// SwitchOff a rule: hold, look-up or write-ahead. Only a program that is built with the tag
// faults can, which is for tests and never published.
func SwitchOff(rule string) {
	switch rule {
	case "hold":
		rulesHold = false
	case "look-up":
		rulesLookUp = false
	case "write-ahead":
		rulesWriteAhead = false
	default:
		panic("there is no rule " + rule)
	}
}

var rulesHold, rulesLookUp, rulesWriteAhead = true, true, true
