// Package tiny has mistakes to find.
package tiny

// Limit is how much Sum returns at most.
const limit = 10

// Sum adds numbers up to a limit.
func Sum(numbers ...int) int {
	sum := 0
	for _, n := range numbers {
		sum += n
	}
	if sum > limit {
		return limit
	}
	return sum
}

// Name returns a name, or a default.
func Name(name string) string {
	if name == "" {
		return "anonymous"
	}
	return name
}
