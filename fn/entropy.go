//go:build !rehearsal

package main

import (
	"crypto/rand"
	"io"
	"time"
)

// now is the time.
func now() time.Time { return time.Now() }

// entropy is what credentials are made from: the system's randomness.
func entropy() io.Reader { return rand.Reader }
