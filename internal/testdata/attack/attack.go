// Package attack is test data: hostile expressions, composites and requests. It is in a testdata
// folder because only tests import it, and in one package because tests of several packages must
// withstand the same attacks.
package attack

import (
	"crypto/elliptic"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/protobuf/types/known/structpb"
)

// shared returns a chain of binds. Each bind contains the previous one n times, so a short text builds a
// structure of n^depth leaves.
func shared(depth, n int, literal, use string) string {
	var b strings.Builder
	last := literal
	for i := range depth {
		name := fmt.Sprint("v", i)
		fmt.Fprintf(&b, "cel.bind(%s, [%s], ", name, repeated(last, n))
		last = name
	}
	b.WriteString(strings.ReplaceAll(use, "$", last))
	b.WriteString(strings.Repeat(")", depth))
	return b.String()
}

// doubled returns an expression that binds a literal and adds it to itself n times.
func doubled(n int, literal, use string) string {
	var b strings.Builder
	last := literal
	for i := range n {
		name := fmt.Sprint("v", i)
		fmt.Fprintf(&b, "cel.bind(%s, %s + %s, ", name, last, last)
		last = name
	}
	b.WriteString(strings.ReplaceAll(use, "$", last))
	b.WriteString(strings.Repeat(")", n))
	return b.String()
}

// summed returns an expression that binds a list and adds an element to it 40 times. It repeats this as
// often as the characters allow, but at most 15 times.
func summed(characters int, literal, use string) string {
	var b strings.Builder
	last, n := literal, 0
	for ; n < 15 && b.Len()+n+200+len(use)+4*strings.Count(use, "$") < characters; n++ {
		name := fmt.Sprint("v", n)
		fmt.Fprintf(&b, "cel.bind(%s, %s%s, ", name, last, strings.Repeat("+[1]", 40))
		last = name
	}
	b.WriteString(strings.ReplaceAll(use, "$", last))
	b.WriteString(strings.Repeat(")", n))
	return b.String()
}

