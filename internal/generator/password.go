package generator

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/big"
	"math/bits"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/sensitive"
)

// Limits of the schema, which is not applied to an input in a Composition.
const (
	maxPassword = 1024 // characters
	maxAffix    = 256  // characters of the prefix, of the suffix, and of symbolCharacters
	maxKeys     = 16
)

// External Secrets' defaults. The numbers of digits and of symbols are each a quarter of the length.
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

// A Password generates passwords: all passwords that its input allows are equally likely. It is immutable, and safe for
// concurrent use.
//
// A password has exactly the requested numbers of digits and symbols. The rest are letters. If there are two or more
// letters, and they may be upper case, at least one is upper and at least one is lower case. Prefix and suffix are put
// around it, may repeat its characters, and are encoded with it.
type Password struct {
	keys                     []string // sorted
	letters, digits, symbols int
	symbolCharacters         string // without duplicates
	noUpper, allowRepeat     bool
	repeatSymbols            bool
	prefix, suffix           string
	encode                   func([]byte) string
}

// CompilePassword compiles a section of the input at a path, or returns all diagnostics. Make always finds characters
// for a password that compiles.
func CompilePassword(at *field.Path, in *v1beta1.PasswordGenerator) (*Password, field.ErrorList) {
	p := &Password{noUpper: in.NoUpper, allowRepeat: ptr.Deref(in.AllowRepeat, false), encode: encodings[in.Encoding]}
	c := &passwordCompiler{at: at, in: in, out: p}
	p.prefix, p.suffix, p.keys = c.affix("prefix", in.Prefix), c.affix("suffix", in.Suffix), c.keys()
	if p.encode == nil {
		c.refuse(at.Child("encoding"), "must be raw, base64, base64url, base32 or hex")
	}
	c.counts()
	c.symbols()
	// A user who writes two symbolCharacters and asks for four symbols means that they repeat.
	p.repeatSymbols = p.allowRepeat ||
		in.AllowRepeat == nil && in.SymbolCharacters != nil && p.symbols > utf8.RuneCountInString(p.symbolCharacters)
	if !p.allowRepeat {
		c.repeats()
	}
	if len(c.errs) > 0 {
		return nil, c.errs
	}
	return p, nil
}

// Keys are the outputs, sorted.
func (p *Password) Keys() []string { return slices.Clone(p.keys) }

// Make generates an independent password for each key. It ends whatever bytes Random returns. It fails only if Random
// fails or is not random.
func (p *Password) Make(from From) (Outputs, error) {
	d := &dice{random: from.Random}
	out := make(Outputs, len(p.keys))
	for _, key := range p.keys {
		out[key] = sensitive.FromString(p.encode([]byte(p.prefix + string(p.characters(d)) + p.suffix)))
	}
	if d.err != nil {
		return nil, fmt.Errorf("cannot generate a password: %w", d.err)
	}
	return out, nil
}

// characters returns the characters of one password. For given numbers of characters in each class, all choices of
// characters and all orders are equally likely.
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

// upper returns the number of upper-case letters. The probability of each number is proportional to the number of
// passwords that have it. Drawing all letters again until both cases occur would have the same result, but might never
// end.
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
	// All sets of n letters, first those with one upper-case letter, then those with two. Each has as many orders.
	half := allLetters / 2
	set := d.belowBig(big.NewInt(binomial(allLetters, n) - 2*binomial(half, n))).Int64()
	upper := int64(0)
	for set >= 0 {
		upper++
		set -= binomial(half, upper) * binomial(half, n-upper)
	}
	return int(upper)
}

// binomial does not overflow for any n up to the number of all letters.
func binomial(n, k int64) int64 { return new(big.Int).Binomial(n, k).Int64() }

func ones(x *big.Int) int {
	n := 0
	for _, w := range x.Bits() {
		n += bits.OnesCount(uint(w))
	}
	return n
}

// A passwordCompiler fills in a password.
type passwordCompiler struct {
	refusals

	at  *field.Path
	in  *v1beta1.PasswordGenerator
	out *Password
}

// counts computes the number of characters in each class. Without a valid length, they stay zero. If they do not fit into
// the length, only the number of symbols is set, whose characters are checked in any case.
func (c *passwordCompiler) counts() {
	length := ptr.Deref(c.in.Length, defaultLength)
	digits, symbols := ptr.Deref(c.in.Digits, length/4), ptr.Deref(c.in.Symbols, length/4)
	if length < 1 || length > maxPassword {
		c.refuse(c.at.Child("length"), "is %d: must be 1 to %d", length, maxPassword)
		return
	}
	if digits > length {
		c.refuse(c.at.Child("digits"), "%d digits are over the length of %d", digits, length)
	}
	if symbols > length {
		c.refuse(c.at.Child("symbols"), "%d symbols are over the length of %d", symbols, length)
	}
	switch {
	case digits > length || symbols > length:
	case digits+symbols > length:
		c.refuse(c.at.Child("length"), "%s and %s are %d characters, over the length of %d: "+
			"use fewer of them, or a greater length", amount(digits, "digits", c.in.Digits),
			amount(symbols, "symbols", c.in.Symbols), digits+symbols, length)
		c.out.symbols = int(symbols) //nolint:gosec // at most the longest length
	default:
		//nolint:gosec // at most the longest length
		c.out.digits, c.out.symbols, c.out.letters = int(digits), int(symbols), int(length-digits-symbols)
	}
}

