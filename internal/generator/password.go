package generator

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"math/big"
	"math/bits"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/sensitive"
)

// Limits of the schema, which nobody holds an input in a Composition against.
const (
	maxPassword = 1024 // characters
	maxAffix    = 256  // characters of the prefix, of the suffix, and of symbolCharacters
	maxKeys     = 16
)

// External Secrets' defaults. Digits and symbols are a quarter of the length each.
const (
	defaultLength  = 24
	defaultSymbols = "~!@#$%^&*()_+`-={}|[]\\:\"<>?,./"
	defaultKey     = "password"
)

// The other characters of a password.
const (
	lowerCase  = "abcdefghijklmnopqrstuvwxyz"
	upperCase  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	allLetters = int64(len(lowerCase + upperCase))
	allDigits  = "0123456789"
)

var encodings = map[string]func([]byte) string{
	"":          func(b []byte) string { return string(b) },
	"raw":       func(b []byte) string { return string(b) },
	"base64":    base64.StdEncoding.EncodeToString,
	"base64url": base64.URLEncoding.EncodeToString,
	"base32":    base32.StdEncoding.EncodeToString,
	"hex":       hex.EncodeToString,
}

// Outputs of one generation, by key.
type Outputs map[string]sensitive.Bytes

// A Password makes passwords: each of those that its input allows is as likely as
// any other. It is immutable, and safe for concurrent use.
//
// A password has exactly as many digits and symbols as it was asked for. The rest are
// letters; where two or more are, and may be upper case, at least one is upper and at
// least one is lower case. Prefix and suffix stand around it, may repeat its
// characters, and are encoded with it.
type Password struct {
	keys                     []string // sorted
	letters, digits, symbols int
	symbolCharacters         string // each once
	noUpper, allowRepeat     bool
	repeatSymbols            bool
	prefix, suffix           string
	encode                   func([]byte) string
}

// CompilePassword compiles a section of the input, which lies at path, or returns all
// its faults. One that compiles can be made: whatever is asked for fits.
func CompilePassword(at *field.Path, in *v1beta1.PasswordGenerator) (*Password, field.ErrorList) {
	c := &passwordCompiler{at: at, in: in}
	p := &Password{
		noUpper: in.NoUpper, allowRepeat: valueOr(in.AllowRepeat, false),
		prefix: c.affix("prefix", in.Prefix), suffix: c.affix("suffix", in.Suffix),
		keys: c.keys(), encode: encodings[in.Encoding],
	}
	if p.encode == nil {
		c.fault(at.Child("encoding"), "must be raw, base64, base64url, base32 or hex")
	}
	fits := c.counts(p)
	c.symbols(p)
	// Who spells two symbols and wants four of them means that they repeat.
	p.repeatSymbols = p.allowRepeat || c.in.AllowRepeat == nil && c.in.SymbolCharacters != nil && p.symbols > utf8.RuneCountInString(p.symbolCharacters)
	if fits && !p.allowRepeat {
		c.repeats(p)
	}
	if len(c.faults) > 0 {
		return nil, c.faults
	}
	return p, nil
}

// Keys are the outputs, sorted.
func (p *Password) Keys() []string { return slices.Clone(p.keys) }

// Make makes a password for each key, independent of each other. Random has to be a
// cryptographic source, crypto/rand.Reader; the same bytes give the same passwords. It
// ends whatever bytes random gives, and fails only if random fails, or gives no randomness.
func (p *Password) Make(random io.Reader) (Outputs, error) {
	d := &dice{random: random}
	out := make(Outputs, len(p.keys))
	for _, key := range p.keys {
		out[key] = sensitive.FromString(p.encode([]byte(p.prefix + string(p.characters(d)) + p.suffix)))
	}
	if d.err != nil {
		return nil, fmt.Errorf("cannot make a password: %w", d.err)
	}
	return out, nil
}

