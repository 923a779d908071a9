package advice

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/engine/celast"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// This file explains variables and functions that do not exist.

// noVariable returns the message for a variable that does not exist, and suggests another one. It is empty if another
// message is about the same mistake.
func (m *explainer) noVariable(err *expression.Error) string {
	parent, local, at := parentOf(err.Node), err.Name, m.at(err)
	if m.ofUnknown(parent) {
		return ""
	}
	text := "there is no variable " + local
	if meant := m.Declared(err.Node.AsIdent()); meant != "" {
		return text + m.script().replace(at, at+len(local), meant, ": write "+meant)
	}
	if isInput(local) || slices.Contains([]string{expression.Generation, expression.Variables, expression.Item}, local) {
		return fmt.Sprintf("%s here: %s", text, m.listed())
	}
	isText := parent == nil || celast.IsCall(parent, operators.Add)
	if !isText && constants[strings.ToLower(local)] != "" {
		return fmt.Sprintf("there is no %s: write %s", local, constants[strings.ToLower(local)])
	}
	if wrong, meant := m.meantVariable(err, parent); meant != "" {
		return text + m.script().replace(at, at+len(wrong), meant, suggest.DidYouMean(meant))
	}
	return text + ": " + m.insteadOfVariable(local, parent, isText)
}

// meantVariable returns the variable, or the path, that is probably meant, and the text that it replaces.
func (m *explainer) meantVariable(err *expression.Error, parent ast.Expr) (wrong, meant string) {
	path := m.script().pathAt(m.at(err))
	foreign := translated(cmp.Or(path, err.Name))
	isObject := parent != nil && parent.Kind() == ast.SelectKind &&
		slices.Contains([]string{"spec", "status", "metadata"}, parent.AsSelect().FieldName())
	switch {
	case err.Nearest() != "":
		return err.Name, err.Nearest()
	case slices.Contains(err.Names, root(foreign)):
		return cmp.Or(path, err.Name), foreign
	case slices.Contains(err.Names, expression.Resources) && isObject:
		return path, expression.Resources + "." + path // a composed resource
	}
	return "", ""
}

// insteadOfVariable returns what to write instead of a variable that does not exist, if no other variable is
// meant. isText reports whether the variable may be a text without quotes.
func (m *explainer) insteadOfVariable(local string, parent ast.NavigableExpr, isText bool) string {
	names := m.Environment.Names(m.Source)
	switch {
	case foreignHint(local) != "" && !isText:
		return foreignHint(local)
	case parent != nil && parent.Kind() == ast.MapKind:
		return fmt.Sprintf("write a key in quotes, '%s'", local)
	case parent != nil && parent.Kind() == ast.SelectKind && slices.Contains(names, expression.Resources):
		return fmt.Sprintf("%s; a composed resource is resources.%s", m.listed(), local)
	case len(names) > 1 && isText:
		return "write " + textInQuotes + "\"'some text'\""
	}
	return m.listed()
}

// listed lists the variables that the source sees.
func (m *explainer) listed() string {
	names := m.Environment.Names(m.Source)
	if len(names) == 1 {
		return "the only variable is " + names[0]
	}
	return "the variables are " + strings.Join(names, ", ")
}

// noItem returns the message for a variable of an item that a source does not see.
func (m *explainer) noItem(variable string) string {
	text := fmt.Sprintf("there is no variable %s here: ", variable)
	if m.Source.Items == expression.ItemKey || m.Source.Items == expression.ItemList {
		return text + "write it in the fields below forEachExpression and keyExpression, which return the items and " +
			"their keys"
	}
	if m.Tree.Expr().Kind() == ast.IdentKind {
		text += fmt.Sprintf("write %s\"'%s'\"; ", textInQuotes, variable)
	}
	return text + "only an export or a generator with forEachExpression and keyExpression has one"
}

