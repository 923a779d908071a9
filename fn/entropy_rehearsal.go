//go:build rehearsal

package main

import (
	"crypto/sha256"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"time"
)

// A program that is built with the tag rehearsal plays a moment over and over, as tests
// need it: the time is what the file says that FUNCTION_EXPORT_NOW names, and whatever is
// made at one time is the same, and another one than at any other time. It is never
// published.

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
