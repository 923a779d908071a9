package reconcile

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/observation"
	"github.com/crossplane-contrib/function-export/internal/plan"
	"github.com/crossplane-contrib/function-export/internal/suggest"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// inputs are the inputs that expressions name, so that messages can say why one is missing. All sessions of a
// request share them. They are read only if something is missing.
type inputs struct {
	plan *plan.Plan
	req  *request

	named     map[string]input  // by the form that they have in CEL
	resources []string          // the composition resource names that an input can have
	writers   []string          // those whose resources write connection details
	shown     map[input]subject // existing inputs
	suggested map[string]string // by the missing input
	found     string            // names of keys that a find could have matched
}

// A subject is what messages say about an existing object.
type subject struct {
	name  string // with its kind
	state string // a verb
	see   string // a command that shows it
}

// An input is a composed resource, a source or a generator.
type input struct {
	name    string
	source  bool
	details bool   // it is in the variable secrets
	see     string // a command that shows more about a generator
}

// explain adds to each missing input of an expression what is known about it, and to the error a command that shows
// more. The expression is nil if something else needs the inputs.
func (s *session) explain(err error, x *expression.Expression) error {
	var w *expression.Waiting
	if !errors.As(err, &w) {
		return err
	}
	texts, command := make([]string, len(w.Inputs)), w.See
	for i, in := range w.Inputs {
		what, more := s.whyMissing(in, x, w.Null)
		texts[i], command = in, cmp.Or(command, more)
		if what != "" {
			texts[i] += " (" + what + ")"
		}
	}
	out := expression.NewWaiting(texts...)
	out.See, out.Required = command, w.Required
	return out
}

// whyMissing says what is known about a missing input, with a command that shows more.
func (s *session) whyMissing(text string, x *expression.Expression, null bool) (what, command string) {
	if what := cmp.Or(s.missing[text], s.noItem(text)); what != "" {
		return what, ""
	}
	if x != nil && !x.Source().Own && s.author == nil && !isLegacy(s.object) && isBelow(text, expression.Secret) {
		return "the composite never has connection details: " +
			plan.InsteadOfComposite(x.Source().Path, plan.Anything, s.inputs.owners()), SeeComposition(s.object)
	}
	if s.item != nil && isBelow(text, expression.Item) {
		return "the item lacks it: set it there, or write " + withDefault(text, x, null), ""
	}
	if said := s.ofComposite(text, x, null); said != "" {
		return said, ""
	}
	if what := s.lacksInEnvironment(text); what != "" {
		return what, SeeComposition(s.object)
	}
	in, rest := s.inputs.find(text)
	if in.source {
		src := s.observed.Sources[in.name]
		if len(src.Objects) != 1 || s.author != nil {
			return "", ""
		}
		return s.lacks(text, rest, in, observation.Resource{Object: src.Objects[0], Details: src.Details}, x, null)
	}
	if in.name == "" {
		return "", in.see
	}
	return s.whyResourceMissing(text, rest, in, x, null)
}

// noItem says that the list of a generator lacks an item, or returns an empty text.
func (s *session) noItem(text string) string {
	text, _, _ = strings.Cut(text, " (")
	for i := range s.inputs.plan.Lists {
		m := &s.inputs.plan.Lists[i]
		known := s.observed.Generated[m.Name]
		for _, variable := range []string{expression.Generated, expression.Candidate, expression.Previous} {
			missing := isBelow(text, m.Spelled(variable)) && known.Waits == ""
			for key := range known.Items {
				missing = missing && !isBelow(text, expression.PathText(variable, m.Name, key))
			}
			if missing {
				return "no item of " + m.ForEach.List.Source().Path + " has this key"
			}
		}
	}
	return ""
}

