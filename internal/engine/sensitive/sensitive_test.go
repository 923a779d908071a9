package sensitive

import (
	"bytes"
	"encoding"
	"encoding/base64"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	htmltemplate "html/template"
	"io"
	"log"
	"log/slog"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

const canary = "c4n4ry-hunter2"

// traces are the forms in which a canary could be found in an output: as text,
// in hexadecimal, base64, and as the numbers that %d and %v print for bytes.
func traces(value string) []string {
	numbers := strings.Trim(fmt.Sprint([]byte(value)), "[]")
	return []string{
		value,
		hex.EncodeToString([]byte(value)),
		strings.ToUpper(hex.EncodeToString([]byte(value))),
		base64.RawStdEncoding.EncodeToString([]byte(value))[:8],
		numbers,
		strings.ReplaceAll(numbers, " ", ","),
		strings.Trim(strings.ReplaceAll(fmt.Sprintf("%#v", []byte(value)), "[]byte", ""), "{}"),
		strings.Trim(fmt.Sprintf("%U", []byte(value)), "[]"),
		strings.Trim(fmt.Sprintf("%o", []byte(value)), "[]"),
		strings.Trim(fmt.Sprintf("%b", []byte(value)), "[]"),
		strings.Trim(fmt.Sprintf("%q", []rune(value)), "[]"),
		fmt.Sprintf("% x", value),
	}
}

func assertNoTrace(t *testing.T, what, output string) {
	t.Helper()
	for _, trace := range traces(canary) {
		if strings.Contains(output, trace) {
			t.Errorf("%s shows the value as %q: %s", what, trace, output)
		}
	}
}

// exported and hidden hold a value where encoders and reflection find it.
type exported struct {
	Password Bytes            `json:"password"          xml:"password"`
	Pointer  *Bytes           `json:"pointer"           xml:"pointer"`
	Map      map[string]Bytes `json:"map"               xml:"-"`
	Slice    []Bytes          `json:"slice"             xml:"slice"`
	Any      any              `json:"any"               xml:"any"`
	Attr     Bytes            `json:"-"                 xml:"attr,attr"`
}

type hidden struct {
	password Bytes
	pointer  *Bytes
	all      map[string]Bytes
	slice    []Bytes
	iface    any
	nested   struct{ Inner Bytes }
}

type embedding struct{ Bytes }

type aliased Bytes // loses every method of Bytes

func holders() map[string]any {
	b := FromString(canary)
	h := hidden{password: b, pointer: &b, all: map[string]Bytes{"k": b}, slice: []Bytes{b}, iface: b}
	h.nested.Inner = b
	e := exported{Password: b, Pointer: &b, Map: map[string]Bytes{"k": b}, Slice: []Bytes{b}, Any: b, Attr: b}
	pp := &b
	return map[string]any{
		"value":            b,
		"from bytes":       New([]byte(canary)),
		"pointer":          &b,
		"pointer pointer":  &pp,
		"slice":            []Bytes{b},
		"array":            [1]Bytes{b},
		"map":              map[string]Bytes{"k": b},
		"map of any":       map[string]any{"k": []any{b, &b}},
		"exported fields":  e,
		"pointer exported": &e,
		"hidden fields":    h,
		"pointer hidden":   &h,
		"anonymous struct": struct{ B Bytes }{b},
		"embedded":         embedding{b},
		"aliased":          aliased(b),
		"any":              any(b),
		"method value":     b.Reveal,
	}
}

func TestFmtShowsNoValue(t *testing.T) {
	flags := []string{"", "+", "#", "-", " ", "0", "+#", "# ", "20", "-20", ".3", "20.3", "[1]"}
	for name, holder := range holders() {
		for verb := rune('!'); verb <= '~'; verb++ {
			if verb == '%' {
				continue
			}
			for _, flag := range flags {
				format := "%" + flag + string(verb)
				assertNoTrace(t, name+" "+format, fmt.Sprintf(format, holder))
			}
		}
		assertNoTrace(t, name+" Sprint", fmt.Sprint(holder)+fmt.Sprintln(holder))
		assertNoTrace(t, name+" in an error", fmt.Errorf("cannot use %v: %w", holder, io.EOF).Error())
	}
}

func TestEncodersShowNoValue(t *testing.T) {
	encoders := map[string]func(any) ([]byte, error){
		"json":        json.Marshal,
		"json indent": func(v any) ([]byte, error) { return json.MarshalIndent(v, "", " ") },
		"yaml":        yaml.Marshal,
		"xml":         xml.Marshal,
		"gob": func(v any) ([]byte, error) {
			var out bytes.Buffer
			err := gob.NewEncoder(&out).Encode(v)
			return out.Bytes(), err
		},
		"text template": func(v any) ([]byte, error) {
			var out bytes.Buffer
			tmpl := template.Must(
				template.New("").Parse(`{{.}} {{printf "%v %x %#v" . . .}} {{print .}} {{html .}} {{js .}}`),
			)
			err := tmpl.Execute(&out, v)
			return out.Bytes(), err
		},
		"html template": func(v any) ([]byte, error) {
			var out bytes.Buffer
			tmpl := htmltemplate.Must(
				htmltemplate.New("").Parse(`<a href="{{.}}">{{.}}</a><script>var x = {{.}}</script>`),
			)
			err := tmpl.Execute(&out, v)
			return out.Bytes(), err
		},
		"log": func(v any) ([]byte, error) {
			var out bytes.Buffer
			log.New(&out, "", 0).Print(v)
			return out.Bytes(), nil
		},
	}
	for encoder, encode := range encoders {
		for name, holder := range holders() {
			out, err := encode(holder)
			assertNoTrace(t, encoder+" of "+name, string(out)+fmt.Sprint(err))
		}
	}
}

// Each way out by itself: fmt, for one, never gets as far as String.
func TestMethodsReturnRedacted(t *testing.T) {
	b := FromString(canary)
	viaYAML, errYAML := b.MarshalYAML()
	viaText, errText := b.MarshalText()
	viaJSON, errJSON := b.MarshalJSON()
	if err := errors.Join(errYAML, errText, errJSON); err != nil {
		t.Fatal(err)
	}
	want := []any{Redacted, Redacted, Redacted, Redacted, Redacted, `"` + Redacted + `"`}
	got := []any{b.String(), b.GoString(), b.LogValue().String(), viaYAML, string(viaText), string(viaJSON)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestNothingIsDecoded(t *testing.T) {
	var b Bytes
	if err := json.Unmarshal([]byte(`"[redacted]"`), &b); err == nil { //nolint:staticcheck // it must fail
		t.Error("json.Unmarshal: want an error, or a redacted text becomes a value")
	}
	if _, ok := any(&b).(encoding.TextUnmarshaler); ok {
		t.Error("a redacted text must not become a value")
	}
}

func TestSlogShowsNoValue(t *testing.T) {
	var out bytes.Buffer
	options := &slog.HandlerOptions{AddSource: true}
	handlers := map[string]slog.Handler{
		"json": slog.NewJSONHandler(&out, options),
		"text": slog.NewTextHandler(&out, options),
	}
	for kind, handler := range handlers {
		for name, holder := range holders() {
			out.Reset()
			slog.New(handler).With("with", holder).Info("message",
				"value", holder, slog.Group("group", "value", holder), "error", fmt.Errorf("cannot: %v", holder))
			assertNoTrace(t, kind+" of "+name, out.String())
		}
		out.Reset()
		slog.New(handler).Info("message", "password", FromString(canary))
		if !strings.Contains(out.String(), Redacted) {
			t.Errorf("%s: want %s, got %s", kind, Redacted, out.String())
		}
	}
}

func TestCmpShowsNoValue(t *testing.T) {
	want, got := map[string]Bytes{"k": FromString(canary)}, map[string]Bytes{"k": FromString("other")}
	diff := cmp.Diff(want, got)
	if diff == "" {
		t.Error("cmp.Diff must see that two values differ")
	}
	assertNoTrace(t, "cmp.Diff", diff)
	if diff := cmp.Diff(want, map[string]Bytes{"k": New([]byte(canary))}); diff != "" {
		t.Errorf("cmp.Diff of equal values: %s", diff)
	}
}

func TestEqual(t *testing.T) {
	cases := map[string]struct {
		reason string
		a, b   Bytes
		want   bool
	}{
		"Same": {
			reason: "values count, not identities", a: FromString(canary), b: New([]byte(canary)), want: true,
		},
		"Different":  {reason: "one byte is enough", a: FromString("secret-a"), b: FromString("secret-b")},
		"Prefix":     {reason: "a prefix is another value", a: FromString("secret"), b: FromString("secret-b")},
		"EmptyBytes": {reason: "nil and empty are one value", a: New([]byte{}), b: FromString(""), want: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.a.Equal(tc.b); got != tc.want {
				t.Errorf("%s: want %t, got %t", tc.reason, tc.want, got)
			}
			if got := tc.b.Equal(tc.a); got != tc.want {
				t.Errorf("%s, the other way round: want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}

func TestNewKeepsItsOwnCopy(t *testing.T) {
	in := []byte(canary)
	b := New(in)
	in[0] = 'X'
	if diff := cmp.Diff(canary, string(b.Reveal())); diff != "" {
		t.Errorf("a value must not change after New: -want, +got:\n%s", diff)
	}
}

func FuzzRevealReturnsWhatCameIn(f *testing.F) {
	for _, seed := range []string{"", canary, "\x00", "\xff\xfe", Redacted, "line\nbreak"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		a, b := New(in), FromString(string(in))
		if !bytes.Equal(in, a.Reveal()) || !bytes.Equal(in, b.Reveal()) {
			t.Errorf("%q went in, %q and %q came out", in, a.Reveal(), b.Reveal())
		}
		if !a.Equal(b) || a.Len() != len(in) {
			t.Errorf("equality or length is wrong for %q", in)
		}
	})
}
