package rewrite

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestFunctions(t *testing.T) {
	cases := map[string]struct{ in, template, want string }{
		"Upper":        {"my-app-key", `{{ .value | upper | replace "-" "_" }}`, "MY_APP_KEY"},
		"Lower":        {"KEY", `{{ lower .value }}`, "key"},
		"Trim":         {" k ", `{{ trim .value }}`, "k"},
		"TrimAll":      {"--k-", `{{ trimAll "-" .value }}`, "k"},
		"TrimPrefix":   {"db-k", `{{ .value | trimPrefix "db-" }}`, "k"},
		"TrimSuffix":   {"k.txt", `{{ .value | trimSuffix ".txt" }}`, "k"},
		"Nospace":      {"a b  c", `{{ nospace .value }}`, "abc"},
		"Trunc":        {"größer", `{{ trunc 3 .value }}`, "grö"},
		"TruncEnd":     {"größer", `{{ trunc -3 .value }}`, "ßer"},
		"TruncFar":     {"abc", `{{ trunc -9 .value }}{{ trunc 9 .value }}`, "abcabc"},
		"Substr":       {"abcdef", `{{ substr 1 3 .value }}{{ substr -1 2 .value }}{{ substr 4 -1 .value }}{{ substr 9 2 .value }}`, "bcabef"},
		"Repeat":       {"a", `{{ repeat 3 .value }}{{ repeat -1 .value }}`, "aaa"},
		"Base64":       {"a?>", `{{ b64enc .value }}-{{ b64enc .value | b64dec }}`, "YT8+-a?>"},
		"Sum":          {"abc", `{{ sha256sum .value | trunc 8 }}`, "ba7816bf"},
		"Words":        {"dbURLPath2 max-Size_x", `{{ snakecase .value }} {{ kebabcase .value }} {{ camelcase .value }}`, "db_url_path2_max_size_x db-url-path2-max-size-x DbUrlPath2MaxSizeX"},
		"NoWords":      {"--", `{{ snakecase .value }}x`, "x"},
		"Env":          {"dbPassword", `{{ .value | snakecase | upper }}`, "DB_PASSWORD"},
		"If":           {"db-x", `{{ if hasPrefix "db-" .value }}DB{{ else if hasSuffix "y" .value }}Y{{ else }}N{{ end }}`, "DB"},
		"Contains":     {"a.b", `{{ ternary "file" "env" (contains "." .value) }}`, "file"},
		"Ternary":      {"a.b", `{{ eq .value "x" | ternary "yes" "no" }}`, "no"},
		"Default":      {"db-", `{{ .value | trimPrefix "db-" | default "db" }}`, "db"},
		"Printf":       {"k", `{{ printf "%s-%d%%-%v" .value (len .value) 7 | upper }}`, "K-1%-7"},
		"And":          {"k", `{{ and (gt (len .value) 0) (not (eq .value "x")) }}`, "true"},
		"Match":        {"db1", `{{ if regexMatch "^db[0-9]$" .value }}{{ regexReplaceAll "([0-9])" .value "-${1}-" }}{{ end }}`, "db-1-"},
		"With":         {"k", `{{ with $x := upper .value }}{{ . }}{{ $x }}{{ $.value }}{{ end }}`, "KKk"},
		"Whitespace":   {"k", "a {{- /* a note */ -}} {{ .value }}", "ak"},
		"Base":         {"foo/bar/baz", `{{ base .value }}`, "baz"},
		"BaseOfSlash":  {"prod/db/", `{{ base .value }}`, "db"},
		"BaseOfNone":   {"", `x{{ base .value }}`, "x."},
		"Dir":          {"foo/bar/baz", `{{ .value | dir | replace "/" "_" }}`, "foo_bar"},
		"DirOfNone":    {"a", `x{{ dir .value }}`, "x."},
		"Clean":        {"foo/bar/../baz", `{{ clean .value }}`, "foo/baz"},
		"Ext":          {"foo.bar", `{{ ext .value }}`, ".bar"},
		"ExtOfFolder":  {"a.b/c", `{{ ext .value }}x`, "x"},
		"IsAbs":        {"/foo", `{{ if isAbs .value }}a{{ end }}{{ isAbs "foo" }}`, "afalse"},
		"WithoutExt":   {"etc/tls.crt", `{{ $b := base .value }}{{ trimSuffix (ext $b) $b }}`, "tls"},
		"RepeatNone":   {"", `{{ repeat 0 "a" }}{{ repeat 3 .value }}x`, "x"},
		"RepeatMost":   {"a", `{{ repeat 4096 .value | upper | trunc 1 }}`, "A"},
		"SubstrNone":   {"abc", `{{ substr 0 0 .value }}x`, "x"},
		"ShortWords":   {"aB", `{{ snakecase .value }}`, "a_b"},
		"Capitals":     {"AB", `{{ snakecase .value }}`, "ab"},
		"LastCapital":  {"ABc", `{{ snakecase .value }}`, "a_bc"},
		"NoMatch":      {"k", `{{ regexMatch "x" .value }}`, "false"},
		"Longest":      {"a", `{{ repeat 4096 .value }}`, strings.Repeat("a", 4096)},
		"LongMatch":    {"a", `{{ $x := repeat 1024 .value }}{{ regexMatch "a" $x }}`, "true"},
		"LongReplace":  {"a", `{{ $x := repeat 1024 .value }}{{ regexReplaceAll "b" $x "" | trunc 1 }}`, "a"},
		"LongWords":    {"a", `{{ repeat 1024 .value | snakecase | trunc 1 }}`, "a"},
		"MostReplaced": {"a", `{{ regexReplaceAll "b" (repeat 1023 .value) (repeat 63 "b") | trunc 1 }}`, "a"},
		"ReplaceMost":  {"a", `{{ replace "a" "aa" (repeat 2048 .value) | trunc 1 }}`, "a"},
		"ReplaceGrows": {"", `{{ replace "" "-" "ab" }}x`, "-a-b-x"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, faults := compileTemplate("template", tc.template)
			if faults != nil {
				t.Fatal(faults)
			}
			got, err := c.execute(fresh(), tc.in)
			if got != tc.want || err != nil {
				t.Errorf("%s: want %q, got %q, %v", tc.template, tc.want, got, err)
			}
		})
	}
}