// whyResourceMissing says what is known about a composed resource that is missing, or that lacks an input.
func (s *session) whyResourceMissing(text, rest string, in input, x *expression.Expression, null bool) (
	what, command string,
) {
	res, observed := s.observed.Resources[in.name]
	_, desired := s.inputs.req.Desired[in.name]
	own := s.author == nil && s.inputs.plan.ExportNamed(in.name)
	switch {
	case own && in.details:
		return plan.OwnExport, SeeComposition(s.object)
	case observed && s.author != nil: // the composite author may not know the object
		return "", ""
	case observed:
		return s.lacks(text, rest, in, res, x, null)
	case own:
		return "an export of this step, which does not exist yet", ""
	case desired || s.inputs.plan.ExportNamed(in.name):
		return "it does not exist yet", ""
	case s.author != nil:
		return plan.Uncomposed, ""
	}
	names := func() string { return s.inputs.meant(in.name) }
	return plan.Uncomposed + s.suggest(text, names), SeeComposition(s.object)
}

// ofComposite says what to do about a field that the author of the composite can set, or returns an empty text.
func (s *session) ofComposite(text string, x *expression.Expression, null bool) string {
	if s.author != nil || !isBelow(text, expression.Composite+".spec") && !isBelow(text, expression.Composite+".metadata") {
		return ""
	}
	_, kind, _, name := object.Identity(s.object)
	return fmt.Sprintf("correct it, set it in %s, or write %s", strings.TrimSpace(kind+" "+name), withDefault(text, x, null))
}

// meant says which composed resource may be meant by a name that no earlier step composes.
func (all *inputs) meant(wrong string) string {
	for _, name := range all.resources {
		if object := all.req.Observation.Resources[name].Object; plan.MetadataOf(object).Get("name").Is(wrong) {
			return ": did you mean " + name + "? Its object is named " + wrong
		}
	}
	return plan.InsteadOfResource(wrong, all.resources)
}

// isEmpty reports whether an environment has no fields but those of its type.
func isEmpty(environment wire.Struct) bool {
	fields := environment.Len()
	for _, name := range []string{"apiVersion", "kind"} {
		if environment.Get(name).Exists() {
			fields--
		}
	}
	return fields == 0
}

// environmentNames returns the names of the fields of the environment, without those of its type.
func environmentNames(environment wire.Struct) []string {
	isOfType := func(name string) bool { return name == "apiVersion" || name == "kind" }
	return slices.DeleteFunc(environment.Keys(), isOfType)
}

// lacksInEnvironment says what to do about a field that the environment lacks, or returns an empty text. It suggests
// a similar name, but does not list the names: the composite author may not know them.
func (s *session) lacksInEnvironment(text string) string {
	rest, ok := strings.CutPrefix(text, expression.Env+".")
	if !ok || s.author != nil || len(s.observed.EnvironmentWaits) > 0 {
		return ""
	}
	field, _, _ := strings.Cut(rest, ".")
	environment := s.observed.Environment
	switch {
	case environment.Get(field).Exists():
		return ""
	case field == "data":
		return "leave data out, because the environment is the data of the EnvironmentConfigs"
	case isEmpty(environment):
		return "the environment is empty: add it to an EnvironmentConfig, and select this with environment.environmentConfigs"
	}
	nearest := func() string { return suggest.DidYouMean(suggest.Nearest(field, environmentNames(environment))) }
	if meant := s.suggest(text, nearest); meant != "" {
		return "the environment has no such field" + meant
	}
	return "add it to an EnvironmentConfig"
}

