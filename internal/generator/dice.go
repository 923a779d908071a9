package generator

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
)

// fairTries is the number of tries of a draw. A fair source needs more with a probability of 2^-128.
const fairTries = 128

var errUnfair = errors.New("the source of randomness is not random: 128 draws in a row were out of range")

// dice draw numbers without bias. After random has failed, they return zeros: check err before you use the result.
type dice struct {
	random io.Reader
	tries  int // remaining tries for this draw
	err    error
}

// Read provides the bytes of one try of rand.Int, which reads once for each try.
func (d *dice) Read(b []byte) (int, error) {
	if d.tries == 0 {
		return 0, errUnfair
	}
	d.tries--
	if _, err := io.ReadFull(d.random, b); err != nil {
		return 0, fmt.Errorf("cannot read randomness: %w", err)
	}
	return len(b), nil
}

// belowBig draws a number from 0 to n-1.
func (d *dice) belowBig(n *big.Int) *big.Int {
	if d.err != nil {
		return new(big.Int)
	}
	d.tries = fairTries
	x, err := rand.Int(d, n) // each of its tries is in range with even odds or better
	if err != nil {
		d.err = err
		return new(big.Int)
	}
	return x
}

func (d *dice) below(n int) int { return int(d.belowBig(big.NewInt(int64(n))).Int64()) }

// draw returns n characters in a random order.
func (d *dice) draw(from string, n int, allowRepeat bool) []rune {
	pool, out := []rune(from), make([]rune, n)
	for i := range out {
		j := d.below(len(pool))
		out[i] = pool[j]
		if !allowRepeat {
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
