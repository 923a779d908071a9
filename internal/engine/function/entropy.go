package function

import (
	"crypto/rand"
	"io"
	"time"
)

func now() time.Time { return time.Now() }

// entropy is the system's randomness, for credentials.
func entropy() io.Reader { return rand.Reader }