// Expressions returns hostile expressions in a new map. The keys say what the expressions do. They read
// the composite as self, and connection details in secrets. If a longer expression is a worse attack, it
// has nearly the given number of characters.
func Expressions(characters int) map[string]string {
	space := characters - 96
	filled := func(e string) string { return strings.Repeat(e, space/len(e)) }
	nested := func(before, middle, after string) string {
		n := space / (len(before) + len(after))
		return strings.Repeat(before, n) + middle + strings.Repeat(after, n)
	}
	// listOf returns a list literal that contains e as often as the characters allow.
	listOf := func(before, e, after string) string {
		return before + "[" + repeated(e, (space-len(before)-len(after))/(len(e)+1)) + "]" + after
	}
	const (
		range10k = "lists.range(10000)"
		text     = "self.text"  // 100 KB
		whole    = "self.whole" // 1 MB
	)
	out := map[string]string{
		"nested loops":                    range10k + ".map(a, " + range10k + ".map(b, a + b)).size() > 0",
		"nested loops without calls":      range10k + ".all(a, " + range10k + ".all(b, " + range10k + ".all(c, true)))",
		"nested exists":                   range10k + ".exists(a, " + range10k + ".exists(b, false))",
		"nested filters of nothing":       range10k + ".filter(a, " + range10k + ".filter(b, false).exists_one(c, true))",
		"nested loops over two variables": range10k + ".all(i, a, " + range10k + ".all(j, b, true))",
		"eight loops":                     strings.Repeat("lists.range(50).all(x, ", 8) + "true" + strings.Repeat(")", 8),
		"chained loops":                   range10k + strings.Repeat(".map(x, x)", 7),
		"wide body without calls":         range10k + ".filter(x, " + strings.TrimSuffix(filled("self.no||"), "||") + ")",
		"loop of lists":                   listOf(range10k+".map(x, ", "x", ")"),
		"loop of maps":                    range10k + ".map(x, {" + numbered(space/10, "%d:x") + "})",
		"nested literal lists":            shared(8, 16, "1", "$"),
		"printed literal lists":           shared(8, 16, "1", "'%s'.format([$])"),
		"loop of literal lists":           range10k + ".map(a, " + shared(6, 16, "a", "$") + ")",
		"doubled text":                    doubled(16, text, "$"),
		"doubled bytes":                   doubled(16, "bytes("+text+")", "$.size()"),
		"doubled list":                    doubled(16, range10k, "$"),
		"doubled list compared":           doubled(16, range10k, "$ == $"),
		"doubled list searched":           doubled(16, range10k, "-1 in $"),
		"format":                          "cel.bind(t, " + text + ", '" + strings.Repeat("%s", space/8) + "'.format([" + repeated("t", space/8) + "]))",
		"format of shared text":           shared(3, 12, text, "'%s'.format([$])"),
		"format width":                    "'%.999999999f'.format([1.0])",
		"format in a loop":                range10k + ".map(i, '%s'.format([" + text + "]))",
		"join of shared text":             "cel.bind(t, " + text + ", " + range10k + ".map(i, t).join())",
		"join by text":                    range10k + ".map(i, 'x').join(" + text + ")",
		"replace by text":                 text + ".replace('a', " + text + ")",
		"replace nothing":                 text + ".replace('', " + text + ")",
		"replace with groups":             "regex.replace(" + text + ", '(a+)', '" + strings.Repeat(`\\1`, min(400, space/4)) + "')",
		"replace every character":         "regex.replace(" + text + ", '', " + text + ")",
		"flatten":                         shared(8, 16, "1", "$.flatten(100)"),
		"flatten in a loop":               range10k + ".map(i, [" + range10k + "].flatten())",
		"sort":                            doubled(9, range10k, "$.sort()"),
		"sort by":                         doubled(9, range10k, "$.sortBy(x, -x)"),
		"sort text":                       range10k + ".map(i, " + text + ".substring(0, 1000) + string(i)).sort()",
		"distinct":                        range10k + ".distinct()",
		"distinct lists":                  "cel.bind(w, lists.range(500), lists.range(450).map(i, w + [i]).distinct())",
		"sets":                            "sets.equivalent(" + range10k + ", " + range10k + ".reverse())",
		"sets of lists":                   "cel.bind(w, lists.range(500), cel.bind(l, lists.range(450).map(i, w + [i]), sets.contains(l, l.reverse())))",
		"index of":                        text + ".indexOf(self.needle)",
		"last index of":                   text + ".lastIndexOf('b' + self.needle)",
		"short index of":                  range10k + ".map(i, " + text + ".indexOf('aaaaaaaab'))",
		"split":                           whole + ".split('')",
		"split in a loop":                 range10k + ".map(i, " + text + ".split(''))",
		"characters":                      range10k + ".map(i, " + whole + ".charAt(i))",
		"substrings":                      range10k + ".map(i, " + whole + ".substring(i))",
		"reversals":                       range10k + ".map(i, " + whole + ".reverse())",
		"upper case":                      range10k + ".map(i, " + whole + ".upperAscii())",
		"sizes":                           range10k + ".map(i, " + whole + ".size())",
		"contains":                        range10k + ".map(i, " + whole + ".contains('aaaaaaaab'))",
		"encodings":                       range10k + ".map(i, base64.encode(bytes(" + whole + ")))",
		"hashes":                          range10k + ".map(i, sha256(" + whole + "))",
		"encoded hashes":                  range10k + ".map(i, hex.encode(hash.sha512(" + whole + ")))",
		"keyed hashes":                    range10k + ".map(i, hmac.sha256(" + whole + ", " + whole + "))",
		"hexadecimal":                     range10k + ".map(i, hex.encode(" + text + "))",
		"hexadecimal of hexadecimal":      nested("hex.encode(", text, ")"),
		"hexadecimal decoded":             range10k + ".map(i, hex.decode(" + whole + "))",
		"URL encodings":                   range10k + ".map(i, base64url.encode(" + text + "))",
		"URL encodings decoded":           range10k + ".map(i, base64url.decode(" + whole + "))",
		"URLs":                            range10k + ".map(i, url('/' + " + whole + ").getEscapedPath())",
		"queries":                         "cel.bind(u, url('/?' + " + range10k + ".map(i, string(i)).join('&')), " + range10k + ".map(i, u.getQuery()))",
		"compared URLs":                   "cel.bind(u, url('/' + " + whole + "), " + range10k + ".map(i, u == u))",
		"addresses":                       range10k + ".map(i, isIP(" + whole + ") || isCIDR(" + whole + "))",
		"exponents":                       range10k + ".map(i, isQuantity('1e-100000000'))",
		"long quantities":                 "cel.bind(q, lists.range(127).map(i, '9').join(), " + range10k + ".map(i, quantity(q).add(quantity('-' + q)).isInteger()))",
		"sums of quantities":              "cel.bind(q, quantity('1e999'), " + range10k + ".map(i, q.add(quantity('1n')).sub(q).asApproximateFloat()))",
		"compared quantities":             "cel.bind(q, quantity('1e999').add(quantity('1n')), " + range10k + ".map(i, q.compareTo(q)))",
		"versions":                        "cel.bind(v, '1.0.0-' + " + range10k + ".map(i, 'a').join('.'), " + range10k + ".map(i, semver(v)))",
		"compared versions":               "cel.bind(v, semver('1.0.0-' + " + range10k + ".map(i, 'a').join('.')), " + range10k + ".map(i, v.compareTo(v)))",
		"formats":                         range10k + ".map(i, format.dns1123Subdomain().validate(" + whole + "))",
		"formats of short texts":          range10k + ".map(i, format.uuid().validate(" + text + ".substring(0, 100)).hasValue() || format.byte().validate('aaaa').hasValue())",
		"messages of formats":             "cel.bind(f, format.uri(), " + range10k + ".map(i, f.validate(" + whole + ")))",
		"quotes":                          range10k + ".map(i, strings.quote(" + whole + "))",
		"escapes":                         range10k + ".map(i, url.queryEscape(" + whole + "))",
		"listed characters":               listOf("cel.bind(w, "+whole+", ", "w.charAt(9)", ")"),
		"listed reversals":                listOf("cel.bind(w, "+whole+", ", "w.reverse()", ".size())"),
		"listed hashes":                   listOf("cel.bind(w, "+whole+", ", "sha256(w)", ")"),
		"listed keyed hashes":             listOf("cel.bind(w, "+whole+", ", "hmac.sha256(w,'')", ")"),
		"listed patterns":                 listOf("cel.bind(w, "+text+", ", "w.matches('(a|aa)+$')", ")"),
		"listed concatenations":           listOf("cel.bind(w, "+whole+", ", "w+'b'", ".size())"),
		"merges":                          "cel.bind(m, " + range10k + ".transformMapEntry(i, x, {string(x): x}), " + range10k + ".map(i, m.merge(m)))",
		"merges of merges":                "cel.bind(m, " + range10k + ".transformMapEntry(i, x, {string(x): x}), m" + strings.Repeat(".merge(m)", 30) + ")",
		"merges of long keys":             range10k + ".map(i, {" + whole + ": 1}.merge({" + whole + ": 2}))",
		"properties":                      range10k + ".map(i, properties.encode({'a': " + text + "}))",
		"properties of shared text":       shared(3, 12, text, "properties.encode({'a': '%s'.format([$])})"),
		"files of many entries":           "cel.bind(m, " + range10k + ".transformMapEntry(i, x, {'k' + string(x): x}), " + range10k + ".map(i, dotenv.encode(m) + ini.encode({'a': m}) + properties.encode(m) + libpq.encode(m)))",
		"connections of whole texts":      range10k + ".map(i, jdbc.url({'driver': 'sqlserver', 'host': 'a', 'username': 'a', 'password': " + text + "}) + mysql.dsn({'host': 'a', 'username': 'a', 'password': " + text + "}))",
		"hosts":                           "cel.bind(h, " + range10k + ".map(i, 'h' + string(i)), " + range10k + ".map(i, mongodb.url({'hosts': h})))",
		"password files":                  "cel.bind(h, " + range10k + ".map(i, {'password': 'p'}), " + range10k + ".map(i, pgpass.encode(h)))",
		"TOML in a loop":                  "cel.bind(m, lists.range(5000).transformMapEntry(i, x, {'k' + string(x): x}), " + range10k + ".map(i, toml.encode(m)))",
		"TOML of shared lists":            shared(15, 2, "1", "toml.encode({'a': $})"),
		"TOML of deep lists":              "cel.bind(l, lists.range(8000), toml.encode({'a': " + strings.Repeat("[", 14) + "l" + strings.Repeat("]", 14) + "}))",
		"TOML of deep shared lists":       shared(12, 1, "lists.range(8000)", "toml.encode({'a': $})"),
		"TOML of deep lists of maps":      "cel.bind(l, lists.range(2000).map(i, {'a': i}), toml.encode({'a': " + strings.Repeat("[", 14) + "l" + strings.Repeat("]", 14) + "}))",
		"TOML of long paths":              "cel.bind(k, " + text + ".substring(0, 30000), toml.encode({k: {k + 'b': lists.range(3000).transformMapEntry(i, x, {'k' + string(x): {'a': x}})}}))",
		"TOML of deep tables":             "toml.encode(" + strings.Repeat("{'a':", 14) + "1" + strings.Repeat("}", 14) + ")",
		"shared merged":                   shared(15, 4, "1", "{'a': $}.merge({'b': $})"),
		"blocks":                          range10k + ".map(i, pem.split(self.blocks))",
		"blocks joined":                   range10k + ".map(i, pem.join(pem.split(self.block)))",
		"joins of blocks":                 "cel.bind(b, self.block, pem.join(" + range10k + ".map(i, b)))",
		"listed blocks":                   listOf("cel.bind(b, self.blocks, ", "pem.split(b)", ")"),
		"not blocks":                      range10k + ".map(i, pem.privateKey(" + whole + "))",
		"chains":                          range10k + ".map(i, pem.chain(self.slow) == '' || true)",
		"listed chains":                   listOf("cel.bind(c, self.slow, ", "pem.ca(c)==''||true", ")"),
		"chain of slow signatures":        "pem.chain(self.slow)",
		"chain of many signatures":        "pem.leaf(self.signatures)",
		"chain of the same subjects":      "pem.ca(self.subjects)",
		"chain of repeated certificates":  "pem.ca(pem.join(lists.range(60).map(i, self.repeats)))",
		"chain of text":                   "pem.chain(" + text + ")",
		"sums of lists":                   summed(space, range10k, "["+repeated("$==$", space/40)+"]"),
		"walks of sums of lists":          summed(space, range10k, "$.map(x, $[x])"),
		"printed keys":                    shared(11, 4, "1", "{dyn([$, $]): 1, dyn([$]): 2}.map(k, k)"),
		"printed duplicates":              shared(11, 4, "1", "[1, 2].transformMapEntry(i, x, {dyn($): x})"),
		"printed keys made":               shared(11, 4, "1", "[1, 2].transformMapEntry(i, x, {dyn([dyn($), i]): x}).map(k, k)"),
		"shared compared":                 shared(12, 4, "1", "$ == $"),
		"shared compared in an optional":  shared(12, 4, "1", "optional.of($).hasValue($)"),
		"shared compared with other":      shared(10, 4, "1", "dyn($) == dyn([$]) || [$] != [$]"),
		"shared in":                       shared(12, 4, "1", "$ in [[$], $, $]"),
		"shared returned":                 shared(15, 4, "1", "$"),
		"shared text returned":            shared(15, 2, text, "$"),
		"shared as JSON":                  shared(15, 4, "1", "json.encode($)"),
		"shared as YAML":                  shared(15, 4, "1", "yaml.encode($)"),
		"shared in a map":                 shared(15, 4, "1", "{'a': $, 'b': {'c': $}}"),
		"shared map keys":                 shared(15, 4, "1", "{dyn($): $}"),
		"shared as a key":                 shared(15, 4, "1", "{'a': 1}[dyn($)]"),
		"shared as an index":              shared(15, 4, "1", "[1][dyn($)]"),
		"shared as an optional entry":     shared(15, 4, "1", "{?'a': dyn($)}"),
		"shared as an optional element":   shared(15, 4, "1", "[?dyn($)]"),
		"shared as text":                  shared(15, 4, "1", "string(dyn($))"),
		"shared as a condition":           shared(15, 4, "1", "dyn($) ? 1 : 2"),
		"shared as bool":                  shared(15, 4, "1", "dyn($) || false"),
		"shared in sets":                  shared(15, 4, "1", "sets.contains($, $)"),
		"shared in distinct":              shared(15, 4, "1", "$.distinct()"),
		"shared sorted":                   shared(15, 4, "1", "$.sortBy(x, dyn(x))"),
		"shared greatest":                 shared(15, 4, "1", "math.greatest(dyn($))"),
		"shared less":                     shared(15, 4, "1", "dyn($) < dyn($)"),
		"shared as a zero":                shared(15, 4, "1", "optional.ofNonZeroValue($)"),
		"shared unwrapped":                shared(15, 4, "1", "optional.unwrap(dyn($))"),
		"shared joined":                   shared(15, 4, "1", "dyn($).join()"),
		"shared as a type":                shared(15, 4, "1", "type($) == type([$])"),
		"shared in an error":              shared(15, 4, "1", "dyn($) + dyn(1)"),
		"big pattern":                     "'a'.matches('" + strings.Repeat("(a{30}){30}", 9) + "')",
		"nested repetition":               "'a'.matches('((((((a{9}){9}){9}){9}){9}){9})')",
		"long classes":                    "'a'.matches('" + strings.Repeat(`\\pL`, min(400, space/5)) + "')",
		"repeated classes":                text + ".matches('" + strings.Repeat(`(\\pL|\\pN)*`, 40) + "$b')",
		"repeated classes, long text":     whole + ".matches('" + strings.Repeat(`(\\pL|\\pN)*`, 40) + "$b')",
		"dynamic pattern":                 "'a'.matches(self.repetition)",
		"dynamic pattern in a loop":       range10k + ".map(i, 'a'.matches('" + strings.Repeat("a{99}", 9) + "' + string(i)))",
		"dynamic classes in a loop":       range10k + ".map(i, 'a'.matches('" + strings.Repeat(`\\pL`, 120) + "' + string(i)))",
		"long text, ambiguous pattern":    whole + ".matches('(a|a|a|a)*b')",
		"extract all":                     "regex.extractAll(" + text + ", 'a')",
		"extract all, ambiguous":          "regex.extractAll(" + text + ", '(?:a|aa|aaa|aaaa)+?')",
		"extract in a loop":               range10k + ".map(i, regex.extract(" + text + ", '(a+)b'))",
		"YAML aliases":                    "yaml.decode(self.yamlBomb)",
		"YAML aliases encoded":            "json.encode(yaml.decode(self.yamlBomb))",
		"YAML of many aliases":            "yaml.decode(self.yamlWide)",
		"YAML aliases of text":            "yaml.decode(self.yamlText)",
		"YAML aliases of aliases of text": "yaml.decode(self.yamlNested)",
		"YAML depth":                      "yaml.decode('" + "{a: " + "' + self.brackets + '" + "}')",
		"YAML in a loop":                  range10k + ".map(i, yaml.decode(self.yamlWide))",
		"YAML of text":                    "yaml.encode(" + text + ")",
		"YAML of whole":                   "yaml.encode(self.big)",
		"JSON of whole":                   "json.encode(self.big)",
		"JSON depth":                      "json.decode(self.brackets)",
		"JSON depth compared":             "cel.bind(d, json.decode(self.deep), [d == d, d == d, d == d])",
		"JSON depth encoded":              "json.encode(json.decode(self.deep))",
		"JSON depth as YAML":              "yaml.encode(json.decode(self.deep))",
		"JSON in a loop":                  range10k + ".map(i, json.decode(self.deep))",
		"JSON number":                     "json.decode('1e' + " + text + ".replace('a', '9'))",
		"JSON digits":                     "json.decode(" + text + ".replace('a', '9'))",
		"ranges":                          range10k + ".map(i, " + range10k + ")",
		"range too large":                 "lists.range(9223372036854775807)",
		"slices":                          range10k + ".map(i, " + range10k + ".slice(0, 9999))",
		"map entries":                     range10k + ".transformMapEntry(i, v, {string(v): " + text + "})",
		"map entries of entries":          range10k + ".transformMapEntry(i, v, {v: " + range10k + ".transformMapEntry(j, w, {w: v})})",
		"optMap chain":                    "optional.of(1)" + strings.Repeat(".optMap(x, x)", 60),
		"optMap chain in a loop":          range10k + ".map(i, optional.of(i)" + strings.Repeat(".optMap(x, x)", 12) + ")",
		"nested optMap":                   strings.Repeat("optional.of(1).optMap(x, ", 20) + "x" + strings.Repeat(")", 20),
		"nested optFlatMap":               strings.Repeat("optional.of(1).optFlatMap(x, ", 16) + "optional.of(x)" + strings.Repeat(")", 16),
		"loop over characters":            whole + ".split('').map(c, c).join()",
		"absorbed by or":                  range10k + ".map(a, " + range10k + ".map(b, a)).size() == 0 || true",
		"absorbed by exists":              range10k + ".exists(a, " + range10k + ".all(b, " + range10k + ".all(c, b >= 0)) || true)",
		"absorbed in a condition":         "(" + range10k + ".map(a, " + range10k + ".map(b, a)).size() == 0 || true) ? 1 : 2",
		"absorbed and repeated":           strings.TrimSuffix(filled("(lists.range(9999).all(a,lists.range(9999).all(b,false))||true)&&"), "&&"),
		"deep brackets":                   nested("(", "1", ")"),
		"deep lists":                      nested("[", "", "]"),
		"deep maps":                       nested("{1:", "1", "}"),
		"deep calls":                      nested("dyn(", "1", ")"),
		"deep negation":                   filled("!") + "true",
		"deep minus":                      filled("-") + "1",
		"deep conditions":                 filled("true?1:") + "1",
		"long select":                     "self" + filled(".a"),
		"long index":                      "self" + filled("[0]"),
		"long sum":                        "1" + filled("+1"),
		"long text sum":                   "''" + filled("+''"),
		"long or":                         "true" + filled("||true"),
		"long list":                       listOf("", "1", ""),
		"long map":                        "{" + numbered(space/8, "%d:1") + "}",
		"many loops":                      listOf("", "[1].all(x,true)", ""),
		"many binds":                      listOf("", "cel.bind(x,1,x)", ""),
		"many dyn comparisons":            listOf("", "self==1", ""),
		"many type variables":             listOf("", "[]+[]", ""),
		"many types of maps":              listOf("", "{}[0]", ""),
		"many types of elements":          listOf("", "[].filter(k,k)", ""),
		"explained errors":                range10k + ".all(i, self.big + 1 == 1 || true)",
		"explained keys":                  range10k + ".all(i, self.fake < 1 || true)",
		"many errors":                     listOf("", "x", ""),
		"garbage":                         filled(")("),
		"open brackets":                   filled("([{"),
		"long identifier":                 strings.Repeat("a", characters),
		"long text":                       "'" + strings.Repeat("a", characters-8) + "'",
		"long escapes":                    "'" + filled(`\n`) + "'",
		"too long":                        strings.Repeat("a", 1<<20),
		"many optional entries":           listOf("", "?self.a", ""),
		"many methods of optionals":       listOf("", "self.a.value()", ""),
		"many equal secrets":              listOf("cel.bind(s, secrets, ", "s==s", ")"),
		"whole observed":                  listOf("", "self==self", ""),
		"whole observed encoded":          "json.encode([self, self, self, self])",
		"observed selects":                listOf("cel.bind(s, self, ", "s.fake.k", ")"),
		"observed metadata":               listOf("cel.bind(s, self, ", "s.fake.metadata", ".size())"),
		"observed keys":                   listOf("cel.bind(s, self.fake, ", "s.map(k,k)", ".size())"),
		"observed sizes":                  listOf("cel.bind(s, self.fake, ", "size(s)", ")"),
		"observed compared":               listOf("cel.bind(s, self.fake, ", "s==s", ")"),
	}
	return out
}

