package attack

import (
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// A Case is what a composite author writes.
type Case struct {
	// Reason says why it may do harm, if the name does not say so.
	Reason string

	// Exports returns the value of the field with the author's exports. It may be nil.
	Exports Maker

	// Composite returns an object with the other fields that the author writes. It may be nil.
	Composite Maker

	// Exist are the names of the author's Secrets that already exist. The first call compiles and also
	// evaluates their expressions.
	Exist []string

	// Composes are composed resources that the response must have, because they are harmless. The
	// response may also have others.
	Composes []string

	// Refuses are composed resources that the response must not have, because another owner's
	// object has the name.
	Refuses []string
}

// A Maker returns a value when it is needed. A test should not have all values in memory at once.
type Maker func() *structpb.Value

// The lists of Azure Service Operator, and those of its design.
const (
	secrets           = "secretExpressions"
	configMaps        = "configMapExpressions"
	dynamicSecrets    = "dynamicSecrets"
	dynamicConfigMaps = "dynamicConfigMaps"
)

// maxName is the longest name of an object.
const maxName = 253

// The numbers of entries and labels of one composite.
const (
	maxEntries = min(limits.AuthorEntries, 256)
	maxLabels  = min(limits.AuthorLabels, 128) // of one entry
)

// maxExpression is the longest expression that is compiled.
const maxExpression = limits.ExpressionCharacters

// storedBytes is the largest object that etcd stores, as JSON.
const storedBytes = 1536 << 10

// Cases returns attacks by group and name. deepest is the maximum depth of a list. Each composite is
// small enough for etcd. Calls share the values. Do not modify them.
func Cases(deepest int) map[string]Case {
	out := map[string]Case{}
	for group, cases := range map[string]map[string]Case{
		"Expressions": expressions(),
		"Together":    together(),
		"Lists":       lists(),
		"Depth":       depth(deepest),
		"Elsewhere":   elsewhere(),
		"Keys":        keys(),
		"Leaks":       leaks(),
		"Reads":       reads(),
	} {
		for name, c := range cases {
			out[group+"/"+name] = c
		}
	}
	return out
}

// expressions returns all hostile expressions, each as often as one composite may have it. Each is the
// value of a key, and also a map of several keys. dyn hides the type, so that no expression is refused
// because of its type.
func expressions() map[string]Case {
	out := map[string]Case{}
	for name, x := range Expressions(maxExpression) {
		text, several := entry("dyn-text", "k", "dyn("+x+")"), entry("dyn-map", "", "dyn("+x+")")
		entries := []any{text, several, entry("text", "k", x), entry("map", "", x)}
		for n := min(maxEntries, limits.AuthorCharacters/(len(x)+5)); len(entries) < n; {
			entries = append(entries, keyed(text, len(entries)), several)
		}
		if len(entries)*len(x) > storedBytes/2 {
			entries = entries[:1]
		}
		out[name] = Case{Composite: compositeFor(x), Exist: []string{"text", "map", "dyn-text", "dyn-map"}, Exports: in(secrets, entries...)}
	}
	return out
}

// dashed are eight names that CEL parses as subtractions, for the beginning of a list.
const dashed = "self.a-b.c,self.a-c.c,self.a-d.c,self.a-e.c,self.a-f.c,self.a-g.c,self.a-h.c,self.a-i.c,"

// together returns values that share the limits of one composite.
func together() map[string]Case {
	whole := compositeFor("self.whole")
	keys := func(n int) Maker { return value(object("spec", object("many", many(object(), n, "")))) }
	return map[string]Case{
		"64 times 60,000 keys":        {Reason: "which are read without a call", Composite: keys(60_000), Exist: numberedNames(maxEntries), Exports: in(secrets, severalOf(most("e-%d", "self.spec.many"))...)},
		"64 times 60,000 keys in one": {Reason: "each is a conflict of 64 writers", Composite: keys(60_000), Exist: []string{"e-0"}, Exports: in(configMaps, severalOf(most("e-0", "self.spec.many"))...)},
		"64 times 30,000 keys":        {Reason: "which one result may have", Composite: keys(30_000), Exist: numberedNames(maxEntries), Exports: in(secrets, severalOf(most("e-%d", "self.spec.many"))...)},
		"64 times 30,000 keys in one": {Composite: keys(30_000), Exist: []string{"e-0"}, Exports: in(configMaps, severalOf(most("e-0", "self.spec.many"))...)},
		"64 times 30,000 keys, and none of them": {
			Reason:    "a null among them is found at the end",
			Composite: value(object("spec", object("many", many(object("z", nil), 30_000, "")))), Exist: numberedNames(maxEntries),
			Exports: in(secrets, severalOf(most("e-%d", "self.spec.many"))...),
		},
		"64 values of a megabyte":        {Composite: whole, Exist: numberedNames(maxEntries), Exports: in(secrets, most("e-%d", "self.whole")...)},
		"64 values of a megabyte in one": {Composite: whole, Exist: []string{"e-0"}, Exports: in(secrets, most("e-0", "self.whole")...)},
		"64 maps of a megabyte":          {Composite: whole, Exist: numberedNames(maxEntries), Exports: in(secrets, severalOf(most("e-%d", "{'a': self.whole}"))...)},
		"64 made values of a megabyte":   {Composite: whole, Exist: numberedNames(maxEntries), Exports: in(secrets, most("e-%d", "self.whole.substring(1)")...)},
		"64 ConfigMaps of half a megabyte": {
			Reason: "which are not in base64", Composite: whole,
			Exports: in(configMaps, most("e-%d", "self.whole.substring(512000)")...),
		},
		"values that are copies of an allowed secret": {Exist: numberedNames(maxEntries), Exports: in(secrets, most("e-%d", "lists.range(9999).map(x, secret.password).join()")...)},
		"64 maps of 10,000 keys":                      {Exist: numberedNames(maxEntries), Exports: in(secrets, severalOf(most("e-%d", "lists.range(10000).transformMapEntry(i, v, {string(v): ''})"))...)},
		"64 maps of 10,000 keys in one": {
			Reason: "each key is a conflict of 64 writers",
			Exist:  []string{"e-0"}, Exports: in(secrets, severalOf(most("e-0", "lists.range(3000).transformMapEntry(i, v, {string(v): ''})"))...),
		},
		"64 maps of illegal keys": {
			Reason: "each is a fault of its own",
			Exist:  []string{"e-0"}, Exports: in(secrets, severalOf(most("e-0", "lists.range(3000).transformMapEntry(i, v, {'/' + string(v): ''})"))...),
		},
		"maps of long keys": {Exist: numberedNames(maxEntries), Exports: in(secrets, severalOf(most("e-%d", "lists.range(100).transformMapEntry(i, v, {lists.range(1000).map(x, 'a').join() + string(v): ''})"))...)},
		"names with dashes": {
			Reason:  "each name is checked with and without its dash",
			Exports: in(secrets, each(8, "e-%d", "["+dashed+repeated("[1].map(x,x)", 71)+"]")...),
		},
		"short names with dashes": {
			Reason:  "each name is checked with and without its dash",
			Exports: in(secrets, most("e-%d", "["+dashed+repeated("[1].map(x,x)", 2)+"]")...),
		},
		"one key from 64 maps": {
			Reason:  "each entry is compared with each before it",
			Exist:   []string{long("e", maxName)},
			Exports: in(secrets, severalOf(most(long("e", maxName), "{"+numberedFrom(36, "'%d':''")+"}"))...),
		},
		"all keys in four maps": {
			Reason:  "each key is compared with each before it",
			Exist:   []string{"e-0"},
			Exports: in(secrets, severalOf(each(4, "e-0", "{"+numberedFrom(450, "'%d':''")+"}"))...),
		},
	}
}

// lists returns lists that are too large or too long, or that are not lists.
func lists() map[string]Case {
	return merge(wrongTypes(), map[string]Case{
		"10,000 entries":               {Exports: in(secrets, each(10_000, "e-0", "'v'")...)},
		"10,000 names":                 {Exports: in(dynamicSecrets, each(10_000, "e-%d", "'v'")...)},
		"10,000 expressions":           {Exports: in(configMaps, expressionsOf(10_000)...)},
		"10,000 entries in four lists": {Exports: exportsOf(map[string][]any{secrets: each(2500, "a-%d", "'v'"), configMaps: each(2500, "b-%d", "'v'"), dynamicSecrets: each(2500, "c-%d", "'v'"), dynamicConfigMaps: each(2500, "d-%d", "'v'")})},
		"64 names":                     {Reason: "each is looked up", Exports: exportsOf(map[string][]any{secrets: each(maxEntries-1, "e-%d", "'v'"), configMaps: {entry("fine", "k", "'v'")}}), Composes: []string{"fromComposite/ConfigMap/fine", fmt.Sprint("fromComposite/Secret/e-", maxEntries-2)}},
		"200,000 numbers":              {Exports: in(secrets, list(200_000, func(int) any { return 1 })...)},
		"giant name":                   {Exports: in(secrets, entry(long("e", 1<<20), "k", "'v'"), fine), Composes: madeFine},
		"giant name of other letters":  {Exports: in(secrets, entry(long("ы", 700_000), "k", "'v'"), fine), Composes: madeFine},
		"64 giant names":               {Exports: in(secrets, most(long("e", 20<<10)+"%d", "'v'")...)},
		"giant key":                    {Exports: in(secrets, entry("e", long("k", 1<<20), "'v'"), fine), Composes: madeFine},
		"64 giant keys":                {Exports: in(secrets, list(maxEntries, func(i int) any { return entry("e", long("k", 20<<10)+strconv.Itoa(i), "'v'") })...)},
		"giant expression":             {Exports: in(secrets, entry("e", "k", long("a", 1<<20)))},
		"giant literal":                {Exports: in(secrets, entry("e", "k", "'"+long("a", 1<<20)+"'"))},
		"64 giant expressions":         {Exports: in(secrets, most("e-%d", long("a", 20<<10))...)},
		"expressions of few letters":   {Reason: "of up to four bytes each", Exports: in(secrets, entry("e", "k", "'"+long("\U0001F600", maxExpression-2)+"'"), entry("f", "k", "'"+long("\U0001F600", limits.AuthorCharacters-2*maxExpression)+"'"), fine), Composes: madeFine},
		"giant unknown field":          {Exports: in(secrets, object("name", "e", "key", "k", "value", "'v'", long("x", 1<<20), 1), fine), Composes: madeFine},
		"many unknown fields":          {Exports: in(secrets, many(object("name", "e", "key", "k", "value", "'v'"), 100_000, 1), fine), Composes: madeFine},
		"many unknown fields, no name": {Reason: "the faults are of the list then", Exports: in(secrets, many(object("key", "k", "value", "'v'"), 100_000, 1), fine), Composes: madeFine},
		"many unknown fields in 64":    {Exports: in(dynamicSecrets, list(maxEntries, func(int) any { return many(object(), 1500, 1) })...)},
		"many unknown lists":           {Reason: "they are not ours", Exports: value(many(object(secrets, []any{fine}), 100_000, 1)), Composes: madeFine},
		"many labels":                  {Exports: in(secrets, object("name", "e", "key", "k", "value", "'v'", "labels", many(object(), 80_000, "v")), fine), Composes: madeFine},
		"many annotations":             {Exports: in(secrets, object("name", "e", "key", "k", "value", "'v'", "annotations", many(object(), 80_000, "v")), fine), Composes: madeFine},
		"many labels that are none":    {Exports: in(secrets, object("name", "e", "key", "k", "value", "'v'", "labels", many(object(), 80_000, 1)), fine), Composes: madeFine},
		"many labels, no name":         {Exports: in(secrets, object("labels", many(object(), 80_000, 1)), fine), Composes: madeFine},
		"many illegal labels":          {Exports: in(secrets, object("name", "e", "key", "k", "value", "'v'", "labels", many(object(), 80_000, "/ /")), fine), Composes: madeFine},
		"labels of 64 entries": {Exports: in(secrets, list(maxEntries, func(i int) any {
			return object("name", "e", "key", fmt.Sprint("k", i), "value", "'v'", "labels", many(object(), maxLabels, strconv.Itoa(i)), "annotations", many(object(), maxLabels, strconv.Itoa(i)))
		})...)},
		"labels that are expressions":    {Exports: in(secrets, list(maxEntries, func(i int) any { return described(i, "''+''") })...)},
		"labels that may be expressions": {Reason: "to find out that they are none takes a compilation each", Exports: in(secrets, list(maxEntries, func(i int) any { return described(i, "-") })...)},
		"labels that are the worst": {Exports: in(secrets, list(maxEntries, func(i int) any {
			return described(i, "string(lists.range(9999).map(x, lists.range(9999).map(y, [x, y])).size())")
		})...)},
		"giant label": {Exports: in(secrets, object("name", "e", "key", "k", "value", "'v'", "labels", object(long("l", 500_000), long("v", 500_000))), fine), Composes: madeFine},
		"giant annotations": {
			Reason: "of 256 KiB, which are allowed, in each of five objects",
			Exports: in(secrets, list(5, func(i int) any {
				return object("name", fmt.Sprint("e-", i), "key", "k", "value", "'v'", "annotations", object("a", long("v", 256<<10-1)))
			})...),
		},
		"giant annotations of one": {
			Reason: "which are too many together",
			Exports: in(secrets, list(5, func(i int) any {
				return object("name", "e", "key", fmt.Sprint("k-", i), "value", "'v'", "annotations", object(fmt.Sprint("a", i), long("v", 256<<10-2)))
			})...),
		},
	})
}

func wrongTypes() map[string]Case {
	out := map[string]Case{}
	for what, v := range map[string]any{
		"null": nil, "a number": 1e300, "true": true, "a string": "x", "a list": []any{1, "a", nil, []any{}}, "an object": map[string]any{"name": "a"}, "an empty list": []any{}, "an empty object": map[string]any{},
	} {
		out["all lists are "+what] = Case{Exports: value(v)}
		out["each list is "+what] = Case{Exports: value(map[string]any{secrets: v, configMaps: v, dynamicSecrets: v, dynamicConfigMaps: []any{fine}}), Composes: []string{"fromComposite/ConfigMap/fine"}}
		out["each entry is "+what] = Case{Exports: value(map[string]any{secrets: []any{v, v, fine}, configMaps: []any{v}, dynamicSecrets: []any{v}, dynamicConfigMaps: []any{v, v}}), Composes: madeFine}
		out["each field is "+what] = Case{
			Exports: value(map[string]any{
				secrets:        []any{map[string]any{"name": v, "key": v, "value": v, "labels": v, "annotations": v}, map[string]any{"name": "e", "key": "k", "value": "'v'", "labels": map[string]any{"l": v}, "annotations": map[string]any{"a": v}}, fine},
				dynamicSecrets: []any{map[string]any{"name": "e", "key": v, "value": v, "valueMap": v}},
			}),
			Composes: madeFine,
		}
	}
	return out
}

// depth returns data that is nested as deep as protobuf can read.
func depth(deepest int) map[string]Case {
	spec := Deep(deepest)
	objects := Deep(-deepest)
	out := map[string]Case{}
	for name, x := range map[string]string{
		"read": "string(type(self.spec.deep))", "returned": "dyn(self.spec.deep)", "compared": "string(self.spec.deep == self.spec.deep)", "compared with a part": "string(self.spec.deep == self.spec.deep[0])",
		"printed": "'%s'.format([self.spec.deep])", "as JSON": "json.encode(self)", "as YAML": "yaml.encode(self.spec.deep)", "flat": "json.encode(self.spec.deep.flatten(10000))", "flat at once": "json.encode(self.spec.deep.flatten())",
		"sorted": "json.encode([self.spec.deep, self.spec.deep].distinct())", "searched": "string(self.spec.deep in [self.spec.deep])", "as an error": "string(int(dyn(self.spec.deep)))", "as a key": "dyn({dyn(self.spec.deep): 1}['x'])",
		"in a map": "{'a': dyn(self.spec.deep)}", "sets": "string(sets.contains([self.spec.deep], [self.spec.deep]))", "again and again": "lists.range(10000).map(x, string(self.spec.deep == self.spec.deep)).join()",
	} {
		for kind, of := range map[string]*structpb.Struct{"lists": spec, "objects": objects} {
			out[kind+" "+name] = Case{Composite: made(structpb.NewStructValue(of)), Exist: []string{"text", "map"}, Exports: in(secrets, entry("text", "k", x), entry("map", "", x))}
		}
	}
	deep := spec.GetFields()["spec"].GetStructValue().GetFields()["deep"]
	// Values below the lists are two or three levels deeper.
	for range 12 {
		deep = deep.GetListValue().GetValues()[0]
	}
	listed := func(v ...*structpb.Value) *structpb.Value {
		return structpb.NewListValue(&structpb.ListValue{Values: v})
	}
	of := func(field string, v *structpb.Value) *structpb.Value {
		return structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{field: v}})
	}
	return merge(out, map[string]Case{
		"in place of all":       {Exports: made(deep)},
		"in place of a list":    {Exports: made(of(secrets, deep))},
		"in place of an entry":  {Exports: made(of(secrets, listed(deep, value(fine)()))), Composes: madeFine},
		"in place of a name":    {Exports: made(of(secrets, listed(of("name", deep), value(fine)()))), Composes: madeFine},
		"in place of a label":   {Exports: made(of(secrets, listed(of("labels", of("l", deep)), value(fine)()))), Composes: madeFine},
		"in an unknown field":   {Exports: made(of(secrets, listed(of("x", deep), value(fine)()))), Composes: madeFine},
		"in place of a literal": {Exports: in(secrets, entry("e", "k", strings.Repeat("[", 2048)+strings.Repeat("]", 2048)), fine), Composes: madeFine},
		"of calls":              {Exports: in(secrets, entry("e", "k", strings.Repeat("string(", 500)+"1"+strings.Repeat(")", 500)), fine), Composes: madeFine},
		"of lists in one line":  {Exports: in(secrets, entry("e", "k", "json.encode("+strings.Repeat("[", 60)+strings.Repeat("]", 60)+")"), fine), Composes: madeFine},
	})
}

