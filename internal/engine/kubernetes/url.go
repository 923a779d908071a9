package kubernetes

import (
	"net/url"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

var urls = &kind[*url.URL]{ //nolint:gochecknoglobals // a constant
	typ:   cel.ObjectType("kubernetes.URL"),
	equal: func(a, b *url.URL) bool { return a.String() == b.String() },
	size: func(u *url.URL) int64 {
		return int64(len(u.Scheme) + len(u.Opaque) + len(u.Host) + len(u.Path) + len(u.RawQuery) + len(u.Fragment))
	},
}

// urlFunctions declares url, isURL, and the functions of a URL.
func urlFunctions() []cel.EnvOption {
	part := func(id, name string, f func(*url.URL) string) cel.EnvOption {
		return method(urls, id, name, cel.StringType, func(u *url.URL) ref.Val { return types.String(f(u)) })
	}
	return []cel.EnvOption{
		parser(urls, "string_to_url", "url", parseURL),
		is("is_url_string", "isURL", url.ParseRequestURI),
		part("url_get_scheme", "getScheme", func(u *url.URL) string { return u.Scheme }),
		part("url_get_host", "getHost", func(u *url.URL) string { return u.Host }),
		part("url_get_hostname", "getHostname", (*url.URL).Hostname),
		part("url_get_port", "getPort", (*url.URL).Port),
		part("url_get_escaped_path", "getEscapedPath", (*url.URL).EscapedPath),
		method(urls, "url_get_query", "getQuery", cel.MapType(cel.StringType, cel.ListType(cel.StringType)), query),
	}
}

// parseURL accepts an absolute URL or an absolute path. Only the second parser finds the fragment.
func parseURL(s string) (*url.URL, error) {
	if _, err := url.ParseRequestURI(s); err != nil {
		return nil, err
	}
	return url.Parse(s)
}

// query returns the values of each parameter.
func query(u *url.URL) ref.Val {
	out := map[ref.Val]ref.Val{}
	for k, v := range u.Query() {
		out[types.String(k)] = types.NewStringList(types.DefaultTypeAdapter, v)
	}
	return types.NewRefValMap(types.DefaultTypeAdapter, out)
}
