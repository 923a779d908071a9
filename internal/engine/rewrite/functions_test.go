package rewrite

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestFunctions(t *testing.T) {
	cases := map[string]struct{ in, template, want string }{
		"Upper":      {"my-app-key", `{{ .value | upper | replace "-" "_" }}`, "MY_APP_KEY"},
		"Trim":       {" k ", `{{ trim .value }}`, "k"},
		"TrimPrefix": {"db-k", `{{ .value | trimPrefix "db-" }}`, "k"},
		"Nospace":    {"a b  c", `{{ nospace .value }}`, "abc"},
		"Trunc":      {"größer", `{{ trunc 3 .value }}`, "grö"},
		"TruncEnd":   {"größer", `{{ trunc -3 .value }}`, "ßer"},
		"TruncFar":   {"abc", `{{ trunc -9 .value }}{{ trunc 9 .value }}`, "abcabc"},
		"Substr":     {"abcdef", `{{ substr 1 3 .value }}{{ substr -1 2 .value }}{{ substr 4 -1 .value }}`, "bcabef"},
		"Repeat":     {"a", `{{ repeat 3 .value }}{{ repeat -1 .value }}`, "aaa"},
		"Base64":     {"a?>", `{{ b64enc .value }}-{{ b64enc .value | b64dec }}`, "YT8+-a?>"},
		"Sum":        {"abc", `{{ sha256sum .value | trunc 8 }}`, "ba7816bf"},
		"Words": {
			"dbURLPath2 max-Size_x", `{{ snakecase .value }} {{ kebabcase .value }} {{ camelcase .value }}`,
			"db_url_path2_max_size_x db-url-path2-max-size-x DbUrlPath2MaxSizeX",
		},
		"Env":      {"dbPassword", `{{ .value | snakecase | upper }}`, "DB_PASSWORD"},
		"If":       {"db-x", `{{ if hasPrefix "db-" .value }}DB{{ else if hasSuffix "y" .value }}Y{{ end }}`, "DB"},
		"Contains": {"a.b", `{{ ternary "file" "env" (contains "." .value) }}`, "file"},
		"Printf":   {"k", `{{ printf "%s-%d%%-%v" .value (len .value) 7 | upper }}`, "K-1%-7"},
		"PrintfOf": {"a%!b", `{{ printf "%s.x" .value }}`, "a%!b.x"},
		"And":      {"k", `{{ and (gt (len .value) 0) (not (eq .value "x")) }}`, "true"},
		"Match": {"db1", `{{ if regexMatch "^d" .value }}{{ regexReplaceAll "([0-9])" .value "-${1}-" }}{{ ` +
			`end }}`, "db-1-"},
		"With":         {"k", `{{ with $x := upper .value }}{{ . }}{{ $x }}{{ $.value }}{{ end }}`, "KKk"},
		"Base":         {"foo/bar/baz", `{{ base .value }}`, "baz"},
		"Dir":          {"foo/bar/baz", `{{ .value | dir | replace "/" "_" }}`, "foo_bar"},
		"Clean":        {"foo/bar/../baz", `{{ clean .value }}`, "foo/baz"},
		"Ext":          {"foo.bar", `{{ ext .value }}`, ".bar"},
		"IsAbs":        {"/foo", `{{ if isAbs .value }}a{{ end }}{{ isAbs "foo" }}`, "afalse"},
		"LastCapital":  {"ABc", `{{ snakecase .value }}`, "a_bc"},
		"Longest":      {"a", `{{ repeat 4096 .value }}`, strings.Repeat("a", 4096)},
		"ReplaceMost":  {"a", `{{ replace "a" "aa" (repeat 2048 .value) | trunc 1 }}`, "a"},
		"ReplaceGrows": {"", `{{ replace "" "-" "ab" }}x`, "-a-b-x"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rename, wrong := compileTemplate("here", tc.template)
			if wrong != nil {
				t.Fatal(wrong)
			}
			got, err := rename(fresh(), tc.in)
			if got != tc.want || err != nil {
				t.Errorf("%s: want %q, got %q, %v", tc.template, tc.want, got, err)
			}
		})
	}
}

// Each function has a limit, however often it is called.
func TestFunctionsAreBounded(t *testing.T) {
	const fails = "the template fails for this key"
	for template, want := range map[string]string{
		`{{ $x := repeat 4096 .value }}{{ b64enc $x | trunc 1 }}`:      errTooLong.reason,
		`{{ $x := repeat 4096 .value }}{{ printf "%s%s" $x $x }}`:      errTooLong.reason,
		`{{ repeat 4097 .value | trunc 1 }}`:                           errTooLong.reason,
		`{{ $x := repeat 4096 .value }}{{ replace "a" $x $x }}`:        errTooLong.reason,
		`{{ $x := repeat 100 .value }}{{ regexReplaceAll "a" $x $x }}`: errTooLong.reason,
		`{{ b64dec .value }}`: "the argument of b64dec is " +
			"not base64",
		`{{ if eq .value "a" }}{{ printf "%s" }}{{ end }}`:                            errPrintf.reason,
		`{{ if eq .value "a" }}{{ lt 1 "x" }}{{ end }}`:                               fails,
		`{{ if eq .value "a" }}{{ regexMatch "a" .value | regexMatch "(" }}{{ end }}`: fails,
	} {
		_, err := run(Options{Rewrite: []Rule{templateRule(template)}}, []Key{key("", "a", "v")})
		if !strings.HasSuffix(message(err), `: cannot rename "a": `+want) {
			t.Errorf("%s: want %q, got %q", template, want, message(err))
		}
	}
}

// Run-time errors of text/template may contain data.
func TestPublicReason(t *testing.T) {
	if got := publicReason(errors.New(canary)).Error(); strings.Contains(got, canary) {
		t.Errorf("an error is passed on: %s", got)
	}
	if got := publicReason(fmt.Errorf("%s: %w", canary, errTooLong)).Error(); got != errTooLong.reason {
		t.Errorf("want the reason of our own function, got %s", got)
	}
}