// lacks says why an existing object lacks a field, or a key of its data or its connection details. The names of keys
// are not secret, but the fields of an object can be data.
func (s *session) lacks(text, rest string, in input, of observation.Resource, x *expression.Expression, null bool) (
	what, command string,
) {
	about := s.inputs.about(in, of.Object)
	if rest == toBeReady {
		return about.name, about.see
	}
	what = about.name + " " + about.state
	key, ok := keyOf(rest)
	instead := ""
	switch {
	case !in.details:
		what, instead = what+", and lacks it", "select another field"
	case len(of.Details) > 0 && ok:
		keys := func() string { return keysText(in, key, plan.SortedKeys(of.Details)) }
		said := s.suggest(text, keys)
		if what += said; strings.HasPrefix(said, ", ") {
			instead = "select another key"
		}
	case len(of.Details) > 0:
	case in.source:
		what, instead = what+", and has no key", "add it"
	case of.Object.Get("apiVersion").Is("v1") && of.Object.Get("kind").Is(string(object.Secret)):
		what += ", and has " + plan.ComposedSecret
	case writesDetails(of.Object):
		var state string
		state, instead = withoutDetails(in, of)
		what += state
	default:
		return fmt.Sprintf("%s, and has no spec.writeConnectionSecretToRef: add it to %s in the Composition", what, in.name), about.see
	}
	switch {
	case about.state != ready || instead == "" || rest == "":
	case in.details: // a default is no password
		return fmt.Sprintf("%s: %s", what, instead), about.see
	default:
		return fmt.Sprintf("%s: %s, or write %s", what, instead, withDefault(text, x, null)), about.see
	}
	return strings.TrimSuffix(what, ", and lacks it"), about.see
}

// withoutDetails says why a resource that writes connection details has none, and what to do instead.
func withoutDetails(in input, of observation.Resource) (state, instead string) {
	if plan.UIDOf(of.Object) != "" && !of.Published {
		return ", and its connection Secret does not exist yet", ""
	}
	return ", and has no connection details", "select a field of " + expression.PathText(expression.Resources, in.name)
}

// withDefault returns how to select the last step of a missing path if it may be missing or null.
func withDefault(text string, x *expression.Expression, null bool) string {
	isList := x != nil && x.Source().Want == expression.WantList
	switch {
	case null && isList:
		return "value == null ? [] : value for an empty list"
	case null:
		return "value == null ? 'none' : value for a default"
	case isList:
		return expression.OptionalStep(text) + ".orValue([]) for an empty list"
	}
	step := expression.OptionalStep(text)
	if x != nil && strings.Contains(x.Source().Text, strings.Replace(step, ".?", ".", 1)+".?") {
		return step + " for a field that may be missing"
	}
	return step + ".orValue('none') for a default"
}

// about reads an object once, because it may be large, and many expressions may wait for it.
func (all *inputs) about(in input, o wire.Struct) subject {
	out, ok := all.shown[in]
	if ok {
		return out
	}
	_, kind, _, name := object.Identity(o)
	out = subject{strings.TrimSpace(kind + " " + name), readiness(o), see(o)}
	if all.shown == nil {
		all.shown = map[input]subject{}
	}
	all.shown[in] = out
	return out
}

// ready is the state of an object from which nothing more may come.
const ready = "is ready"

func readiness(o wire.Struct) string {
	for _, c := range o.At("status", "conditions").List().All() {
		if !c.Struct().Get("type").Is("Ready") {
			continue
		}
		if c.Struct().Get("status").Is("True") {
			return ready
		}
		return "is not ready"
	}
	return "exists"
}

// suggest returns the end of a message about a name that does not exist. Suggestions take time, so a request has as
// many as one message can show.
func (s *session) suggest(text string, names func() string) string {
	all := s.inputs
	said, ok := all.suggested[text]
	if ok || len(all.suggested) == limits.MessageItems || s.budget.Spend(suggest.Fuel) != nil {
		return said
	}
	if all.suggested == nil {
		all.suggested = map[string]string{}
	}
	all.suggested[text] = names()
	return all.suggested[text]
}

// keysText suggests the key that a misspelled one means. It lists all keys only of connection details, because a source
// may belong to others.
func keysText(in input, wrong string, keys []string) string {
	meant := suggest.Nearest(wrong, keys)
	switch {
	case meant != "":
		return suggest.DidYouMean(meant)
	case in.source:
		return ", and has no similar key"
	case len(keys) == 1:
		return ", and has only the key " + keys[0]
	}
	return ", and has the keys " + suggest.List(keys)
}

// find returns the input that a path in CEL begins with, and the rest of the path.
func (all *inputs) find(text string) (in input, rest string) {
	all.read()
	for i, r := range text + " " {
		if strings.ContainsRune(".[ ", r) {
			if in, ok := all.named[text[:i]]; ok {
				return in, text[i:]
			}
		}
	}
	return input{}, ""
}