// noFunction returns the message for a function that does not exist, and suggests another one. at is the offset
// of its name.
func (m *explainer) noFunction(e ast.Expr, at int) string {
	call := e.AsCall()
	name := call.FunctionName()
	isVariable := call.IsMemberFunction() && call.Target().Kind() == ast.IdentKind
	if isVariable && m.typeOf(call.Target()).Kind() == types.ErrorKind { // a namespace, as in json.loads
		name = strings.TrimLeft(call.Target().AsIdent(), ".") + "." + name
	}
	text := "there is no function " + name
	last := name[strings.LastIndexByte(name, '.')+1:]
	hint := cmp.Or(foreignHint(name), foreignHint(last))
	if hint == forReplace && len(call.Args()) > 0 && isPattern(call.Args()[0]) {
		hint = forPattern
	}
	if strings.HasSuffix(hint, forDefault) && call.IsMemberFunction() {
		hint = "for a default write " + m.script().withDefaultBefore(at-1, "")
	}
	if hint != "" {
		return text + ": " + hint
	}
	if form, ok := macroForms[last]; ok {
		return form
	}
	switch meant := m.meantFunction(name, last); {
	case strings.Contains(meant, " "):
		return text + suggest.DidYouMean(meant)
	case meant != "":
		return text + m.script().replace(at+len(last)-len(name), at+len(last), meant, suggest.DidYouMean(meant))
	}
	return text + ": https://github.com/crossplane-contrib/function-export/tree/main/input lists all functions"
}

// meantFunction returns the existing function that is probably meant: the nearest one, or those with the same name in
// a namespace.
func (m *explainer) meantFunction(name, last string) string {
	var names, namespaced []string
	for fn := range m.Environment.CEL().Functions() {
		if isOperator(fn) || strings.Contains(fn, "@") {
			continue
		}
		names = append(names, fn)
		if strings.HasSuffix(fn, "."+last) {
			namespaced = append(namespaced, fn)
		}
	}
	for _, macro := range m.Environment.CEL().Macros() {
		names = append(names, macro.Function())
	}
	slices.Sort(names)
	slices.Sort(namespaced)
	return cmp.Or(suggest.Nearest(name, names), strings.Join(namespaced, " or "))
}

// macroForms describe the arguments of macros, which are no functions if they have other arguments.
var macroForms = func() map[string]string { //nolint:gochecknoglobals // a table
	out := map[string]string{
		"has":  "has takes one field: write for example has(resource.status.host)",
		"bind": "bind takes a name, a value and an expression: write for example cel.bind(x, secret.host, x + ':' + x)",
	}
	for name := range strings.FieldsSeq("all exists exists_one existsOne map filter sortBy optMap optFlatMap " +
		"transformList transformMap transformMapEntry") {
		out[name] = fmt.Sprintf("%s takes a name for each element and an expression that uses the name: "+
			"write for example list.%s(x, x.name)", name, name)
	}
	out["exists"] += ", or has(composite.spec.host) to test a field"
	return out
}()

// ofUnknown reports whether one of the nodes around a node is a method that does not exist: the node may be its
// namespace, or the name for each element, as in list.reduce(x, x.name).
func (m *explainer) ofUnknown(parent ast.NavigableExpr) bool {
	for p, ok := parent, parent != nil; ok; p, ok = p.Parent() {
		if p.Kind() == ast.CallKind && p.AsCall().IsMemberFunction() &&
			m.Environment.CEL().Functions()[p.AsCall().FunctionName()] == nil {
			return true
		}
	}
	return false
}

// Hints that several functions share.
const (
	forPresence = "write for example has(composite.spec.host), or for a default composite.spec.?host.orValue('none')"
	forClock    = "expressions have no clock: read a time from an object, as in composite.metadata.creationTimestamp"
	forPattern  = "write regex.replace(text, pattern, new), with r'\\1' for its first group"
	forReplace  = "write text.replace(old, new)"
	forChain    = "write pem.leaf(text), pem.ca(text) or pem.chain(text)"
	forBlocks   = "write pem.certificates(text), pem.privateKey(text) or pem.split(text)"
	forElements = "iterate over the map to read its keys: map.map(key, key)"
)

