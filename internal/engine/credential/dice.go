package credential

import (
	"crypto/rand"
	"fmt"
	"io"
	"math/big"
	"slices"
)

// dice draw numbers without bias. After random has failed, they return zeros: check err before you use the result.
type dice struct {
	random io.Reader
	err    error
}

// below draws a number from 0 to n-1.
func (d *dice) below(n int) int {
	if d.err != nil {
		return 0
	}
	x, err := rand.Int(d.random, big.NewInt(int64(n))) // it draws again if a number is out of range
	if err != nil {
		d.err = fmt.Errorf("cannot read randomness: %w", err)
		return 0
	}
	return int(x.Int64())
}

// randomBytes reads from a source of randomness.
func randomBytes(random io.Reader, n int) ([]byte, error) {
	b := make([]byte, n)
	if _, err := io.ReadFull(random, b); err != nil {
		return nil, fmt.Errorf("cannot read randomness: %w", err)
	}
	return b, nil
}

// A class of characters, of which n are drawn.
type class struct {
	from   []rune
	n      int
	repeat bool
}

// draw returns characters of a class in a random order.
func (d *dice) draw(c class) []rune {
	pool, out := slices.Clone(c.from), make([]rune, c.n)
	for i := range out {
		j := d.below(len(pool))
		out[i] = pool[j]
		if !c.repeat {
			pool = slices.Delete(pool, j, j+1)
		}
	}
	return out
}

// shuffle is the algorithm of Fisher and Yates.
func (d *dice) shuffle(s []rune) {
	for i := len(s) - 1; i > 0; i-- {
		j := d.below(i + 1)
		s[i], s[j] = s[j], s[i]
	}
}