// Deep returns a composite with a spec.deep of n nested lists. If n is negative, it consists of objects
// instead of lists: two objects for three lists.
func Deep(n int) *structpb.Struct {
	v := structpb.NewStringValue("x")
	for range n {
		v = structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{v}})
	}
	for range -n * 2 / 3 {
		v = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"x": v}})
	}
	return &structpb.Struct{Fields: map[string]*structpb.Value{"spec": structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"deep": v}})}}
}

// Invalid names, and names that try to refer to other namespaces. Names with a dot between two words are
// valid, and have no special meaning.
func Names() []string {
	return []string{
		"kube-system/x", "/x", "x/", "a.b/../c", "../kube-system/x", "../../x", "..", ".", "a..b", ".a", "a.", "-a", "a-", "kube-system%2Fx", "%2e%2e%2fx", "kube-system%252fx", `kube-system\x`, "kube-system:x",
		"team/x", "Secret/x", "fromComposite/Secret/x", "x\x00", "\x00kube-system/x", "x\n", "x\nnamespace: kube-system", "x\r", "x\t", " x", "x ", "", "x\u00a0", "x\u2028", "x\u200b", "x\u200d", "\ufeffx",
		"x\u202e", "\u202ex", "\u2066kube-system/x\u2069", "\u200fx", "kube-system\u2215x", "kube-system\u2044x", "kube-system\uff0fx", "kube\u2010system", "\u0430", "xr-\u043ewn", "\uff41", "x\u0301", "\u00e9", "\u017f", "\u212a", "\u0131", "\ufb01",
		"x\ufe0f", "A", "XR-OWN", "a_b", "a,b", "a;b", "a b", "a'b", `a"b`, "a{b", "$(x)", "${x}", "{{x}}", "a@b", "a#b", "a?b=c", "~", "*", "\U0001F600", "\u0661", "x\u0660",
		"kube-system.x", "a.x", "team.x", "x.kube-system", long("a", maxName+1), "0x0\u00b9",
	}
}

