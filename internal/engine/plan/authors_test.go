package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// authored returns what is refused of each object that a composite author asks for, and the labels and annotations that
// are not refused. An expression is in parentheses.
func authored(t *testing.T, input, asks string) []string {
	t.Helper()
	p, wrong := plantest.Compile(t, plantest.Exports("fromComposite: {fieldPath: spec, "+input+"}"))
	if wrong != nil {
		t.Fatal(wrong)
	}
	w := p.Authors.Read(wire.Of(plantest.Parse(t, "spec: {"+asks+"}")))
	out := slices.Clone(w.Faults)
	for _, e := range w.Exports {
		for _, f := range e.Faults {
			out = append(out, strings.ReplaceAll(f, e.Path.String(),
				"["+e.Path.String()[strings.LastIndex(e.Path.String(), "[")+1:]))
		}
		m := e.Metadata
		for _, texts := range []map[string]string{m.Labels, m.Annotations} {
			for _, k := range plan.SortedKeys(texts) {
				out = append(out, fmt.Sprintf("%s: %s=%.20s", e, k, texts[k]))
			}
		}
		for _, k := range plan.SortedKeys(m.LabelValues) {
			out = append(out, fmt.Sprintf("%s: %s=(%s)", e, k, m.LabelValues[k].Source().Text))
		}
		for _, k := range plan.SortedKeys(m.AnnotationValues) {
			out = append(out, fmt.Sprintf("%s: %s=(%.20s)", e, k, m.AnnotationValues[k].Source().Text))
		}
	}
	return out
}

// Composite authors use what the Composition allows, and secret data only in the values of Secrets.
func TestWhatAuthorsMayUse(t *testing.T) {
	const (
		one     = "allow: {secrets: [db], resources: [db], environment: true}"
		two     = "allow: {secrets: [db, cache], resources: [db, cache]}"
		none    = "allow: {}"
		only    = " may be used only in the value of a Secret: move it to secretExpressions or dynamicSecrets"
		several = "secret is not set here, because the Composition allows several inputs: use secrets.db, secrets.cache"
	)
	entry := func(list, value string) string { return list + `: [{name: a, key: k, value: "` + value + `"}]` }
	for name, c := range map[string]struct {
		reason, input, asks string
		want                []string
	}{
		"Composite": {"it is theirs", none, entry("configMapExpressions",
			"self.spec.a + composite.spec.b + resource.spec.c"), nil},
		"Secret": {"into a Secret", one, entry("secretExpressions", "secret.a"), nil},
		"SecretOfFrom": {"from says which one", "from: cache, " + two, entry("secretExpressions", "secret.a"),
			nil},
		"SecretOfSeveral": {"it is not clear which one", two, entry("secretExpressions", "secret.a"),
			[]string{"[0].value:1:7: " + several}},
		"SecretNone": {"nothing is allowed", none, entry("secretExpressions", "secret.a"),
			[]string{"[0].value:1:7: secret is not allowed here"}},
		"SecretPublic": {"anyone may read a ConfigMap", one, entry("configMapExpressions", "secret.a"),
			[]string{"[0].value:1:7: secret" + only}},
		"SecretHash": {"a function of a secret is secret", one, entry("dynamicConfigMaps",
			"hex.encode(hash.sha256(secret.a))"), []string{"[0].value:1:30: secret" + only}},
		"SecretTested": {"so is whether a key exists", one, entry("dynamicConfigMaps",
			"string(has(secret.a))"), []string{"[0].value:1:11: secret" + only}},
		"Secrets": {"into a Secret", one, entry("dynamicSecrets", "secrets.db.a"), nil},
		"SecretsOther": {"another input", two, entry("secretExpressions", "secrets.queue.a"),
			[]string{"[0].value:1:14: secrets.queue is not allowed here: the Composition allows only secrets.db, " +
				"secrets.cache"}},
		"SecretsNone": {"nothing is allowed", none, entry("secretExpressions", "secrets.db.a"),
			[]string{"[0].value:1:11: secrets is not allowed here"}},
		"SecretsComputed": {"what is not allowed does not exist", one, entry("secretExpressions",
			"secrets[self.spec.x].a"), nil},
		"SecretsPublic": {"anyone may read a ConfigMap", one, entry("configMapExpressions", "secrets.db.a"),
			[]string{"[0].value:1:11: secrets" + only}},
		"SecretsPublicAny": {"also by a computed name", one, entry("configMapExpressions",
			"secrets[self.spec.x].a"), []string{"[0].value:1:21: secrets" + only}},
		"Resources": {"into a ConfigMap", one, entry("configMapExpressions", "resources.db.a"), nil},
		"ResourcesOther": {"another input", one, entry("configMapExpressions", "resources.queue.a"),
			[]string{"[0].value:1:16: resources.queue is not allowed here: the Composition allows only resources.db"}},
		"ResourcesNone": {"nothing is allowed", none, entry("configMapExpressions", "resources.db.a"),
			[]string{"[0].value:1:13: resources is not allowed here"}},
		"Environment": {"into a ConfigMap", one, entry("configMapExpressions", "environment.a"), nil},
		"EnvironmentNone": {"it is not allowed", two, entry("configMapExpressions", "environment.a"),
			[]string{"[0].value:1:12: environment is not allowed here"}},
		"LabelIsPublic": {"a label is not secret, not even that of a Secret", one,
			`secretExpressions: [{name: a, key: k, value: "'v'", labels: {app: "secret.a + ''"}}]`,
			[]string{"[0].labels[app]:1:7: secret" + only}},
		"AnnotationIsPublic": {"an annotation is not secret, not even that of a Secret",
			"allow: {secrets: [db], annotations: [a]}",
			`secretExpressions: [{name: a, key: k, value: "'v'", annotations: {a: "secrets.db.a"}}]`,
			[]string{"[0].annotations[a]:1:11: secrets" + only}},
	} {
		if diff := cmp.Diff(c.want, authored(t, c.input, c.asks)); diff != "" {
			t.Errorf("%s: %s: -want, +got:\n%s", name, c.reason, diff)
		}
	}
}

