package rewrite

import (
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
		"Words":        {"dbURLPath2 max-Size_x", `{{ snakecase .value }} {{ kebabcase .value }} {{ camelcase .value }}`, "db_url_path2_max_size_x db-url-path2-max-size-x DbUrlPath2MaxSizeX"},
		"NoWords":      {"--", `{{ snakecase .value }}x`, "x"},
		"Env":          {"dbPassword", `{{ .value | snakecase | upper }}`, "DB_PASSWORD"},
		"If":           {"db-x", `{{ if hasPrefix "db-" .value }}DB{{ else if hasSuffix "y" .value }}Y{{ else }}N{{ end }}`, "DB"},
		"Contains":     {"a.b", `{{ contains "." .value }}`, "true"},
		"Default":      {"db-", `{{ .value | trimPrefix "db-" | default "db" }}`, "db"},
		"And":          {"k", `{{ and (gt (len .value) 0) (not (eq .value "x")) }}`, "true"},
		"With":         {"k", `{{ with $x := upper .value }}{{ . }}{{ $x }}{{ $.value }}{{ end }}`, "KKk"},
		"Whitespace":   {"k", "a {{- /* a note */ -}} {{ .value }}", "ak"},
		"Base":         {"foo/bar/baz", `{{ base .value }}`, "baz"},
		"BaseOfSlash":  {"prod/db/", `{{ base .value }}`, "db"},
		"Dir":          {"foo/bar/baz", `{{ .value | dir | replace "/" "_" }}`, "foo_bar"},
		"Clean":        {"foo/bar/../baz", `{{ clean .value }}`, "foo/baz"},
		"WithoutExt":   {"etc/tls.crt", `{{ $b := base .value }}{{ trimSuffix (ext $b) $b }}`, "tls"},
		"Capitals":     {"AB", `{{ snakecase .value }}`, "ab"},
		"LastCapital":  {"ABc", `{{ snakecase .value }}`, "a_bc"},
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