// Hints for functions that exist as generators.
var (
	forRandom   = asGenerated("name: admin, password: {length: 32}", "admin.password")
	forUUID     = asGenerated("name: id, uuid: {}", "id.uuid")
	forHash     = asGenerated("name: hash, bcrypt: {secretExpression: secret.password}", "hash.hash")
	forHtpasswd = asGenerated(`name: web, htpasswd: {secretExpression: "{'admin': secret.password}"}`, "web.auth")
	forSSHKey   = asGenerated("name: key, sshKey: {}", "key.privateKey")
	forCA       = asGenerated("name: ca, refreshPolicy: OnChange, certificate: {isCA: true, subject: {commonName: ca}}",
		"ca['tls.crt']")
	forCertificate = asGenerated("name: tls, refreshPolicy: OnChange, certificate: {subject: {commonName: app}, "+
		"dnsNames: [app.example.org]}", "tls['tls.crt']")
)

// asGenerated returns the hint to generate a value.
func asGenerated(generator, output string) string {
	return "add generators: [{" + generator + "}], and write generated." + output
}

// notEncoded is the hint for a function that encodes in Base64, as templates of Secrets need it.
const notEncoded = "leave it out, because the data of a Secret is encoded for you, " +
	"or write base64.encode(bytes(text)) to encode it twice"

