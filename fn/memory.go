package main

import (
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// memoryUnlimited is what requests are bounded by where nothing limits the process.
const memoryUnlimited = 1 << 30

// memoryLimit of the process in bytes: GOMEMLIMIT, or that of its cgroup if that is lower.
func memoryLimit() int64 {
	limit := min(debug.SetMemoryLimit(-1), cgroupLimit())
	if limit > math.MaxInt64/2 { // which a cgroup writes for none
		return memoryUnlimited
	}
	return limit
}

func cgroupLimit() int64 {
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		b, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil {
			return n
		}
	}
	return math.MaxInt64
}

// limitHeap to a tenth below the limit of the cgroup, unless GOMEMLIMIT is set.
func limitHeap() {
	if limit := cgroupLimit(); os.Getenv("GOMEMLIMIT") == "" && limit <= math.MaxInt64/2 {
		debug.SetMemoryLimit(limit / 10 * 9)
	}
}
