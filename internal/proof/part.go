package proof

import (
	"os"
	"strconv"
)

// Whole reports whether the tests run as a whole, as in .ci/run: if FUNCTION_EXPORT_TESTS is "whole". Otherwise a test
// with many cases or histories runs a part of them, so that go test ./... ends after minutes.
func Whole() bool { return os.Getenv("FUNCTION_EXPORT_TESTS") == "whole" }

// Part returns all cases if the tests run as a whole, and otherwise the first one and each nth one after it.
func Part[T any](all []T, nth int) []T {
	var out []T
	for i := 0; i < len(all); i += Step(nth) {
		out = append(out, all[i])
	}
	return out
}

// Step returns 1 if the tests run as a whole, and otherwise nth.
func Step(nth int) int {
	if Whole() {
		return 1
	}
	return nth
}

// Count returns how many histories a test plays: the number in the environment variable if it is set, and otherwise
// part or, if the tests run as a whole, whole. It panics if the variable is not a number.
func Count(variable string, part, whole uint64) uint64 {
	switch text := os.Getenv(variable); {
	case text != "":
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			panic(variable + " must be a number")
		}
		return n
	case Whole():
		return whole
	default:
		return part
	}
}