// Invalid keys, and keys that try to become other file names when they are mounted.
func Keys() []string {
	return []string{
		"../x", "..", ".", "..x", "..data", "...", "../../etc/passwd", "/x", "a/b", "./x", "a/../b", `..\x`, `a\b`, "%2e%2e", "%2e%2e%2fx", "a%00", "k\x00", "\x00", "k\n", "k\nx: y", "k\r", "k\t", " k", "k ", " ", "k\u00a0", "k\u2028",
		"k\u200b", "\ufeffk", "k\u202e", "\u2024\u2024", "\u2025/x", "\uff0e\uff0e", "a\u2215b", "a\uff0fb", "\u043a", "\uff4b", "k\u0301", "\u212a", "\u017f", "\u0131", "k\ufe0f", "k:x", "k;x", "k,x", "k=x", "k'", `k"`, "k{", "$(k)", "${k}", "{{k}}", "*", "~", "\U0001F600", "\u0661",
		long("k", maxName+1),
	}
}

// elsewhere returns names that try to refer to other namespaces, or to objects of other owners.
func elsewhere() map[string]Case {
	names := Names()
	out := map[string]Case{}
	for field, size := range map[string]int{secrets: maxEntries - 2, dynamicConfigMaps: maxEntries - 2} {
		for i := 0; i < len(names); i += size {
			part := names[i:min(len(names), i+size)]
			entries := []any{fine}
			for _, n := range part {
				entries = append(entries, entry(n, "k", "'v'"))
			}
			made := madeFine
			if field == dynamicConfigMaps {
				made = []string{"fromComposite/ConfigMap/fine"}
			}
			out[fmt.Sprintf("%s from %d", field, i)] = Case{Reason: "what is no name is nobody's", Exports: in(field, entries...), Composes: made}
		}
	}
	spec := func(field string, v any) Maker {
		return value(object("spec", object(field, v)))
	}
	mine := in(secrets, fine, entry("a", "k", "'v'"))
	return merge(out, map[string]Case{
		"a claim's namespace":        {Reason: "a composite in a namespace has no claim", Exports: mine, Composite: spec("claimRef", object("namespace", "kube-system", "name", "x")), Composes: madeFine},
		"a connection secret":        {Reason: "which is for older composites", Exports: mine, Composite: spec("writeConnectionSecretToRef", object("namespace", "kube-system", "name", "x")), Composes: madeFine},
		"references of the composed": {Exports: mine, Composite: spec("crossplane", object("resourceRefs", []any{object("apiVersion", "v1", "kind", "Secret", "name", "x", "namespace", "kube-system")})), Composes: madeFine},
		"the input's own name":       {Reason: "it goes first", Exports: exportsOf(map[string][]any{secrets: {fine, entry("xr-own", "p", "'v'")}, dynamicSecrets: {entry("own", "p", "'v'"), entry("xr-own", "q", "'v'")}}), Composes: madeFine, Refuses: []string{"fromComposite/Secret/xr-own"}},
		"an earlier step's name":     {Exports: in(secrets, fine, entry("xr-earlier", "k", "'v'"), entry("earlier", "k", "'v'")), Composes: madeFine, Refuses: []string{"fromComposite/Secret/xr-earlier"}},
		"a name that is referred to": {Reason: "whoever has it has the values of a Helm release", Exports: in(secrets, fine, entry("xr-values", "values.yaml", "'v'"), entry("xr-auth", "k", "'v'")), Composes: madeFine, Refuses: []string{"fromComposite/Secret/xr-values", "fromComposite/Secret/xr-auth"}},
		"labels that others obey": {
			Reason: "a release that Helm trusts, a cluster of Argo CD", Composes: madeFine, Refuses: []string{"fromComposite/Secret/h", "fromComposite/Secret/c"},
			Exports: in(secrets, fine, object("name", "h", "key", "release", "value", "'v'", "labels", object("owner", "helm")), object("name", "c", "key", "k", "value", "'v'", "labels", object("argocd.argoproj.io/secret-type", "cluster"))),
		},
		"somebody else's name":    {Reason: "what is found there is neither taken over nor read", Exports: exportsOf(map[string][]any{secrets: {fine, entry("somebody-elses", "k", "'v'"), entry("somebody-elses", "copy", "string(size(secrets))")}, configMaps: {entry("somebody-elses", "k", "'v'")}}), Composes: madeFine, Refuses: []string{"fromComposite/Secret/somebody-elses", "fromComposite/ConfigMap/somebody-elses"}},
		"a namespace in an entry": {Exports: in(secrets, fine, object("name", "a", "namespace", "kube-system", "key", "k", "value", "'v'"), object("name", "b", "metadata", object("namespace", "kube-system"), "key", "k", "value", "'v'")), Composes: madeFine},
		"Crossplane's labels": {
			Reason: "by which it would take the object for another", Composes: madeFine,
			Exports: in(secrets, append(reserved("labels", "other"), append(reserved("annotations", "other"), fine)...)...),
		},
		"a type": {Exports: exportsOf(map[string][]any{secrets: {fine, object("name", "a", "type", "kubernetes.io/service-account-token", "key", "token", "value", "'v'")}, dynamicSecrets: {object("name", "b", "immutable", true, "key", "k", "value", "'v'")}}), Composes: madeFine},
	})
}

