package advice

import "strings"

// Hints that several functions share.
const (
	forPresence = "write for example has(composite.spec.host), or for a default composite.spec.?host.orValue('none')"
	forRandom   = "add generators: [{name: admin, password: {length: 32}}], and write generated.admin.password"
	forUUID     = "add generators: [{name: id, uuid: {}}], and write generated.id.uuid"
	forHash     = "add generators: [{name: hash, bcrypt: {secretExpression: secret.password}}], and write " +
		"generated.hash.hash"
	forHtpasswd = "add generators: [{name: web, htpasswd: {secretExpression: \"{'admin': secret.password}\"}}], " +
		"and write generated.web.auth"
	forCA = "add generators: [{name: ca, refreshPolicy: OnChange, certificate: {isCA: true, subject: {commonName: " +
		"ca}}}], and write generated.ca['tls.crt']"
	forCertificate = "add generators: [{name: tls, refreshPolicy: OnChange, certificate: {subject: {commonName: " +
		"app}, dnsNames: [app.example.org]}}], and write generated.tls['tls.crt']"
	forSSHKey   = "add generators: [{name: key, sshKey: {}}], and write generated.key.privateKey"
	forClock    = "expressions have no clock: read a time from an object, as in composite.metadata.creationTimestamp"
	forPattern  = "write regex.replace(text, pattern, new), with r'\\1' for its first group"
	forReplace  = "write text.replace(old, new)"
	forChain    = "write pem.leaf(text), pem.ca(text) or pem.chain(text)"
	forBlocks   = "write pem.certificates(text), pem.privateKey(text) or pem.split(text)"
	forElements = "iterate over the map to read its keys: map.map(key, key)"
)

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
		"write text.lowerAscii()":                                    "lower tolower tolowercase downcase asciidowncase",
		"write text.upperAscii()":                                    "upper toupper touppercase upcase asciiupcase",
		"write text.trim()":                                          "strip trimspace",
		"write text.startsWith(part)":                                "hasprefix",
		"write text.endsWith(part)":                                  "hassuffix",
		forPattern:                                                   "regexreplaceall regexreplace resub",
		forReplace:                                                   "replaceall gsub",
		"write text.matches(pattern)":                                "regexmatch match search test",
		"write regex.extract(text, pattern)":                         "capture regexfind",
		"write regex.extractAll(text, pattern)":                      "findall regexfindall scan",
		"write regex.replace(text, '^prefix', '')":                   "trimprefix removeprefix ltrimstr trimleft",
		"write regex.replace(text, 'suffix$', '')":                   "trimsuffix removesuffix rtrimstr trimright",
		"write text.substring(start, end)":                           "substr",
		"write text.substring(0, 8)":                                 "truncate trunc left abbrev",
		"write '%s:%s'.format([a, b])":                               "printf sprintf fmt interpolate",
		notEncoded:                                                   "b64enc base64encode tobase64 base64 encodebase64 btoa b64encode",
		"write string(base64.decode(text))":                          "b64dec base64decode frombase64 decodebase64 atob b64decode",
		"write json.encode(value)":                                   "tojson jsonencode dumps marshal stringify tojsonstring",
		"write json.decode(text)":                                    "fromjson jsondecode parsejson loads unmarshal json.parse",
		"write yaml.encode(value)":                                   "toyaml yamlencode yaml.dump",
		"write yaml.decode(text)":                                    "fromyaml yamldecode yaml.load yaml.safeload yaml.parse",
		"write url.queryEscape(text)":                                "urlquery urlencode encodeuricomponent uri",
		"write hex.encode(text)":                                     "hex tohex hexencode bin2hex hexlify hexenc",
		"write hex.decode(text)":                                     "fromhex unhex hexdecode hex2bin unhexlify hexdec",
		"write base64url.encode(text)":                               "base64urlencode b64urlencode urlsafeb64encode base64.urlencode",
		"write base64url.decode(text)":                               "base64urldecode b64urldecode urlsafeb64decode base64.urldecode",
		"write sha256(text)":                                         "sha256sum hash",
		forChain:                                                     "filtercertchain",
		forBlocks:                                                    "filterpem pemcertificate pemprivatekey",
		"write hex.encode(hash.sha1(text))":                          "sha1 sha1sum",
		"write hex.encode(hash.sha512(text))":                        "sha512 sha512sum",
		"write hex.encode(hash.md5(text))":                           "md5 md5sum",
		"write hex.encode(hmac.sha256(key, text))":                   "hmac hmacsha256 hmac.new",
		"write hmac.sha256(key, text), which is the only keyed hash": "hmac.sha512 hmac.sha1 hmac.md5 hmacsha512 hmacsha1",
		"compute it in a step before, and select it from the resource of this step": "argon2 scrypt",
		forHash:                                       "bcrypt bcrypt.hash hashpw",
		forHtpasswd:                                   "htpasswd",
		forCA:                                         "genca gencawithkey",
		forCertificate:                                "genselfsignedcert gensignedcert genselfsignedcertwithkey gensignedcertwithkey",
		forSSHKey:                                     "genprivatekey",
		forUUID:                                       "uuid uuidv4 uuid.v4",
		"write for example " + forDefault:             "default coalesce getordefault get dig",
		forPresence:                                   "defined isset isdefined empty isempty try can isnull isnone hasattr haskey",
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
