package vocabulary

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// literal is a value as an expression spells it.
func literal(v ref.Val) string {
	switch t := v.(type) {
	case types.String:
		return quoted(string(t))
	case types.Bytes:
		return "b" + quoted(string(t))
	case types.Uint:
		return fmt.Sprintf("%du", uint64(t))
	case types.Double:
		text := strconv.FormatFloat(float64(t), 'g', -1, 64)
		if !strings.ContainsAny(text, ".eIN") {
			text += ".0"
		}
		return text
	case types.Duration:
		return fmt.Sprintf("duration('%gs')", t.Seconds())
	case types.Timestamp:
		return "timestamp('" + t.UTC().Format(time.RFC3339) + "')"
	case *types.Optional:
		if !t.HasValue() {
			return "optional.none()"
		}
		return "optional.of(" + literal(t.GetValue()) + ")"
	case traits.Mapper:
		return "{" + strings.Join(entries(t), ", ") + "}"
	case traits.Lister:
		var items []string
		for it := t.Iterator(); it.HasNext() == types.True; {
			items = append(items, literal(it.Next()))
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return fmt.Sprint(v.Value())
}

func entries(m traits.Mapper) []string {
	var out []string
	for it := m.Iterator(); it.HasNext() == types.True; {
		k := it.Next()
		out = append(out, literal(k)+": "+literal(m.Get(k)))
	}
	slices.Sort(out)
	return out
}

// quoted is a text in single quotes.
func quoted(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`).Replace(text) + "'"
}
