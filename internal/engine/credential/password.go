package credential

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"
	"unicode"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

// External Secrets' defaults. The numbers of digits and of symbols are each a quarter of the length.
const (
	defaultLength  = 24
	defaultSymbols = "~!@#$%^&*()_+`-={}|[]\\:\"<>?,./"
	defaultKey     = "password"
)

// The other characters of a password.
const (
	lowerCase = "abcdefghijklmnopqrstuvwxyz"
	upperCase = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	allDigits = "0123456789"
)

var encodings = map[string]func([]byte) string{
	"":          func(b []byte) string { return string(b) },
	"raw":       func(b []byte) string { return string(b) },
	"base64":    base64.StdEncoding.EncodeToString,
	"base64url": base64.URLEncoding.EncodeToString,
	"base32":    base32.StdEncoding.EncodeToString,
	"hex":       hex.EncodeToString,
}

// A password generates passwords.
//
// Each has exactly the requested numbers of digits and symbols. The rest are letters. If there are two or more
// letters, and they may be upper case, at least one is upper and at least one is lower case. Prefix and suffix are put
// around it, may repeat its characters, and are encoded with it.
type password struct {
	*v1beta1.PasswordGenerator

	keys                     []string // sorted
	letters, digits, symbols class
}

// CompilePassword compiles a section of the input at a path, or returns its diagnostics. Make always finds characters
// for a password that compiles: it fails only if Random fails.
func CompilePassword(at *field.Path, in *v1beta1.PasswordGenerator) (Kind, field.ErrorList) {
	p := &password{PasswordGenerator: in, keys: []string{defaultKey}}
	var errs field.ErrorList
	if len(in.SecretKeys) > 0 {
		p.keys = slices.Sorted(slices.Values(in.SecretKeys))
	}
	if i := slices.Index(in.SecretKeys, SaltKey); i >= 0 {
		errs = append(errs, invalid(at.Child("secretKeys").Index(i),
			"is the key of the salts of hashes: use another key"))
	}
	symbols := ptr.Deref(in.SymbolCharacters, defaultSymbols)
	if i := strings.IndexFunc(symbols, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }); i >= 0 {
		errs = append(errs, invalid(at.Child("symbolCharacters"), "has letters or digits: leave them out, "+
			"because a password has them in addition to its symbols"))
	}
	if errs = append(errs, p.count(at, symbols)...); len(errs) > 0 {
		return Kind{}, errs
	}
	return Kind{Keys: p.keys, Make: p.make}, nil
}

// count sets how many characters of each class a password has, and finds classes with too few characters.
func (p *password) count(at *field.Path, from string) (errs field.ErrorList) {
	length, repeat := ptr.Deref(p.Length, defaultLength), ptr.Deref(p.AllowRepeat, false)
	digits, symbols := ptr.Deref(p.Digits, length/4), ptr.Deref(p.Symbols, length/4)
	digitsText, symbolsText := amount(digits, "digit", p.Digits), amount(symbols, "symbol", p.Symbols)
	if digits > length || symbols > length-digits {
		return field.ErrorList{invalid(at.Child("length"), "%s and %s are over the length of %d: "+
			"use fewer of them, or a greater length", digitsText, symbolsText, length)}
	}
	letters := lowerCase + upperCase
	if p.NoUpper {
		letters = lowerCase
	}
	p.letters = newClass(letters, length-digits-symbols, repeat)
	p.digits, p.symbols = newClass(allDigits, digits, repeat), newClass(from, symbols, repeat)
	if p.AllowRepeat == nil && p.SymbolCharacters != nil {
		p.symbols.repeat = p.symbols.n > len(p.symbols.from) // fewer characters than symbols must repeat
	}
	if symbols > 0 && from == "" {
		return field.ErrorList{invalid(at.Child("symbolCharacters"),
			"is empty, but the password must have %s: set symbols to 0", symbolsText)}
	}
	for _, of := range []struct {
		class

		name, text string
	}{
		{p.digits, "digits", digitsText}, {p.symbols, "symbols", symbolsText},
		{p.letters, "length", fmt.Sprintf("%d letters, which are the rest of the length,", p.letters.n)},
	} {
		if !of.repeat && of.n > len(of.from) {
			errs = append(errs, invalid(at.Child(of.name), "%s without repeats need %[3]d different characters, and "+
				"there are %[2]d: set allowRepeat, or ask for at most %[2]d of them", of.text, len(of.from), of.n))
		}
	}
	return errs
}

func newClass(from string, n uint64, repeat bool) class {
	set := slices.Sorted(slices.Values([]rune(from)))
	return class{from: slices.Compact(set), n: int(n), repeat: repeat} //nolint:gosec // at most the longest length
}

// amount also explains a number that the user did not set.
func amount(n uint64, what string, set *uint64) string {
	if n != 1 {
		what += "s"
	}
	if set == nil {
		what += " (by default a quarter of the length)"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// make generates an independent password for each key.
func (p *password) make(from From) (Outputs, error) {
	d := &dice{random: from.Random}
	out := make(Outputs, len(p.keys))
	for _, key := range p.keys {
		text := slices.Concat(p.drawLetters(d), d.draw(p.digits), d.draw(p.symbols))
		d.shuffle(text)
		whole := ptr.Deref(p.Prefix, "") + string(text) + ptr.Deref(p.Suffix, "")
		out[key] = sensitive.FromString(encodings[p.Encoding]([]byte(whole)))
	}
	if d.err != nil {
		return nil, fmt.Errorf("cannot generate a password: %w", d.err)
	}
	return out, nil
}

// drawLetters draws a letter of each case first if both must occur. Compared with all passwords that have both cases,
// this makes those with as many upper-case as lower-case letters slightly likelier. It loses less than one bit.
func (p *password) drawLetters(d *dice) []rune {
	rest := p.letters
	if p.NoUpper || rest.n < 2 {
		return d.draw(rest)
	}
	out := slices.Concat(d.draw(newClass(upperCase, 1, true)), d.draw(newClass(lowerCase, 1, true)))
	rest.n -= len(out)
	if !rest.repeat {
		rest.from = slices.DeleteFunc(slices.Clone(rest.from), func(r rune) bool { return slices.Contains(out, r) })
	}
	return append(out, d.draw(rest)...)
}

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

// uuidKey is the only output.
const uuidKey = "uuid"

// NewUUID generates random UUIDs from 16 bytes of Random: version 4 of RFC 9562, in lower case. It fails only if Random
// fails.
func NewUUID() Kind { return Kind{Keys: []string{uuidKey}, Make: makeUUID} }

func makeUUID(from From) (Outputs, error) {
	id, err := uuid.NewRandomFromReader(from.Random)
	if err != nil {
		return nil, fmt.Errorf("cannot generate a UUID: cannot read randomness: %w", err)
	}
	return Outputs{uuidKey: sensitive.FromString(id.String())}, nil
}