// numbered returns n numbered parts, separated by commas.
func numbered(n int, format string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(parts, ",")
}

// large are the large fields of the composite. etcd stores a composite with at most one of them. The
// first one has the most fields.
var large = []string{"fake", "whole", "big"}

// compositeFor returns the part of the composite that an expression reads. It fits into etcd, which
// stores 1.5 MiB of JSON. It has the large field that the expression names, or the first large field if
// the expression reads the whole composite.
func compositeFor(expression string) Maker {
	named := ""
	if strings.Contains(strings.ReplaceAll(expression, "self.", ""), "self") {
		named = large[0]
	}
	for _, field := range large {
		if strings.Contains(expression, "self."+field) {
			named = field
		}
	}
	return func() *structpb.Value {
		out := &structpb.Struct{Fields: map[string]*structpb.Value{}}
		for field, v := range Composite().GetFields() {
			if field == named || !slices.Contains(large, field) {
				out.Fields[field] = v
			}
		}
		return structpb.NewStructValue(out)
	}
}

// Composite returns the hostile composite that the expressions read, without metadata. All calls return
// the same value. Do not modify it.
func Composite() *structpb.Struct { return composite() }

var composite = sync.OnceValue(func() *structpb.Struct {
	str := structpb.NewStringValue
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for i := range 8 {
		prev, next := string(rune('a'+i)), string(rune('b'+i))
		bomb += next + ": &" + next + " [" + repeated("*"+prev, 9) + "]\n"
	}
	fake := &structpb.Struct{Fields: map[string]*structpb.Value{"apiVersion": str("v1"), "kind": str("Secret")}}
	annotations := &structpb.Struct{Fields: map[string]*structpb.Value{"kubectl.kubernetes.io/last-applied-configuration": str("x")}}
	for i := range 55_000 {
		fake.Fields[strconv.Itoa(i)] = structpb.NewNumberValue(1)
		annotations.Fields[strconv.Itoa(i)] = str("1")
	}
	fake.Fields["metadata"] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"annotations": structpb.NewStructValue(annotations)}})
	big := &structpb.ListValue{}
	for i := range 20_000 {
		big.Values = append(big.Values, str(fmt.Sprintf("value-%d-of-the-big-list\n", i)))
	}
	return &structpb.Struct{Fields: map[string]*structpb.Value{
		"text":       str(strings.Repeat("a", 100<<10)),
		"whole":      str(strings.Repeat("a", 1000<<10)),
		"no":         structpb.NewBoolValue(false),
		"repetition": str(strings.Repeat("(a{30}){30}", 9)),
		"brackets":   str(strings.Repeat("[", 60<<10)),
		"deep":       str(strings.Repeat("[", 9000) + strings.Repeat("]", 9000)),
		"needle":     str(strings.Repeat("a", 50<<10) + "b"),
		"yamlBomb":   str(bomb),
		"yamlWide":   str("a: &a {k: xxxxxxxxxxxxxxxx}\nb: &b [" + repeated("*a", 300) + "]\nc: [" + repeated("*b", 300) + "]\n"),
		"yamlText":   str("a: &a " + strings.Repeat("x", 30<<10) + "\nb: [" + repeated("*a", 10<<10) + "]"),
		"yamlNested": str("a: &a " + strings.Repeat("x", 30<<10) + "\nb: &b [" + repeated("*a", 99) + "]\nc: [" + repeated("*b", 99) + "]"),
		"block":      str("-----BEGIN A-----\n" + strings.Repeat("YWFh", 1<<10) + "\n-----END A-----\n"),
		"blocks":     str(strings.Repeat("-----BEGIN A-----\n-----END A-----\n", 200)),
		"slow":       str(certificates(elliptic.P521(), 6, 1)), // 30 signatures
		"signatures": str(certificates(elliptic.P256(), 22, 1)),
		"subjects":   str(certificates(elliptic.P521(), 10, 1)),
		"repeats":    str(certificates(elliptic.P256(), 2, 4)),
		"fake":       structpb.NewStructValue(fake),
		"big":        structpb.NewListValue(big),
	}}
})

// repeated returns s n times, separated by commas.
func repeated(s string, n int) string {
	return strings.TrimSuffix(strings.Repeat(s+",", n), ",")
}
