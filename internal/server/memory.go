package server

import (
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// memoryUnlimited is what requests are bounded by where nothing limits the process.
const memoryUnlimited = 1 << 30

// MemoryLimit of the process in bytes: GOMEMLIMIT, or that of its cgroup if that is lower.
func MemoryLimit() int64 {
	limit := min(debug.SetMemoryLimit(-1), cgroupLimit())
	if limit > math.MaxInt64/2 { // which a cgroup writes for none
		return memoryUnlimited
	}
	return limit
}

func cgroupLimit() int64 {
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		b, err := os.ReadFile(file) //nolint:gosec // one of the two
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil {
			return n
		}
	}
	return math.MaxInt64
}

// gcPercent is Go's GOGC. What stays in use is small, the compiled inputs, and a request leaves
// garbage only: at Go's default of 100 collecting it adds a sixth to the cost of a small
// request. From 250 on hostile requests take more than the 120 MiB that TestAttackRequests allows.
const gcPercent = 200

// TuneMemory sets gcPercent, unless GOGC is set, and limits Go's memory to a fifth below the
// limit of the cgroup, unless GOMEMLIMIT is set: it does not count the pages of the program.
func TuneMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if limit := cgroupLimit(); os.Getenv("GOMEMLIMIT") == "" && limit <= math.MaxInt64/2 {
		debug.SetMemoryLimit(limit / 5 * 4)
	}
}
