package format

import (
	"bytes"
	"errors"
	"math"

	"github.com/BurntSushi/toml"
)

// TOML writes maps, lists and scalars as a TOML document of at most size bytes. The keys are sorted, ints are exact,
// and null is an error, because TOML has none.
func TOML(m map[string]any, size int) (string, error) {
	checked, err := checkTOML(m)
	if err != nil {
		return "", err
	}
	w := limited{left: size}
	enc := toml.NewEncoder(&w)
	enc.Indent = ""
	if err := enc.Encode(checked); err != nil {
		return "", errors.New("the result is too large, or a value cannot be represented")
	}
	return w.String(), nil
}

// checkTOML returns a value with texts instead of bytes.
func checkTOML(v any) (any, error) {
	var err error
	switch t := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(t))
		for key, e := range t {
			if _, err = utf8Text(key); err != nil {
				return nil, err
			}
			if out[key], err = checkTOML(e); err != nil {
				return nil, err
			}
		}
		return out, nil
	case []any:
		out := make([]any, len(t))
		for i, e := range t {
			if out[i], err = checkTOML(e); err != nil {
				return nil, err
			}
		}
		return out, nil
	case uint64:
		if t > math.MaxInt64 {
			return nil, errors.New("a whole number is over 2^63: use a string instead")
		}
		return v, nil
	case bool, int64, float64:
		return v, nil
	}
	return text(v)
}

// A limited buffer returns an error when it has no space left.
type limited struct {
	bytes.Buffer
	left int
}

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, errors.New("no space left")
	}
	return l.Buffer.Write(p)
}
