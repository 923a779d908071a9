package function

import (
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// A function that is built with this file has a clock that is wrong by the offset in the file that
// FUNCTION_EXPORT_CLOCK names. It reads the offset and logs it in each call. It is never published.

func now() time.Time {
	text, err := os.ReadFile(os.Getenv("FUNCTION_EXPORT_CLOCK"))
	if err != nil {
		panic(err)
	}
	offset, err := time.ParseDuration(strings.TrimSpace(string(text)))
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(os.Stderr, "clock %+d\n", offset/time.Second)
	return time.Now().Add(offset)
}

func entropy() io.Reader { return rand.Reader }
