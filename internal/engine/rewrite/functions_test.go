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
		"Words":        {"dbURLPath2 max-Size_x", `{{ snakecase .value }} {{ kebabcase .value }} {{ camelcase .value }}`, "db_url_path2_max_size_x db-url-path2-max-size-x DbUrlPath2MaxSizeX"},
		"NoWords":      {"--", `{{ snakecase .value }}x`, "x"},
		"Env":          {"dbPassword", `{{ .value | snakecase | upper }}`, "DB_PASSWORD"},
		"If":           {"db-x", `{{ if hasPrefix "db-" .value }}DB{{ else if hasSuffix "y" .value }}Y{{ else }}N{{ end }}`, "DB"},
		"Default":      {"db-", `{{ .value | trimPrefix "db-" | default "db" }}`, "db"},
		"And":          {"k", `{{ and (gt (len .value) 0) (not (eq .value "x")) }}`, "true"},
		"Match":        {"db1", `{{ if regexMatch "^db[0-9]$" .value }}{{ regexReplaceAll "([0-9])" .value "-${1}-" }}{{ end }}`, "db-1-"},
		"With":         {"k", `{{ with $x := upper .value }}{{ . }}{{ $x }}{{ $.value }}{{ end }}`, "KKk"},
		"Whitespace":   {"k", "a {{- /* a note */ -}} {{ .value }}", "ak"},
		"Base":         {"foo/bar/baz", `{{ base .value }}`, "baz"},
		"BaseOfSlash":  {"prod/db/", `{{ base .value }}`, "db"},
		"BaseOfNone":   {"", `x{{ base .value }}`, "x."},
		"Dir":          {"foo/bar/baz", `{{ .value | dir | replace "/" "_" }}`, "foo_bar"},
		"DirOfNone":    {"a", `x{{ dir .value }}`, "x."},
		"Ext":          {"foo.bar", `{{ ext .value }}`, ".bar"},
		"ExtOfFolder":  {"a.b/c", `{{ ext .value }}x`, "x"},
		"WithoutExt":   {"etc/tls.crt", `{{ $b := base .value }}{{ trimSuffix (ext $b) $b }}`, "tls"},
		"ShortWords":   {"aB", `{{ snakecase .value }}`, "a_b"},
		"Capitals":     {"AB", `{{ snakecase .value }}`, "ab"},
		"LastCapital":  {"ABc", `{{ snakecase .value }}`, "a_bc"},
		"NoMatch":      {"k", `{{ regexMatch "x" .value }}`, "false"},
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

// No function reads or returns more than its limit.
func TestFunctionsAreBounded(t *testing.T) {
	cases := map[string]struct {
		length int // of the name
		want   error
	}{
		`{{ .value }}`:                                          {4096, nil},
		`{{ .value }}x`:                                         {4096, errTooLong},
		`{{ replace "a" "aa" .value }}`:                         {2049, errTooLong},
		`{{ regexMatch "a" .value }}`:                           {1025, errCostly},
		`{{ regexReplaceAll "a" .value "" }}x`:                  {1025, errCostly},
		`{{ regexReplaceAll "a" .value .value }}`:               {1024, errTooLong},
		`{{ snakecase .value }}`:                                {1025, errCostly},
		`{{ $x := replace "a" "aaaa" .value }}{{ $x }}`:         {1024, nil},
		`{{ $x := replace "a" "aaaa" .value }}{{ $x }}{{ $x }}`: {1024, errTooLong},
	}
	for template, tc := range cases {
		_, err := run(Options{Rules: []Rule{templateRule(template)}}, []Key{key("", strings.Repeat("a", tc.length), "v")})
		if got := message(err); tc.want == nil && got != "" || tc.want != nil && !strings.HasSuffix(got, ": "+tc.want.Error()) {
			t.Errorf("%s: want %v, got %q", template, tc.want, got)
		}
	}
}

// Run-time errors of text/template may contain data.
func TestPublicReason(t *testing.T) {
	if got := publicReason(errors.New(canary)); strings.Contains(got, canary) {
		t.Errorf("an error is passed on: %s", got)
	}
	if got := publicReason(fmt.Errorf("%s: %w", canary, errTooLong)); got != errTooLong.Error() {
		t.Errorf("want the reason of our own function, got %s", got)
	}
	const costly = "it matches a text over the limit of 1024 bytes or splits it into words"
	if got := errCostly.Error(); got != costly {
		t.Errorf("want %q, got %q", costly, got)
	}
}
