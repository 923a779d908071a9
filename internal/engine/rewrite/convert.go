package rewrite

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

// charactersWeigh is the cost of inspecting a character, in copied bytes, and numbersWeigh that of replacing one by its
// number.
const (
	charactersWeigh = 4
	numbersWeigh    = 20
)

// conversion returns External Secrets' conversionStrategy. Names are also converted after
// rules, as in the design of External Secrets, but not in its code. External Secrets does not convert
// letters outside of ASCII, and the API server refuses them. Here Unicode converts them. Default
// refuses them, because a name with '_' for each of them would be unreadable.
func conversion(path, strategy string) step {
	if strategy == "None" {
		return step{path: path, run: keep}
	}
	convert := rename(path, func(b *budget.Budget, name string) (string, error) {
		if err := b.Spend(budget.Counted(0, numbersWeigh*len(name))); err != nil {
			return "", err
		}
		name, ok := convertName(name, strategy == "Unicode")
		if !ok {
			return "", callError{reason: "it has a letter or a digit outside of ASCII; use Unicode, or a rule"}
		}
		return name, nil
	})
	return step{path: path, run: convert, ifShared: "rename one of them, or use Unicode"}
}

func keep(_ *budget.Budget, keys []Key) ([]Key, *Failed) { return keys, nil }

// convertName replaces each character that is invalid in a key by '_', or by '_U', its hexadecimal
// number and '_'. It fails on a letter that it does not replace.
func convertName(name string, byNumber bool) (string, bool) {
	var b strings.Builder
	for _, r := range name {
		ascii := r <= unicode.MaxASCII
		switch word := unicode.IsLetter(r) || unicode.IsNumber(r); {
		case ascii && (word || strings.ContainsRune("-._", r)):
			b.WriteRune(r)
		case byNumber:
			fmt.Fprintf(&b, "_U%04x_", r)
		case word:
			return "", false
		default:
			b.WriteByte('_')
		}
	}
	return b.String(), true
}

// encodings to try, in this order.
var encodings = map[string][]*base64.Encoding{
	"Base64":    {base64.StdEncoding},
	"Base64URL": {base64.URLEncoding},
	"Auto":      {base64.StdEncoding, base64.URLEncoding},
}

// decoding returns External Secrets' decodingStrategy. As in External Secrets, line breaks
// inside of base64 are skipped, and padding is required.
func decoding(path, strategy string) step {
	if len(encodings[strategy]) == 0 {
		return step{path: path, run: keep}
	}
	return step{path: path, run: func(b *budget.Budget, keys []Key) ([]Key, *Failed) {
		for i, k := range keys {
			if b.Spend(budget.Counted(1, len(encodings[strategy])*k.Value.Len())) != nil {
				return nil, spent(path)
			}
			value, ok := decode(k.Value, strategy)
			if !ok { // the error of the decoder is not shown: its offset says how much of the value is base64
				return nil, failed(path, "the value of %s is not %s with padding: "+
					"use None or Auto, or export the key separately", k, strategy)
			}
			keys[i].Value = value
		}
		return keys, nil
	}}
}

// decode decodes a value. Auto keeps a value that it cannot decode. It also decodes a value that only
// looks like base64, for example 1234.
func decode(v sensitive.Bytes, strategy string) (sensitive.Bytes, bool) {
	for _, e := range encodings[strategy] {
		out := make([]byte, e.DecodedLen(v.Len()))
		if n, err := e.Decode(out, v.Reveal()); err == nil {
			return sensitive.New(out[:n]), true
		}
	}
	return v, strategy == "Auto"
}
