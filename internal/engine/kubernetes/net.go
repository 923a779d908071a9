package kubernetes

import (
	"errors"
	"net/netip"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

var ips = &kind[netip.Addr]{ //nolint:gochecknoglobals // a constant
	typ:   cel.OpaqueType("net.IP"),
	equal: func(a, b netip.Addr) bool { return a == b },
	text:  netip.Addr.String,
}

var cidrs = &kind[netip.Prefix]{ //nolint:gochecknoglobals // a constant
	typ:   cel.OpaqueType("net.CIDR"),
	equal: func(a, b netip.Prefix) bool { return a == b },
	text:  netip.Prefix.String,
}

// ipFunctions declares ip, isIP, and the functions of an IP address.
func ipFunctions() []cel.EnvOption {
	check := func(id, name string, f func(netip.Addr) bool) cel.EnvOption {
		return method(ips, id, name, cel.BoolType, func(a netip.Addr) ref.Val { return types.Bool(f(a)) })
	}
	return []cel.EnvOption{
		cel.Types(ips.typ),
		parser(ips, "string_to_ip", "ip", parseIP),
		is("is_ip", "isIP", parseIP),
		cel.Function("ip.isCanonical", cel.Overload("ip_is_canonical", []*cel.Type{cel.StringType}, cel.BoolType, onText(isCanonical))),
		cel.Function("string", cel.Overload("ip_to_string", []*cel.Type{ips.typ}, cel.StringType,
			on(func(a netip.Addr) ref.Val { return types.String(a.String()) }))),
		method(ips, "ip_family", "family", cel.IntType, family),
		check("ip_is_unspecified", "isUnspecified", netip.Addr.IsUnspecified),
		check("ip_is_loopback", "isLoopback", netip.Addr.IsLoopback),
		check("ip_is_link_local_multicast", "isLinkLocalMulticast", netip.Addr.IsLinkLocalMulticast),
		check("ip_is_link_local_unicast", "isLinkLocalUnicast", netip.Addr.IsLinkLocalUnicast),
		check("ip_is_global_unicast", "isGlobalUnicast", netip.Addr.IsGlobalUnicast),
	}
}

// errAddress is the error of an address that Go accepts and Kubernetes does not.
var errAddress = errors.New("the address has a zone, or is an IPv4 address that is written as an IPv6 address")

func parseIP(s string) (netip.Addr, error) {
	a, err := netip.ParseAddr(s)
	if err == nil && (a.Zone() != "" || a.Is4In6()) {
		err = errAddress
	}
	return a, err
}

// isCanonical reports whether an address is written in the only way that string(ip) writes it.
func isCanonical(s string) ref.Val {
	a, err := parseIP(s)
	if err != nil {
		return types.WrapErr(errText)
	}
	return types.Bool(a.String() == s)
}

func family(a netip.Addr) ref.Val {
	if a.Is4() {
		return types.Int(4)
	}
	return types.Int(6)
}

// cidrFunctions declares cidr, isCIDR, and the functions of a network.
func cidrFunctions() []cel.EnvOption {
	return []cel.EnvOption{
		cel.Types(cidrs.typ),
		parser(cidrs, "string_to_cidr", "cidr", parseCIDR),
		is("is_cidr", "isCIDR", parseCIDR),
		cel.Function("string", cel.Overload("cidr_to_string", []*cel.Type{cidrs.typ}, cel.StringType,
			on(func(p netip.Prefix) ref.Val { return types.String(p.String()) }))),
		method(cidrs, "cidr_ip", "ip", ips.typ, func(p netip.Prefix) ref.Val { return ips.of(p.Addr(), nil) }),
		method(cidrs, "cidr_masked", "masked", cidrs.typ, func(p netip.Prefix) ref.Val { return cidrs.of(p.Masked(), nil) }),
		method(cidrs, "cidr_prefix_length", "prefixLength", cel.IntType, func(p netip.Prefix) ref.Val { return types.Int(p.Bits()) }),
		contains("cidr_contains_ip", "containsIP", "_ip", ips, parseIP, netip.Prefix.Contains),
		contains("cidr_contains_cidr", "containsCIDR", "", cidrs, parseCIDR, containsCIDR),
	}
}

func parseCIDR(s string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(s)
	if err == nil && p.Addr().Is4In6() {
		err = errAddress
	}
	return p, err
}

// contains is the function that reports whether a network contains an address or a network, or the text of one. The IDs
// of both overloads are those of Kubernetes: id_string, and id with a suffix.
func contains[T any](
	id, name, suffix string, k *kind[T], parse func(string) (T, error), f func(netip.Prefix, T) bool,
) cel.EnvOption {
	call := func(parsed func(ref.Val) ref.Val) cel.OverloadOpt {
		return cel.BinaryBinding(func(left, right ref.Val) ref.Val {
			network, ok := left.(opaque[netip.Prefix])
			v, also := parsed(right).(opaque[T])
			if !ok || !also {
				return types.MaybeNoSuchOverloadErr(right)
			}
			return types.Bool(f(network.value, v.value))
		})
	}
	ofText := func(v ref.Val) ref.Val {
		s, _ := v.(types.String)
		return k.of(parse(string(s)))
	}
	itself := func(v ref.Val) ref.Val { return v }
	return cel.Function(name,
		cel.MemberOverload(id+"_string", []*cel.Type{cidrs.typ, cel.StringType}, cel.BoolType, call(ofText)),
		cel.MemberOverload(id+suffix, []*cel.Type{cidrs.typ, k.typ}, cel.BoolType, call(itself)))
}

func containsCIDR(outer, inner netip.Prefix) bool {
	return outer.Overlaps(inner) && outer.Bits() <= inner.Bits()
}