// read reads once which inputs there are.
func (all *inputs) read() {
	if all.named != nil {
		return
	}
	all.named = map[string]input{}
	for _, name := range all.plan.Inputs {
		all.add(name)
	}
	for _, src := range all.plan.Sources {
		all.named[src.Spelled()] = input{name: src.Name, source: true, details: plan.IsSecret(src.Source)}
	}
	names := maps.Clone(all.req.Desired)
	if names == nil {
		names = map[string]wire.Struct{}
	}
	for name, res := range all.req.Observation.Resources {
		names[name] = res.Object
	}
	for _, name := range plan.SortedKeys(names) {
		if _, _, generation := plan.ParseGeneration(name); !generation && !plan.IsAuthors(name) && !all.plan.ExportNamed(name) {
			all.resources = append(all.resources, name)
			all.add(name) // an expression may compute its name
			if writesDetails(names[name]) {
				all.writers = append(all.writers, name)
			}
		}
	}
}

// owners returns the composed resources that may be meant where an expression reads the connection details of the
// composite: those that write details, or otherwise all.
func (all *inputs) owners() []string {
	all.read()
	if len(all.writers) > 0 {
		return all.writers
	}
	return all.resources
}

// add adds a composed resource.
func (all *inputs) add(name string) {
	all.read()
	all.named[expression.PathText(expression.Resources, name)] = input{name: name}
	all.named[expression.PathText(expression.Secrets, name)] = input{name: name, details: true}
}

// shows notes the command that shows what a generator waits for.
func (all *inputs) shows(generator, command string) {
	all.read()
	all.named[plan.SpelledAs(expression.Generated, generator)] = input{see: command}
}

// toBeReady follows an input that exists and must be ready.
const toBeReady = " to be ready"

// keyOf returns the key that a path in CEL consists of.
func keyOf(path string) (string, bool) {
	if key, ok := strings.CutPrefix(path, "."); ok {
		return key, !strings.ContainsAny(key, ".[")
	}
	key, opened := strings.CutPrefix(path, "['")
	key, closed := strings.CutSuffix(key, "']")
	return strings.NewReplacer(`\\`, `\`, `\'`, `'`).Replace(key), opened && closed
}

// see returns a command that shows an object, without the values of a Secret.
func see(o wire.Struct) string {
	apiVersion, kind, ns, name := object.Identity(o)
	resource := strings.ToLower(kind)
	if group := groupOf(apiVersion); group != apiVersion {
		resource += "." + group
	}
	if ns == "" {
		return runnable("kubectl describe %s %s", resource, name)
	}
	return runnable("kubectl describe %s %s --namespace %s", resource, name, ns)
}

// SeeComposition returns a command that shows the Composition of a composite, or nothing if the composite does not
// name it.
func SeeComposition(xr wire.Struct) string {
	ref := xr.At("spec", "crossplane", "compositionRef")
	if !ref.Exists() {
		ref = xr.At("spec", "compositionRef")
	}
	return runnable("kubectl get composition %s --output yaml", ref.Struct().Get("name").Text())
}

// plainWord matches names that a shell passes on unchanged, and that are not flags.
var plainWord = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9.-]*$`)

// runnable returns a command that can be pasted into a shell, or nothing if a name has other characters.
func runnable(format string, names ...string) string {
	words := make([]any, 0, len(names))
	for _, n := range names {
		if !plainWord.MatchString(n) {
			return ""
		}
		words = append(words, n)
	}
	return fmt.Sprintf(format, words...)
}

// seeComposition adds the command to outcomes that have none, and that a change of the Composition may resolve.
func (r *Result) seeComposition(command string) {
	add := func(o *Outcome) {
		if o.Wrong && !o.Author && o.See == "" && o.State != Available {
			o.See = command
		}
	}
	for i := range r.Objects {
		add(&r.Objects[i].Outcome)
	}
	for i := range r.Status {
		add(&r.Status[i].Outcome)
	}
	for i := range r.Others {
		add(&r.Others[i])
	}
}
