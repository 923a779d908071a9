package kubernetes

import (
	"errors"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"github.com/blang/semver/v4"
)

var versions = &kind[*semver.Version]{ //nolint:gochecknoglobals // a constant
	typ:   cel.ObjectType("kubernetes.Semver"),
	equal: func(a, b *semver.Version) bool { return a.EQ(*b) },
	size: func(v *semver.Version) (n int64) {
		for _, p := range v.Pre {
			n += int64(len(p.VersionStr)) + 8
		}
		return n
	},
}

// semverFunctions declares semver, isSemver, and the functions of a version.
func semverFunctions() []cel.EnvOption {
	number := func(name string, f func(*semver.Version) uint64) cel.EnvOption {
		return method(versions, "semver_"+name, name, cel.IntType, func(v *semver.Version) ref.Val {
			return types.Int(f(v)) //nolint:gosec // as in Kubernetes
		})
	}
	withFlag := []*cel.Type{cel.StringType, cel.BoolType}
	return append(comparisons(versions, "semver", func(a, b *semver.Version) int { return a.Compare(*b) }),
		parser(versions, "string_to_semver", "semver", parseVersion),
		is("is_semver_string", "isSemver", parseVersion),
		cel.Function("semver", cel.Overload("string_bool_to_semver", withFlag, versions.typ, onVersion(versions.of))),
		cel.Function("isSemver", cel.Overload("is_semver_string_bool", withFlag, cel.BoolType,
			onVersion(func(_ *semver.Version, err error) ref.Val { return types.Bool(err == nil) }))),
		number("major", func(v *semver.Version) uint64 { return v.Major }),
		number("minor", func(v *semver.Version) uint64 { return v.Minor }),
		number("patch", func(v *semver.Version) uint64 { return v.Patch }),
	)
}

// onVersion is a function of a version that is normalized first if the second argument is true.
func onVersion(f func(*semver.Version, error) ref.Val) cel.OverloadOpt {
	return two(func(s types.String, normalize types.Bool) ref.Val {
		if normalize {
			return f(parseNormalized(string(s)))
		}
		return f(parseVersion(string(s)))
	})
}

func parseVersion(s string) (*semver.Version, error) {
	v, err := semver.Parse(s)
	return &v, err
}

var errShort = errors.New("a version without a patch number cannot have a suffix")

// parseNormalized reads a version after it removes a "v" at the beginning and leading zeros, and adds a missing minor
// and patch number.
func parseNormalized(s string) (*semver.Version, error) {
	parts := strings.SplitN(strings.TrimPrefix(s, "v"), ".", 3)
	for i, p := range parts {
		if len(p) < 2 {
			continue
		}
		p = strings.TrimLeft(p, "0")
		if p == "" || p[0] < '0' || p[0] > '9' {
			p = "0" + p
		}
		parts[i] = p
	}
	if len(parts) < 3 && strings.ContainsAny(parts[len(parts)-1], "+-") {
		return nil, errShort
	}
	for len(parts) < 3 {
		parts = append(parts, "0")
	}
	return parseVersion(strings.Join(parts, "."))
}
