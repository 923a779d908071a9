package function

import (
	"crypto/sha256"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"time"
)

// A function that is built with this file plays one moment again and again, as tests need it.
// The file that FUNCTION_EXPORT_NOW names holds the time, and the time decides what is generated.
// It is never published.

func now() time.Time {
	text, err := os.ReadFile(os.Getenv("FUNCTION_EXPORT_NOW"))
	if err != nil {
		return time.Now()
	}
	t, err := time.Parse(time.RFC3339, strings.TrimSpace(string(text)))
	if err != nil {
		panic(err)
	}
	return t
}

func entropy() io.Reader {
	text, _ := os.ReadFile(os.Getenv("FUNCTION_EXPORT_NOW")) // without it all times are one
	return rand.NewChaCha8(sha256.Sum256(text))
}