// reserved returns entries, each with a label or an annotation that Crossplane uses.
func reserved(field, value string) []any {
	var out []any
	for _, key := range []string{
		"crossplane.io/composite", "crossplane.io/composition-resource-name", "crossplane.io/claim-name", "crossplane.io/claim-namespace", "crossplane.io/external-name", "crossplane.io/paused", "Crossplane.io/Composite", "CROSSPLANE.IO/composition-resource-name",
		"export.fn.crossplane.io/generator", "apiextensions.crossplane.io/composite", "crossplane.io\u200b/composite", "\u0441rossplane.io/composite", "crossplane\u3002io/composite", "crossplane.io/composite\n",
	} {
		out = append(out, object("name", fmt.Sprintf("%s-%d", field, len(out)), "key", "k", "value", "'v'", field, object(key, value)))
	}
	return out
}

// keys returns keys that try to be other keys: written directly, in a map, and computed.
func keys() map[string]Case {
	var spelled, mapped, computed []any
	for i, k := range Keys() {
		quoted := strconv.QuoteToASCII(k)
		spelled = append(spelled, entry(fmt.Sprint("s-", i), k, "'v'"))
		mapped = append(mapped, entry(fmt.Sprint("m-", i), "", "{"+quoted+": 'v'}"))
		computed = append(computed, entry(fmt.Sprint("c-", i), "", "{'' + "+quoted+": 'v', 'k': 'v'}"))
	}
	return map[string]Case{
		"spelled":     {Exports: in(secrets, append(spelled, fine)...), Composes: madeFine},
		"in maps":     {Exports: in(secrets, append(mapped, fine)...), Composes: madeFine},
		"computed":    {Exports: in(secrets, append(computed, fine)...), Composes: madeFine},
		"ConfigMaps":  {Exports: exportsOf(map[string][]any{configMaps: spelled, dynamicSecrets: {fine}}), Composes: madeFine},
		"no key":      {Exports: in(secrets, entry("a", "", "''"), entry("b", "", "{'': 'v'}"), entry("c", "", "{'' + '': 'v'}"), entry("d", "", "{1: 'v'}"), entry("e", "", "{dyn(1): 'v', 'a': 'v'}"), fine), Composes: madeFine},
		"two of each": {Reason: "a key that is written twice is nobody's", Exports: in(secrets, entry("a", "k", "'v'"), entry("a", "", "{'' + 'k': 'w'}"), entry("b", "", "{'' + 'k': 'w'}"), entry("b", "", "{'k' + '': 'w'}"), fine), Composes: madeFine},
		"almost one":  {Reason: "letters that look alike are others", Exports: in(secrets, entry("a", "k", "'v'"), entry("a", "K", "'v'"), entry("a", "k.", "'v'"), entry("a", ".k", "'v'"), entry("a", "_k", "'v'")), Composes: []string{"fromComposite/Secret/a"}},
	}
}