// What to write for functions of other languages. Their names are in lower case, without _. A name with a dot
// is used before the part after its dot.
var foreignFunctions = func() map[string]string { //nolint:gochecknoglobals // a table
	out := map[string]string{}
	for hint, names := range map[string]string{
		"write size(value)":   "len length count",
		"write string(value)": "tostring str quote tos",
		"write int(value)":    "toint parseint atoi integer",
		"write double(value)": "float tofloat parsefloat number",
		"write the value alone, and list its key under nonSensitive of the same item, as in nonSensitive: " +
			"[db.username]": "nonsensitive",
		"write text.lowerAscii()":                  "lower tolower tolowercase downcase asciidowncase",
		"write text.upperAscii()":                  "upper toupper touppercase upcase asciiupcase",
		"write text.trim()":                        "strip trimspace",
		"write text.startsWith(part)":              "hasprefix",
		"write text.endsWith(part)":                "hassuffix",
		forPattern:                                 "regexreplaceall regexreplace resub",
		forReplace:                                 "replaceall gsub",
		"write text.matches(pattern)":              "regexmatch match search test",
		"write regex.extract(text, pattern)":       "capture regexfind",
		"write regex.extractAll(text, pattern)":    "findall regexfindall scan",
		"write regex.replace(text, '^prefix', '')": "trimprefix removeprefix ltrimstr trimleft",
		"write regex.replace(text, 'suffix$', '')": "trimsuffix removesuffix rtrimstr trimright",
		"write text.substring(start, end)":         "substr",
		"write text.substring(0, 8)":               "truncate trunc left abbrev",
		"write '%s:%s'.format([a, b])":             "printf sprintf fmt interpolate",
		notEncoded:                                 "b64enc base64encode tobase64 base64 encodebase64 btoa b64encode",
		"write string(base64.decode(text))":        "b64dec base64decode frombase64 decodebase64 atob b64decode",
		"write json.encode(value)":                 "tojson jsonencode dumps marshal stringify tojsonstring",
		"write json.decode(text)":                  "fromjson jsondecode parsejson loads unmarshal json.parse",
		"write yaml.encode(value)":                 "toyaml yamlencode yaml.dump",
		"write yaml.decode(text)":                  "fromyaml yamldecode yaml.load yaml.safeload yaml.parse",
		"write url.queryEscape(text)":              "urlquery urlencode encodeuricomponent uri",
		"write hex.encode(text)":                   "hex tohex hexencode bin2hex hexlify hexenc",
		"write hex.decode(text)":                   "fromhex unhex hexdecode hex2bin unhexlify hexdec",
		"write base64url.encode(text)":             "base64urlencode b64urlencode urlsafeb64encode base64.urlencode",
		"write base64url.decode(text)":             "base64urldecode b64urldecode urlsafeb64decode base64.urldecode",
		"write sha256(text)":                       "sha256sum hash",
		forChain:                                   "filtercertchain",
		forBlocks:                                  "filterpem pemcertificate pemprivatekey",
		"write hex.encode(hash.sha1(text))":        "sha1 sha1sum",
		"write hex.encode(hash.sha512(text))":      "sha512 sha512sum",
		"write hex.encode(hash.md5(text))":         "md5 md5sum",
		"write hex.encode(hmac.sha256(key, text))": "hmac hmacsha256 hmac.new",
		"write hmac.sha256(key, text), which is the only keyed hash": "hmac.sha512 hmac.sha1 hmac.md5 " +
			"hmacsha512 hmacsha1",
		"compute it in a step before, and select it from the resource of this step": "argon2 scrypt",
		forHash:     "bcrypt bcrypt.hash hashpw",
		forHtpasswd: "htpasswd",
		forCA:       "genca gencawithkey",
		forCertificate: "genselfsignedcert gensignedcert genselfsignedcertwithkey " +
			"gensignedcertwithkey",
		forSSHKey:                         "genprivatekey",
		forUUID:                           "uuid uuidv4 uuid.v4",
		"write for example " + forDefault: "default coalesce getordefault get dig",
		forPresence: "defined isset isdefined empty isempty " +
			"try can isnull isnone hasattr haskey",
		"write orValue for a default value":           "orelse ordefault getorelse unwrapor",
		"write condition ? one : other":               "tern ternary iff ifelse",
		"write a + b":                                 "concat",
		"write list + [value]":                        "append push extend",
		"write math.least(list)":                      "min",
		"write math.greatest(list)":                   "max",
		"write list[0]":                               "head",
		"write list.slice(0, 3)":                      "take limit",
		"write list.map(x, x.name)":                   "foreach collect each pluck",
		"write list.filter(x, x.ready)":               "select where",
		"write list.filter(x, x.ready)[0]":            "find findfirst",
		"write list.exists(x, x.ready)":               "any some",
		"write list.all(x, x.ready)":                  "every",
		"write list.distinct()":                       "unique uniq",
		"write list.sort()":                           "sorted",
		"write value in list, or text.contains(part)": "includes",
		forElements:                                   "keys",
		"iterate over the map to read its values: map.map(key, map[key])": "values items entries toentries",
		strings.TrimPrefix(noMerge, ": "):                                 "mergeoverwrite deepmerge assign update union",
		forRandom: "random randalphanum randascii randnumeric randbytes derivepassword " +
			"randalpha randstring random.seededstring seededint genpassword rand",
		"put the object under sources, and write sources.name.spec.host, or secrets.name.key for a Secret": "lookup",
		"write secrets.db.password for a connection detail of db; put another Secret under sources, " +
			"and write secrets.name.key": "secretref secretkeyref valuefrom getsecret",
		"write resource.status.conditions.filter(c, c.type == 'Ready')[0].status": "getresourcecondition " +
			"getcompositeresourcecondition getcondition",
		"write resources.db, or secrets.db for its connection details": "getcomposedresource getcomposedconnectiondetails",
		"write composite": "getcompositeresource",
		"write composite for its .oxr, and resources for its .ocds": "option",
		forClock: "now today timestamp.now time.now date.now time timestamp date datetime",
		"CEL cannot add up a list: select the elements one by one":            "sum reduce fold avg",
		"write optional.none() with optional: true to leave a key out":        "omit",
		"put the value into an EnvironmentConfig, and write environment.name": "env getenv os process environ",
		"leave it out: a missing value is waited for":                         "required fail error raise throw",
	} {
		for _, name := range strings.Fields(names) {
			out[name] = hint
		}
	}
	return out
}()

// foreignHint returns what to write for a function of another language, or an empty text.
func foreignHint(name string) string {
	return foreignFunctions[strings.ToLower(strings.ReplaceAll(name, "_", ""))]
}