// No function gives or takes more than its share, however often it is called.
func TestFunctionsAreBounded(t *testing.T) {
	cases := map[string]callError{
		`{{ $x := repeat 4096 .value }}{{ b64enc $x }}`:                                            errTooLong,
		`{{ $x := repeat 4096 .value }}{{ printf "%s%s" $x $x }}`:                                  errTooLong,
		`{{ repeat 4097 .value }}`:                                                                 errTooLong,
		`{{ $x := repeat 4096 .value }}{{ replace "a" $x $x }}`:                                    errTooLong,
		`{{ $x := repeat 1025 .value }}{{ regexMatch "a" $x }}`:                                    errCostly,
		`{{ $x := repeat 1025 .value }}{{ regexReplaceAll "a" $x "" }}`:                            errCostly,
		`{{ $x := repeat 1024 .value }}{{ regexReplaceAll "a" $x $x }}`:                            errTooLong,
		`{{ $x := repeat 1025 .value }}{{ snakecase $x }}`:                                         errCostly,
		`{{ $x := repeat 4096 .value }}{{ b64enc $x | trunc 1 }}`:                                  errTooLong,
		`{{ repeat 2049 "ab" | trunc 1 }}`:                                                         errTooLong,
		`{{ repeat 4097 .value | trunc 1 }}`:                                                       errTooLong,
		`{{ $x := repeat 64 "a" }}{{ regexReplaceAll "b" (repeat 1023 .value) $x }}`:               errTooLong,
		`{{ $x := repeat 1024 "a" }}{{ regexReplaceAll "b" (repeat 63 .value) $x }}`:               errTooLong,
		`{{ if eq .value "a" }}{{ printf "%s" }}{{ end }}`:                                         errPrintf,
		`{{ if eq .value "a" }}{{ printf "%d" "text" }}{{ end }}`:                                  errPrintf,
		`{{ $x := "%v" }}{{ if eq .value "a" }}{{ $x = "" }}{{ end }}{{ printf $x "text" }}`:       errPrintf,
		`{{ $x := 1 }}{{ if ne .value "a" }}x{{ else }}{{ printf "%v" (eq .value "b") }}{{ end }}`: errPrintf,
	}
	for template, want := range cases {
		_, err := run(Options{Rules: []Rule{templateRule(template)}}, []Key{key("", "a", "v")})
		if !strings.HasSuffix(message(err), `: cannot rename "a": `+want.reason) {
			t.Errorf("%s: want %q, got %q", template, want.reason, message(err))
		}
	}
}

// Run-time errors of text/template may contain data.
func TestPublicReason(t *testing.T) {
	if got := publicReason(errors.New(canary)); strings.Contains(got, canary) {
		t.Errorf("an error is passed on: %s", got)
	}
	if got := publicReason(fmt.Errorf("%s: %w", canary, errTooLong)); got != errTooLong.reason {
		t.Errorf("want the reason of our own function, got %s", got)
	}
	const costly = "it matches a text over the limit of 1024 bytes or splits it into words"
	if got := errCostly.Error(); got != costly {
		t.Errorf("want %q, got %q", costly, got)
	}
}