// characters of one password. Given how many there are of each class, all choices of
// characters are as likely, and so are all orders.
func (p *Password) characters(d *dice) []rune {
	upper := p.upper(d)
	out := slices.Concat(
		d.draw(upperCase, upper, p.allowRepeat),
		d.draw(lowerCase, p.letters-upper, p.allowRepeat),
		d.draw(allDigits, p.digits, p.allowRepeat),
		d.draw(p.symbolCharacters, p.symbols, p.repeatSymbols),
	)
	d.shuffle(out)
	return out
}

// upper is how many of the letters are upper case. Each number is as likely as there
// are passwords of that number. That is what drawing from all letters gives, drawn
// anew while all of one case come; but it ends.
func (p *Password) upper(d *dice) int {
	n := int64(p.letters)
	switch {
	case p.noUpper:
		return 0
	case n < 2:
		return d.below(p.letters + 1)
	case p.allowRepeat:
		// n bits, 1 for upper case, neither all 0 nor all 1.
		cases := new(big.Int).Lsh(big.NewInt(1), uint(n))
		cases = d.belowBig(cases.Sub(cases, big.NewInt(2)))
		return ones(cases.Add(cases, big.NewInt(1)))
	}
	// The sets of n letters, those with one upper-case letter first, then those with
	// two. Each has as many orders.
	half := allLetters / 2
	rank := d.belowBig(big.NewInt(binomial(allLetters, n) - 2*binomial(half, n))).Int64()
	upper := int64(1)
	for ; upper < n-1; upper++ {
		if rank -= binomial(half, upper) * binomial(half, n-upper); rank < 0 {
			break
		}
	}
	return int(upper)
}

// binomial overflows for no n up to that of all letters.
func binomial(n, k int64) int64 { return new(big.Int).Binomial(n, k).Int64() }

func ones(x *big.Int) int {
	n := 0
	for _, w := range x.Bits() {
		n += bits.OnesCount(uint(w))
	}
	return n
}

// A passwordCompiler collects the faults of an input.
type passwordCompiler struct {
	at     *field.Path
	in     *v1beta1.PasswordGenerator
	faults field.ErrorList
}

// counts finds how many characters of each class there are, or reports that they do
// not fit into the length.
func (c *passwordCompiler) counts(p *Password) bool {
	length := valueOr(c.in.Length, defaultLength)
	digits, symbols := valueOr(c.in.Digits, length/4), valueOr(c.in.Symbols, length/4)
	n := len(c.faults)
	if length < 1 || length > maxPassword {
		c.fault(c.at.Child("length"), "is %d: must be 1 to %d", length, maxPassword)
		return false
	}
	if digits > length {
		c.fault(c.at.Child("digits"), "%d digits are over the length of %d", digits, length)
	}
	if symbols > length {
		c.fault(c.at.Child("symbols"), "%d symbols are over the length of %d", symbols, length)
	}
	if len(c.faults) > n {
		return false
	}
	p.digits, p.symbols, p.letters = int(digits), int(symbols), int(length)-int(digits)-int(symbols)
	if p.letters < 0 {
		c.fault(c.at.Child("length"), "%s and %s are %d characters, over the length of %d: ask for fewer, or for a greater length",
			c.digits(p), c.symbolsOf(p), digits+symbols, length)
	}
	return p.letters >= 0
}

// symbols finds the characters that are symbols, none where there are faults in them.
// A letter or a digit among them would be of two classes.
func (c *passwordCompiler) symbols(p *Password) {
	at, text := c.at.Child("symbolCharacters"), valueOr(c.in.SymbolCharacters, defaultSymbols)
	if n := utf8.RuneCountInString(text); n > maxAffix {
		c.fault(at, "has %d characters, over the limit of %d", n, maxAffix)
		return
	}
	var set, others, hidden []rune
	for _, r := range text {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			others = append(others, r)
		case !unicode.IsPrint(r) || unicode.IsMark(r) || r == utf8.RuneError:
			hidden = append(hidden, r)
		case !slices.Contains(set, r):
			set = append(set, r)
		}
	}
	if len(others) > 0 {
		c.fault(at, "has letters or digits, the first is %q: leave them out, a password has them beside its symbols", others[0])
	}
	if len(hidden) > 0 {
		c.fault(at, "has characters that do not show by themselves, the first is %U: leave them out", hidden[0])
	}
	if text == "" && p.symbols > 0 {
		c.fault(at, "is empty, and there shall be %s: set symbols to 0", c.symbolsOf(p))
	}
	if len(others)+len(hidden) == 0 {
		p.symbolCharacters = string(set)
	}
}

