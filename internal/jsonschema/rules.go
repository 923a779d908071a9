package main

// A translation says a rule in draft-07, as far as that can.
type translation struct {
	says schema // nothing if nil
	lost string // what it cannot say of the rule, and only the function refuses
}

// The translations of all rules by their text.
var translations = map[string]translation{
	// Fields that exclude each other, or of which one has to be there.
	"!(has(self.name) && has(self.nameExpression))":                                                                                      {says: exclusive("name", "nameExpression")},
	"!(has(self.__namespace__) && has(self.namespaceExpression))":                                                                        {says: exclusive("namespace", "namespaceExpression")},
	"!(has(self.resource) && has(self.__namespace__))":                                                                                   {says: exclusive("resource", "namespace")},
	"has(self.value) != has(self.valueMap)":                                                                                              {says: one("value", "valueMap")},
	"has(self.template) != has(self.keyExpression)":                                                                                      {says: one("template", "keyExpression")},
	"has(self.value) == has(self.key)":                                                                                                   {says: both("value", "key")},
	"has(self.ca) || has(self.subject)":                                                                                                  {says: some("ca", "subject")},
	"has(self.commonName) || has(self.organizations)":                                                                                    {says: some("commonName", "organizations")},
	"has(self.data) || has(self.dataFrom)":                                                                                               {says: some("data", "dataFrom")},
	"has(self.path) || has(self.name) || has(self.tags)":                                                                                 {says: some("path", "name", "tags")},
	"!(has(self.isCA) && self.isCA && has(self.ca))":                                                                                     {says: when(is("isCA", true), without("ca"))},
	"!has(self.manifest) || !has(self.manifest.metadata) || !has(self.manifest.metadata.name)":                                           {says: inside("manifest", inside("metadata", without("name")))},
	"!(has(self.isCA) && self.isCA && (has(self.dnsNames) || has(self.ipAddresses)))":                                                    {says: when(is("isCA", true), without("dnsNames", "ipAddresses"))},
	"(has(self.extract) ? 1 : 0) + (has(self.find) ? 1 : 0) + (has(self.valueMap) ? 1 : 0) == 1":                                         {says: one("extract", "find", "valueMap")},
	"(has(self.regexp) ? 1 : 0) + (has(self.merge) ? 1 : 0) + (has(self.transform) ? 1 : 0) == 1":                                        {says: one("regexp", "merge", "transform")},
	"(has(self.matchName) ? 1 : 0) + (has(self.nameExpression) ? 1 : 0) + (has(self.matchLabels) ? 1 : 0) <= 1":                          {says: exclusive("matchName", "nameExpression", "matchLabels")},
	"[has(self.password), has(self.uuid), has(self.sshKey), has(self.certificate), has(self.totp), has(self.resource)].exists_one(x, x)": {says: one("password", "uuid", "sshKey", "certificate", "totp", "resource")},

	// Fields that others depend on.
	"has(self.strategy) && self.strategy == 'JSON' ? has(self.into) : !has(self.into)":                                     {says: either(is("strategy", "JSON"), has("into"), without("into"))},
	"has(self.type) && self.type == 'Selector' ? has(self.selector) : has(self.ref)":                                       {says: either(is("type", "Selector"), has("selector"), has("ref"))},
	"has(self.type) && self.type == 'Value' ? has(self.value) : has(self.valueFromFieldPath)":                              {says: either(is("type", "Value"), has("value"), has("valueFromFieldPath"))},
	"has(self.refreshPolicy) && self.refreshPolicy == 'Periodic' ? has(self.refreshInterval) : !has(self.refreshInterval)": {says: either(is("refreshPolicy", "Periodic"), has("refreshInterval"), without("refreshInterval"))},
	"!has(self.keepersExpression) || (has(self.refreshPolicy) && self.refreshPolicy != 'CreatedOnce')":                     {says: unless(other("refreshPolicy", "CreatedOnce"), without("keepersExpression"))},
	"!(has(self.certificate) && has(self.certificate.renewBefore)) || (has(self.refreshPolicy) && self.refreshPolicy != 'CreatedOnce')": {says: unless(other("refreshPolicy", "CreatedOnce"),
		inside("certificate", without("renewBefore")))},
	"!has(self.totp) || (!has(self.gracePeriod) && !has(self.__namespace__) && (!has(self.refreshPolicy) || self.refreshPolicy == 'CreatedOnce'))": {says: when(has("totp"),
		all(without("gracePeriod", "namespace"), inside("refreshPolicy", schema{"const": "CreatedOnce"})))},
	"!(has(self.scope) && self.scope == 'Cluster' && has(self.__namespace__))":                                   {says: when(is("scope", "Cluster"), without("namespace"))},
	"!(self.apiVersion == 'v1' && self.kind == 'Secret' && has(self.nameExpression) && has(self.__namespace__))": {says: when(all(ofCore("Secret"), has("nameExpression")), without("namespace"))},
	"!(self.apiVersion == 'v1' && self.kind == 'Secret' && has(self.scope) && self.scope == 'Cluster')":          {says: when(ofCore("Secret"), inside("scope", never(schema{"const": "Cluster"})))},
	"!has(self.bits) || (has(self.type) && self.type != 'ed25519')":                                              {says: unless(other("type", "ed25519"), without("bits"))},
	"!has(self.bits) || (has(self.type) && self.bits in (self.type == 'rsa' ? [2048, 3072, 4096] : [256, 384, 521]))": {says: when(has("bits"),
		all(has("type"), either(is("type", "rsa"), inside("bits", schema{"enum": []int{2048, 3072, 4096}}), inside("bits", schema{"enum": []int{256, 384, 521}}))))},
	"!has(self.manifest) || (has(self.manifest.apiVersion) && has(self.manifest.kind) && size(self.manifest.apiVersion) > 0 && size(self.manifest.kind) > 0)": {says: inside("manifest",
		all(has("apiVersion", "kind"), inside("apiVersion", schema{"pattern": "."}), inside("kind", schema{"pattern": "."})))},
	"!(has(self.manifest) && has(self.manifest.apiVersion) && has(self.manifest.kind) && self.manifest.apiVersion == 'v1' && self.manifest.kind in ['Secret', 'ConfigMap']) || has(self.readyExpression)": {says: when(
		all(has("manifest"), inside("manifest", ofCore("Secret", "ConfigMap"))), has("readyExpression"))},
	"!has(self.from) || (has(self.allow) && has(self.allow.secrets) && self.from in self.allow.secrets)": {
		says: when(has("from"), all(has("allow"), inside("allow", has("secrets")))),
		lost: "that from is one of them",
	},

	// Texts.
	"self != 'kubernetes.io/service-account-token'":    {says: never(schema{"const": "kubernetes.io/service-account-token"})},
	"self != '.' && !self.startsWith('..')":            {says: never(matching(`^\.(\.|$)`))},
	"!self.startsWith('fromComposite/')":               {says: never(matching("^fromComposite/"))},
	"!self.startsWith('generated/')":                   {says: never(matching("^generated/"))},
	"!(self in ['composite', 'environment'])":          {says: never(schema{"enum": []string{"composite", "environment"}})},
	"self.matches('^spec($|[.])')":                     {says: schema{"pattern": "^spec($|[.])"}},
	"!self.matches('^(conditions|crossplane)($|[.])')": {says: never(matching("^(conditions|crossplane)($|[.])"))},
	"self.all(k, k.matches('^[-._a-zA-Z0-9]{1,253}$') && k != '.' && !k.startsWith('..') && size(self[k]) > 0 && size(self[k]) <= 4096)": {says: schema{
		"propertyNames":        all(schema{"pattern": "^[-._a-zA-Z0-9]{1,253}$"}, never(matching(`^\.(\.|$)`))),
		"additionalProperties": schema{"minLength": 1, "maxLength": 4096},
	}},

	// Durations: what they are, but not how long.
	"duration(self) == duration('0s') || (duration(self) >= duration('1s') && duration(self) <= duration('24h'))":                                          duration,
	"duration(self) >= duration('0s') && duration(self) <= duration('876000h')":                                                                            duration,
	"duration(self) >= duration('1h') && duration(self) <= duration('876000h')":                                                                            duration,
	"duration(self) >= duration('1m') && duration(self) <= duration('876000h')":                                                                            duration,
	"duration(self) >= duration('5m') && duration(self) <= duration('876000h')":                                                                            duration,
	"duration(self) >= duration('5s') && duration(self) <= duration('1h') && duration(self).getMilliseconds() % 1000 == 0":                                 duration,
	"!(has(self.gracePeriod) && has(self.refreshInterval)) || duration(self.gracePeriod).getSeconds() <= 15 * duration(self.refreshInterval).getSeconds()": {lost: "it counts"},

	// What draft-07 has no words for.
	"(has(self.length) ? self.length : 24) >= (has(self.digits) ? self.digits : 0) + (has(self.symbols) ? self.symbols : 0)": {lost: "it adds"},
	"!has(self.secrets) || !has(self.configMaps) || !self.secrets.exists(s, self.configMaps.exists(c, c.name == s.name))":    {lost: "it compares two lists"},
}

// A duration, as Go and CEL write it.
var duration = translation{
	says: schema{"pattern": `^[-+]?(0|(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`},
	lost: "how long it is",
}