// symbols returns the characters that are symbols, or nothing if they have a diagnostic. A letter or a digit among them
// would belong to two classes.
func (c *passwordCompiler) symbols() {
	at, text := c.at.Child("symbolCharacters"), ptr.Deref(c.in.SymbolCharacters, defaultSymbols)
	if n := utf8.RuneCountInString(text); n > maxAffix {
		c.refuse(at, "has %d characters, over the limit of %d", n, maxAffix)
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
		c.refuse(at, "has letters or digits, the first is %q: leave them out, "+
			"because a password has them in addition to its symbols", others[0])
	}
	if len(hidden) > 0 {
		c.refuse(at, "has invisible, combining or invalid characters, the first is %U: leave them out", hidden[0])
	}
	if text == "" && c.out.symbols > 0 {
		c.refuse(at, "is empty, but the password must have %s: set symbols to 0", c.symbolsText())
	}
	if len(others)+len(hidden) == 0 {
		c.out.symbolCharacters = string(set)
	}
}

// repeats finds classes with too few characters to draw each at most once.
func (c *passwordCompiler) repeats() {
	p := c.out
	refuse := func(name, what string, n int, has, advice string) {
		c.refuse(c.at.Child(name), "%s without repeats need %d different characters, and %s: set allowRepeat, or %s",
			what, n, has, advice)
	}
	if n := len(allDigits); p.digits > n {
		has, advice := fmt.Sprintf("there are %d", n), fmt.Sprintf("ask for at most %d digits", n)
		refuse("digits", c.digitsText(), p.digits, has, advice)
	}
	// An empty set of symbols is already refused.
	if n := utf8.RuneCountInString(p.symbolCharacters); n > 0 && p.symbols > n && !p.repeatSymbols {
		has := fmt.Sprintf("symbolCharacters has %d", n)
		if all := utf8.RuneCountInString(ptr.Deref(c.in.SymbolCharacters, defaultSymbols)); all > n {
			has += fmt.Sprintf(" (%d of its %d are duplicates)", all-n, all)
		}
		refuse("symbols", c.symbolsText(), p.symbols, has, fmt.Sprintf("ask for at most %d symbols", n))
	}
	n, why := len(lowerCase+upperCase), ""
	if p.noUpper {
		n, why = len(lowerCase), ", as noUpper is set"
	}
	if p.letters > n {
		what := fmt.Sprintf("%d characters less %s and %s leave %d letters, which",
			p.letters+p.digits+p.symbols, c.digitsText(), c.symbolsText(), p.letters)
		refuse("length", what, p.letters, fmt.Sprintf("there are %d%s", n, why), "ask for a smaller length")
	}
}

func (c *passwordCompiler) affix(name string, affix *string) string {
	text := ptr.Deref(affix, "")
	if n := utf8.RuneCountInString(text); n > maxAffix {
		c.refuse(c.at.Child(name), "has %d characters, over the limit of %d", n, maxAffix)
	}
	if !utf8.ValidString(text) {
		c.refuse(c.at.Child(name), "is not UTF-8")
	}
	return text
}

func (c *passwordCompiler) keys() []string {
	at, keys := c.at.Child("secretKeys"), c.in.SecretKeys
	switch n := len(keys); {
	case keys == nil:
		return []string{defaultKey}
	case n == 0:
		c.refuse(at, "must not be empty: name a key, or leave it out for %s", defaultKey)
		return nil
	case n > maxKeys:
		c.refuse(at, "has %d keys, over the limit of %d", n, maxKeys)
		return nil
	}
	for i, key := range keys {
		if err := object.ValidateKey(key); err != nil {
			c.refuse(at.Index(i), "%s", err)
		} else if key == SaltKey {
			c.refuse(at.Index(i), "is the key of the salts of hashes: use another key")
		} else if first := slices.Index(keys, key); first < i {
			c.refuse(at.Index(i), "is also the key of secretKeys[%d]", first)
		}
	}
	return slices.Sorted(slices.Values(keys))
}

func (c *passwordCompiler) digitsText() string { return amount(c.out.digits, "digits", c.in.Digits) }

func (c *passwordCompiler) symbolsText() string {
	return amount(c.out.symbols, "symbols", c.in.Symbols)
}

// amount also explains a number that the user did not set.
func amount[N int | uint64](n N, what string, set *uint64) string {
	if n == 1 {
		what = strings.TrimSuffix(what, "s")
	}
	if set == nil {
		what += " (by default a quarter of the length)"
	}
	return fmt.Sprintf("%d %s", n, what)
}