// repeats finds where there are too few characters to draw none twice.
func (c *passwordCompiler) repeats(p *Password) {
	const need = "%s without repeats need %d different characters, and %s: set allowRepeat, or %s"
	if n := len(allDigits); p.digits > n {
		c.fault(c.at.Child("digits"), need, c.digits(p), p.digits, fmt.Sprintf("there are %d", n), fmt.Sprintf("ask for at most %d digits", n))
	}
	if n := utf8.RuneCountInString(p.symbolCharacters); n > 0 && p.symbols > n && !p.repeatSymbols { // none is a fault already
		has := fmt.Sprintf("symbolCharacters has %d", n)
		if all := utf8.RuneCountInString(valueOr(c.in.SymbolCharacters, defaultSymbols)); all > n {
			has += fmt.Sprintf(" (%d of its %d are there already)", all-n, all)
		}
		c.fault(c.at.Child("symbols"), need, c.symbolsOf(p), p.symbols, has, fmt.Sprintf("ask for at most %d symbols", n))
	}
	n, has := len(lowerCase+upperCase), "there are %d"
	if p.noUpper {
		n, has = len(lowerCase), "there are %d, as noUpper is set"
	}
	if p.letters > n {
		letters := fmt.Sprintf("%d characters less %s and %s leave %d letters, which",
			p.letters+p.digits+p.symbols, c.digits(p), c.symbolsOf(p), p.letters)
		c.fault(c.at.Child("length"), need, letters, p.letters, fmt.Sprintf(has, n), "ask for a smaller length")
	}
}

func (c *passwordCompiler) affix(name string, affix *string) string {
	text := valueOr(affix, "")
	if n := utf8.RuneCountInString(text); n > maxAffix {
		c.fault(c.at.Child(name), "has %d characters, over the limit of %d", n, maxAffix)
	}
	if !utf8.ValidString(text) {
		c.fault(c.at.Child(name), "is not UTF-8")
	}
	return text
}

func (c *passwordCompiler) keys() []string {
	at, keys := c.at.Child("secretKeys"), c.in.SecretKeys
	switch n := len(keys); {
	case keys == nil:
		return []string{defaultKey}
	case n == 0:
		c.fault(at, "must not be empty: name a key, or leave it out for %s", defaultKey)
		return nil
	case n > maxKeys:
		c.fault(at, "has %d keys, over the limit of %d", n, maxKeys)
		return nil
	}
	for i, key := range keys {
		if err := object.ValidateKey(key); err != nil {
			c.fault(at.Index(i), "%s", err)
		} else if first := slices.Index(keys, key); first < i {
			c.fault(at.Index(i), "is the key of secretKeys[%d], too", first)
		}
	}
	return slices.Sorted(slices.Values(keys))
}

func (c *passwordCompiler) digits(p *Password) string {
	return amount(p.digits, "digits", c.in.Digits)
}

func (c *passwordCompiler) symbolsOf(p *Password) string {
	return amount(p.symbols, "symbols", c.in.Symbols)
}

func (c *passwordCompiler) fault(at *field.Path, format string, args ...any) {
	c.faults = append(c.faults, &field.Error{
		Type: field.ErrorTypeInvalid, Field: at.String(), BadValue: field.OmitValueType{}, Detail: fmt.Sprintf(format, args...),
	})
}

// amount says, too, where a number that nobody set comes from.
func amount(n int, what string, set *uint64) string {
	if n == 1 {
		what = strings.TrimSuffix(what, "s")
	}
	if set == nil {
		what += " (by default a quarter of the length)"
	}
	return fmt.Sprintf("%d %s", n, what)
}

func valueOr[T any](p *T, or T) T {
	if p == nil {
		return or
	}
	return *p
}
