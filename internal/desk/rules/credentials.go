package rules

import (
	"strings"

	"cel.dev/cel-go/common/ast"

	"github.com/crossplane-contrib/function-export/internal/engine/celast"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// LiteralCredential is the name of the rule about credentials in texts. Its diagnostics show no line of the file.
const LiteralCredential = "literal-credential"

// tokens are the forms of tokens and keys of common systems, and of a URL with a password.
var tokens = lazy.MustCompile(strings.Join([]string{
	`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`, `\bgh[pousr]_[A-Za-z0-9]{30,}`, `\bgithub_pat_\w{30,}`, `\bglpat-[\w-]{20,}`,
	`\bxox[abprs]-[\w-]{10,}`,
	`-----BEGIN [A-Z ]*PRIVATE KEY-----`, `\beyJ[\w-]{10,}\.eyJ[\w-]{10,}`, `\b[sr]k_live_\w{16,}`,
	`\bAIza[\w-]{35}`, `\bnpm_[A-Za-z0-9]{36}`,
	`\bhv[sb]\.[\w-]{24,}`, `\bdop_v1_[a-f0-9]{32,}`, `\bSG\.[\w-]{16,}\.[\w-]{16,}`,
	`[a-z]://[^/\s:@'"%{}$<]+:[^/\s@'"%{}$<]{3,}@`,
}, "|"))

// secretKey matches the names of keys whose value is a credential.
var secretKey = lazy.MustCompile(
	`(?i)(?:^|[-_./])(?:password|passwd|passphrase|pwd|token|api[-_]?key|secret[-_]?key|access[-_]?key|` +
		`private[-_]?key|client[-_]?secret|(?:token|jwt|session)[-_](?:key|secret))$`)

// reference matches values that name or describe something instead of being a credential.
var reference = lazy.MustCompile(`(?i)^(?:true|false|none|enabled|disabled|required|optional|null|` +
	`[0-9.]*|.{0,3})$|[/{}$<> ]|^[a-z]+(?:-[a-z]+)*$`)

// readable is the reason of the rule, and what to write.
const readable = "and everybody who reads the Composition can read it: put it into a Secret and name it under " +
	"sources, or generate it"

// literalCredential finds credentials in literal texts: in the metadata and data of exports, in texts of expressions,
// and in generators.
func literalCredential(v *View, say Say) {
	for _, e := range v.Plan.Exports {
		literalText(say, e.At("metadata", "name").String(), "", e.Metadata.Name)
		for name, texts := range map[string]map[string]string{"labels": e.Metadata.Labels,
			"annotations": e.Metadata.Annotations} {
			for key, text := range texts {
				literalText(say, e.At("metadata", name).Key(key).String(), key, text)
			}
		}
		for _, d := range e.Data {
			literalData(say, d)
		}
	}
	for _, x := range v.Plan.Expressions {
		for _, t := range x.Texts() {
			if tokens().MatchString(t.Value) && !t.Needle {
				say(t.Place, "contains a credential, "+readable)
			}
		}
	}
	for _, m := range v.Plan.Generators {
		if m.Manifest != nil && tokens().MatchString(m.Manifest.Base.String()) {
			say(field(m.Path.Child(plan.KindResource, "manifest").String()), "contains a credential, "+readable)
		}
		for key, text := range m.Labels {
			literalText(say, m.Path.Child("labels").Key(key).String(), key, text)
		}
	}
}

// literalText reports the text of a field. key is the name of a label or an annotation, or empty.
func literalText(say Say, path, key, text string) {
	switch {
	case tokens().MatchString(text):
		say(field(path), "contains a credential, "+readable)
	case secretKey().MatchString(key) && !reference().MatchString(text):
		say(field(path), "is a credential by its name, "+readable)
	}
}

// literalData reports a literal value of a key, or of an entry of a map.
func literalData(say Say, d plan.Entry) {
	report := func(key string, value ast.Expr) {
		text, ok := celast.Text(value)
		if ok && secretKey().MatchString(key) && !tokens().MatchString(text) && len(text) > 3 &&
			!strings.ContainsAny(text, "/{}$<> ") {
			say(field(d.Path), "is a credential by the name of its key, "+readable)
		}
	}
	report(d.Key, d.Value.Tree().Expr())
	for _, entry := range entries(d.Value) {
		key, _ := celast.Text(entry.Key())
		report(key, entry.Value())
	}
}