// leaks returns attacks that try to read data that is not allowed, or to copy allowed data to a place
// where it is not allowed.
func leaks() map[string]Case {
	readers := []string{
		"secrets.cache.password", "secrets['ca' + 'che'].password", "secrets[?'ca' + 'che'].?password.orValue('')", "json.encode(secrets)", "secrets.map(k, secrets[k].map(j, secrets[k][j]).join()).join()", "json.encode(resources)",
		"json.encode(resources['ca' + 'che'])", "resources.cache.status.endpoint", "resources.own.data.p", "resources['o' + 'wn'].data.p", "json.encode(context)", "json.encode(environment)", "json.encode(sources)", "json.encode(variables)",
		"secrets.theirs.k", "secrets[''].password", "json.encode(self)", "json.encode(composite)", "cel.bind(x, secrets, x['ca' + 'che'].password)", "[1].map(secrets, .secrets['ca' + 'che'].password)[0]", ".secrets.cache.password", ".context.step.data.k",
		"secrets.map(k, k).join()", "resources.map(k, k).join()", "secrets.transformList(k, v, k).join()", "secrets.exists(k, k == 'cache') ? 'there' : 'not'", "string('cache' in secrets)", "string(has(secrets.cache))", "string(size(secrets))", "composite.status.x", "secrets['somebody-elses'].k", "json.encode(generated)", "json.encode(previous)",
	}
	takers := []string{
		"secret.password", "secrets.db.password", "json.encode(secrets)", "json.encode(secret)", "string(size(secret.password))", "secret.password.startsWith('c') ? 'yes' : 'no'", "cel.bind(x, secret, x.password)", "[secret].map(x, x.password)[0]",
		"secrets[self.spec.which].password", "dyn({'a': secret})['a'].password", "optional.of(secret).value().password", "[1].map(secret, .secret.password)[0]", ".secret.password", "base64.encode(bytes(secret.password))", "sha256(secret.password)", "hex.encode(hash.md5(secret.password))", "hex.encode(hmac.sha256('k', secret.password))", "base64url.encode(secret.password)", "pem.join([secret.password])", "pem.split(secret.password)[0]", "{}.merge(secret).password", "secret.merge({'password': 'x'}).map(k, k).join()", "dotenv.encode(secret)", "pgpass.encode([secret])", "jdbc.url({'driver': 'mysql', 'host': 'h', 'username': 'u', 'password': secret.password})", "url(secret.password).getHost()", "format.uri().validate(secret.password).orValue(['']).join()",
		"secret.?password.orValue('')", "secret.map(k, secret[k]).join()", "secret.transformList(k, v, v).join()", "string(has(secret.password))", "string('password' in secret)", "type(secret) == map ? 'a' : 'b'", "resources.db.status[secret.password]",
	}
	breakers := []string{
		"string(int(secret.password))", "string(timestamp(secret.password))", "string(duration(secret.password))", "{'a': 'b'}[secret.password]", "self.spec[secret.password]", "string(json.decode(secret.password))", "string(yaml.decode('{' + secret.password))",
		"string(secret.password.matches(secret.password + '('))", "secret.password.substring(100)", "string([1][int(secret.password)])", "string(bool(secret.password))", "secret.password.charAt(99)", "secret.password.format([1])", "('%d' + secret.password).format(['x'])",
		"string(base64.decode(secret.password + '!'))", "string(hex.decode(secret.password))", "string(base64url.decode(secret.password + '!'))", "string(hash.sha256(secret.password))", "string(dyn(secret.password).merge(secret).size())", "pem.split(secret.password)[0]", "pem.join([secret.password, secret.username])", "pem.chain(secret.password)", "pem.privateKey('-----BEGIN ' + secret.password)", "pem.leaf('-----BEGIN CERTIFICATE-----\\n' + base64.encode(bytes(secret.password)) + '\\n-----END CERTIFICATE-----')", "secrets[secret.password].x", "resources[secret.password].x", "string(dyn(secret.password) + 1)", "string(dyn(secret) + 1)", "string(-dyn(secret.password))", "regex.replace('a', secret.password + '(', '')", "toml.encode(dyn(secret.password))", "dotenv.encode({secret.password + '-': 1})", "dotenv.encode({'a': secret.password + '${'})", "ini.encode({'a': {'b': secret.password + '#'}})", "libpq.encode({secret.password + '-': 1})", "redis.url({secret.password: 1})", "mysql.dsn({'host': secret.password + '/'})", "amqp.url({'host': 'h', 'port': secret.password})", "mongodb.url({'host': 'h', 'parameters': {secret.password + ' ': 1}})", "jdbc.url({'driver': secret.password})", "pgpass.encode([{'password': secret.password + ' '}])", "url(secret.password).getHost()", "string(ip(secret.password))", "string(cidr(secret.password))", "string(cidr('10.0.0.0/8').containsIP(secret.password))", "string(ip.isCanonical(secret.password))", "string(quantity(secret.password).asInteger())", "string(semver(secret.password, true).major())", "dyn(url('/' + secret.password))", "string(dyn(url('/' + secret.password)))", "json.encode(url('/' + secret.password))", "string(dyn(url('/' + secret.password)) == 1)", "'%s'.format([dyn(url('/' + secret.password))])",
		"string(double(secret.password))", "string(uint(secret.password))", "secret.password.split('')[99]", "string(lists.range(99999999999).map(x, secret.password))", "string(optional.none().value() + secret.password)",
	}
	var mapped []any
	for i, x := range []string{
		"{secret.password: 'v'}", "{secret.password + '/': 'v'}", "{secret.password: 'v', secret.username: 'w'}", "{'..' + secret.password: 'v'}", "secret.transformMapEntry(k, v, {v: k})", "secret.transformMapEntry(k, v, {v + '/': k})",
		"{'k': secret.password, secret.password + ' ': 'v'}", "secret", "secrets.db", "secrets", "secrets['ca' + 'che']",
	} {
		mapped = append(mapped, entry(fmt.Sprint("e-", i), "", x), entry("all", "", x))
	}
	half := len(takers) / 2 // a request has a limited number of entries
	return map[string]Case{
		"not allowed":                {Exports: in(secrets, append(eachOf(readers), fine)...), Exist: numberedNames(len(readers)), Composes: madeFine},
		"not allowed, by ConfigMaps": {Exports: exportsOf(map[string][]any{configMaps: eachOf(readers), secrets: {fine}}), Composes: madeFine},
		"allowed in Secrets only":    {Exports: exportsOf(map[string][]any{configMaps: eachOf(takers[:half]), secrets: append(eachOf(takers[:half]), fine)}), Composes: append([]string{"fromComposite/Secret/e-0", "fromComposite/Secret/e-1"}, madeFine...)},
		"more in Secrets only":       {Exports: exportsOf(map[string][]any{configMaps: eachOf(takers[half:]), secrets: append(eachOf(takers[half:]), fine)}), Composes: madeFine},
		"errors that hold a value":   {Exports: in(secrets, append(eachOf(breakers), fine)...), Exist: numberedNames(len(breakers)), Composes: madeFine},
		"keys that are values":       {Exports: in(dynamicSecrets, append(valueMaps(mapped), fine)...), Exist: numberedNames(len(mapped)), Composes: madeFine},
		"labels":                     {Exports: in(secrets, append(labelled("labels", readers), fine)...), Composes: madeFine},
		"labels of Secrets":          {Exports: in(secrets, append(labelled("labels", takers), fine)...), Composes: madeFine},
		"annotations":                {Exports: in(secrets, append(labelled("annotations", readers), fine)...), Composes: madeFine},
		"annotations of Secrets":     {Exports: in(secrets, append(labelled("annotations", takers), fine)...), Composes: madeFine},
		"labels that fail":           {Exports: exportsOf(map[string][]any{configMaps: labelled("labels", breakers), secrets: {fine}}), Composes: madeFine},
		"annotations that fail":      {Exports: exportsOf(map[string][]any{configMaps: labelled("annotations", breakers), secrets: {fine}}), Composes: madeFine},
		"a Secret in the composite":  {Composite: value(object("spec", object("which", "db", "x", object("apiVersion", "v1", "kind", "Secret", "data", object("k", "eA=="))))), Exports: exportsOf(map[string][]any{configMaps: eachOf(takers), secrets: {fine}}), Composes: madeFine},
	}
}

// Growth returns exports that an author writes repeatedly, by the way in which they grow. The nth time,
// they have one more object of a megabyte, and the earlier objects are not dropped.
func Growth() map[string]func(n int) Case {
	one := func(n int) map[string]any { return entry("e-"+strconv.Itoa(n), "k", "self.whole") }
	return map[string]func(n int) Case{
		"those before fail": func(n int) Case {
			failing := list(n, func(i int) any { return entry("e-"+strconv.Itoa(i), "k", "string(1 / 0)") })
			return Case{Composite: compositeFor("self.whole"), Exports: in(secrets, append(failing, one(n))...)}
		},
		"those before wait": func(n int) Case {
			waiting := list(n, func(i int) any { return entry("e-"+strconv.Itoa(i), "k", "self.spec.later") })
			return Case{Composite: compositeFor("self.whole"), Exports: in(secrets, append(waiting, one(n))...)}
		},
		"those before are not clear": func(n int) Case {
			return Case{Composite: compositeFor("self.whole"), Exports: in(secrets, one(n), entry("", "k", "'v'"))}
		},
	}
}