// Composite authors set the labels and annotations that the Composition allows. The text is literal unless it is an
// expression that returns a string.
func TestLabelsOfAuthors(t *testing.T) {
	const (
		instead = ": use one of these, or add it to fromComposite.allow."
		tooMuch = ": all expressions of the composite together have more than 8192 characters: shorten them"
		allowed = "allow: {labels: [example.org/, team, labelsb, b], annotations: [note, b]}"
	)
	described := func(what string, texts ...string) string {
		var entries []string
		for i, text := range texts {
			entries = append(entries, fmt.Sprintf(`{name: a, key: k%d, value: "'v'", %s: {%s}}`, i, what, text))
		}
		return "secretExpressions: [" + strings.Join(entries, ", ") + "]"
	}
	many := func(n int) string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprintf("example.org/%02d: x", i))
		}
		return described("labels", strings.Join(out, ", "))
	}
	long := func(n int) string { return `"'` + strings.Repeat("a", n-2) + `'"` }
	for name, c := range map[string]struct {
		reason, input, asks string
		want                []string
	}{
		"Usual": {"they are always allowed", "allow: {}", described("labels",
			"app: x, app.kubernetes.io/name: z"), []string{`Secret "a": app=x`,
			`Secret "a": app.kubernetes.io/name=z`}},
		"Listed": {"a key, and keys with a prefix", allowed, described("labels", "team: x, example.org/a: z"),
			[]string{`Secret "a": example.org/a=z`, `Secret "a": team=x`}},
		"NotListed": {"another key, also one that begins like one", allowed, described("labels",
			"teams: x, owner: helm, app: x"),
			[]string{`[0].labels: cannot set "owner", "teams": the Composition allows only app, ` +
				`app.kubernetes.io/..., example.org/..., team, labelsb, b` + instead + "labels of the Composition",
				`Secret "a": app=x`}},
		"NoAnnotation": {"none is allowed", "allow: {}", described("annotations", "note: x"),
			[]string{`[0].annotations: cannot set "note": the Composition allows no annotations: leave it out, ` +
				`or add it to fromComposite.allow.annotations of the Composition`}},
		"Reserved": {"the function writes it", allowed, described("labels", "crossplane.io/composite: x"),
			[]string{`[0].labels: cannot set label "crossplane.io/composite": Crossplane sets it to find the ` +
				`objects of a composite again; leave it out`}},
		"Expression": {"it returns a string", allowed, described("annotations", `note: "'it is ' + self.spec.a"`),
			[]string{`Secret "a": note=('it is ' + self.spec)`}},
		"Literal": {"a word, nothing, a number, and a sentence", allowed, described("annotations",
			`note: self, b: ""`) +
			`, configMapExpressions: [{name: c, key: k, value: "'v'", annotations: {note: "1.5", b: "no ` +
			`expression"}}]`, []string{`Secret "a": b=`, `Secret "a": note=self`, `ConfigMap "c": b=no ` +
			`expression`, `ConfigMap "c": note=1.5`}},
		"Twice": {"two entries agree", allowed, described("labels", "team: x", "team: x"),
			[]string{`Secret "a": team=x`}},
		"Unequal": {"two entries do not", allowed, described("labels", "team: x", "team: z"),
			[]string{`spec.secretExpressions[1].labels: another entry sets another value of "team" for Secret ` +
				`"a": keep one of them`, `Secret "a": team=x`}},
		"TooMany": {"over the limit", "allow: {labels: [example.org/]}", many(limits.AuthorLabels + 1),
			[]string{"[0].labels: has 33 items, over the limit of 32"}},
		"TooLong": {"no expression is this long", allowed, described("annotations",
			"note: "+long(limits.AuthorCharacters+1)), []string{`Secret "a": note='aaaaaaaaaaaaaaaaaaa`}},
		"Together": {"all expressions have a limit", allowed, described("labels: {team: \"'a' + 'b'\"}, "+
			"annotations", "b: "+long(limits.ExpressionCharacters)+", note: "+long(limits.ExpressionCharacters)),
			[]string{"[0].annotations[note]" + tooMuch, "[0].value" + tooMuch, `Secret "a": team=('a' + 'b')`,
				`Secret "a": b=('aaaaaaaaaaaaaaaaaaa)`}},
	} {
		if diff := cmp.Diff(c.want, authored(t, c.input, c.asks)); diff != "" {
			t.Errorf("%s: %s: -want, +got:\n%s", name, c.reason, diff)
		}
	}
}
