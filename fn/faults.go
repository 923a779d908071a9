//go:build faults

package main

import (
	"os"

	"github.com/crossplane-contrib/function-export/internal/plan"
)

// A program that is built with the tag faults breaks the rule that FUNCTION_EXPORT_FAULT
// names, so that a test can show that it would notice. It is never published.
func init() {
	if rule := os.Getenv("FUNCTION_EXPORT_FAULT"); rule != "" {
		plan.SwitchOff(rule)
	}
}
