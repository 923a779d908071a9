package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/credential"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// GenerationPrefix is the prefix of the composition resource names of generations: generated/<generator>/<number>, or
// generated/<generator>/<key>/<number> for an item. The name of an export never begins with it.
const GenerationPrefix = "generated/"

// Kinds of generators, as they are in the input.
const (
	KindCertificate = "certificate"
	KindResource    = "resource"
)

// GenerationName returns the composition resource name of a generation.
func GenerationName(name string, number int) string {
	return GenerationPrefix + name + "/" + strconv.Itoa(number)
}

// ParseGeneration returns the arguments with which GenerationName returns a name.
func ParseGeneration(composed string) (name string, number int, ok bool) {
	rest, ok := strings.CutPrefix(composed, GenerationPrefix)
	if !ok {
		return "", 0, false
	}
	end := max(strings.LastIndexByte(rest, '/'), 0)
	name = rest[:end]
	number, err := strconv.Atoi(strings.TrimPrefix(rest[end:], "/"))
	generator, key, isItem := SplitItem(name)
	named := generator != "" && (!isItem || key != "" && !strings.Contains(key, "/"))
	return name, number, named && err == nil && IsNumber(number) && composed == GenerationName(name, number)
}

// IsNumber reports whether a generation can have the number. The limit leaves many numbers for
// later generations.
func IsNumber(n int) bool { return n > 0 && n <= limits.GenerationNumber }

// A Generator of the input, compiled.
type Generator struct {
	Name      string
	Path      *field.Path
	Namespace string // of its generations, as it is in the input
	Policy    v1beta1.RefreshPolicy
	Interval  time.Duration
	Grace     time.Duration
	Keepers   *expression.Expression // may be nil
	ForEach   *ForEach               // nil if it makes one credential
	Item      *observation.Item      // that it is made for; nil in a plan
	Unknown   bool                   // nothing changes, because the list or a key in it is not known

	Ready        *expression.Expression // whether the pending generation works; may be nil
	AbandonAfter time.Duration          // of a pending generation that is not ready, or 0
	Window       *rotation.Window       // in which periodic rotations start; may be nil

	Labels     map[string]string // of its generations
	Parameters []Parameter       // in the order of the input; see With

	input   *structpb.Struct
	derived bool // its outputs are made from secretExpression

	Kind        string                  // as it is in the input
	Source      *expression.Expression  // secretExpression, or nil
	Computed    *Computed               // how the function computes the outputs, or nil
	Certificate *credential.Certificate // that the function generates, or nil
	SignedBy    string                  // the generator of the CA that signs a certificate, or empty
	Manifest    *Manifest               // the resource whose controller makes the outputs, or nil
	Keys        []string                // of its outputs; nil if they are not known
	LooksAhead  bool                    // sources decide about the next generation, so its place is always looked up
}

// String returns the generator for messages.
func (m *Generator) String() string { return fmt.Sprintf("generator %q", m.Name) }

// Spelled returns its outputs as an expression selects them from a variable.
func (m *Generator) Spelled(variable string) string {
	return expression.PathText(variable, strings.Split(m.Name, "/")...)
}

// lacks returns the message about an output that it does not have.
func (m *Generator) lacks(key string) string {
	hint := suggest.ThereAre(key, m.Keys, "it has no outputs")
	if of := m.Spelled(expression.Generated); m.Kind == KindCertificate &&
		slices.Contains([]string{"crt", "cert", "certificate"}, key) {
		hint = fmt.Sprintf(": write %[1]s['tls.crt'], or pem.leaf(%[1]s['tls.crt']) without the certificates of "+
			"its CAs", of)
	}
	return fmt.Sprintf("%s has no output %q%s", m, key, hint)
}

// NamespacePath returns the path of the field with the namespace of its generations.
func (m *Generator) NamespacePath() *field.Path {
	if m.Kind == KindResource {
		return m.Path.Child(KindResource, "manifest", "metadata", "namespace")
	}
	return m.Path.Child("namespace")
}

// LacksNamespace reports whether its generations are in the namespace of the composite, which must have one.
func (m *Generator) LacksNamespace() bool {
	o := m.Object()
	return HasData(o.APIVersion, o.Kind) && m.Namespace == ""
}

// Object returns the kind of a generation, which is empty for an invalid generator.
func (m *Generator) Object() (out Kind) {
	switch {
	case m.Computed != nil:
		out = Kind{APIVersion: "v1", Kind: string(object.Secret)}
	case m.Manifest != nil:
		out = m.Manifest.Object()
	}
	return out
}

// A Computed is a kind whose outputs the function itself generates. Each generation is a Secret.
type Computed struct {
	credential.Kind

	Spec       json.RawMessage // as it is in the input
	Slow       bool            // generating it may take as long as a whole reconcile
	SecretType string
}

// declareGenerators compiles the generators without their expressions. The expressions may read
// variables, and variables may read the outputs of generators.
func (c *compiler) declareGenerators(list []v1beta1.Generator) {
	for i, g := range list {
		m := Generator{Name: g.Name, Path: field.NewPath("generators").Index(i), Namespace: g.Namespace,
			Policy: g.RefreshPolicy}
		m.input = c.input.GetFields()["generators"].GetListValue().GetValues()[i].GetStructValue()
		c.kindsWrong = append(c.kindsWrong, c.section(func() { c.literals(&m, withoutDependent(g)) }))
		if g.ForEachExpression != "" || g.KeyExpression != "" {
			m.ForEach, c.env = &ForEach{}, c.env.Lists()
		}
		c.declaredGenerators = append(c.declaredGenerators, m)
	}
}

// compile the kind of the generator. The definition accepts exactly one.
func (m *Generator) compile(c *compiler, g v1beta1.Generator) {
	k, wrong := &Computed{SecretType: DefaultType}, field.ErrorList(nil)
	var section any
	switch {
	case g.Password != nil:
		m.Kind, section = "password", g.Password
		if g.Password.Length != nil && g.Password.LengthExpression != "" { // no rule of the definition reads numbers
			c.refuse(m.Path.Child(m.Kind, "lengthExpression"), "must not be set together with length: keep one of them")
		}
		k.Kind, wrong = credential.CompilePassword(m.Path.Child(m.Kind), g.Password)
	case g.UUID != nil:
		m.Kind, section, k.Kind = "uuid", g.UUID, credential.NewUUID()
	case g.SSHKey != nil:
		m.Kind, section, k.Slow = "sshKey", g.SSHKey, g.SSHKey.Type == "rsa"
		k.Kind, wrong = credential.CompileSSHKey(m.Path.Child(m.Kind), g.SSHKey)
	case g.Certificate != nil:
		m.Kind, section, k.Slow = KindCertificate, g.Certificate, g.Certificate.KeyType == "rsa"
		k.SecretType = "kubernetes.io/tls"
		if m.Certificate, wrong = credential.CompileCertificate(m.Path.Child(m.Kind), g.Certificate); m.Certificate != nil {
			k.Kind, m.SignedBy = m.Certificate.Kind, g.Certificate.CA
		}
	case g.Resource != nil:
		m.resource(c, g.Resource)
		return
	case g.Bcrypt != nil:
		m.Kind, section, m.derived, k.Kind = "bcrypt", g.Bcrypt, true, credential.NewBcrypt(g.Bcrypt)
	case g.Htpasswd != nil:
		m.Kind, section, m.derived, k.Kind = "htpasswd", g.Htpasswd, true, credential.NewHtpasswd(g.Htpasswd)
	case g.PKCS12 != nil:
		m.Kind, section, m.derived, k.Kind = "pkcs12", g.PKCS12, true, credential.NewPKCS12(g.PKCS12)
	case g.JKS != nil:
		m.Kind, section, m.derived, k.Kind = "jks", g.JKS, true, credential.NewJKS(g.JKS)
	}
	// Hashes are slow, because that protects them, and keystores because they encrypt with a key that is derived from a
	// password.
	k.Slow = k.Slow || m.derived
	if c.fields(wrong); len(wrong) == 0 {
		k.Spec, _ = json.Marshal(section) //nolint:errchkjson // it was JSON in the input
		m.Computed, m.Keys = k, k.Kind.Keys
	}
}

// resource reads the kind in a manifest.
func (m *Generator) resource(c *compiler, g *v1beta1.ResourceGenerator) {
	r := &Manifest{Base: &structpb.Struct{}}
	m.Kind, m.Manifest = KindResource, r
	if err := r.Base.UnmarshalJSON(g.Manifest.Raw); err != nil {
		c.refuse(m.Path.Child(KindResource, "manifest"), "must be an object")
		return
	}
	r.APIVersion, r.Kind, m.Namespace, _ = object.Identity(wire.Of(r.Base))
}

// authority returns the CA of a certificate.
func (c *compiler) authority(m *Generator) {
	name, at := m.SignedBy, m.Path.Child(KindCertificate)
	if name == "" {
		return
	}
	ca := c.declaredGenerators.Named(name)
	// Another CA requires another certificate.
	m.LooksAhead = m.Policy == v1beta1.OnChange || m.Policy == v1beta1.Periodic
	switch {
	case ca == m:
		c.refuse(at.Child("ca"), "must not be the generator itself: leave ca out for a self-signed certificate")
	case ca == nil:
		others := slices.DeleteFunc(c.generatorNames(), func(n string) bool { return n == m.Name })
		c.refuse(at.Child("ca"), "there is no generator %q%s", name, suggest.ThereAre(name, others,
			"the input has no other generators: add it to generators, with certificate: {isCA: true}"))
	case ca.ForEach != nil:
		c.refuse(at.Child("ca"), "generator %q generates a certificate for each item of a list: use a generator without "+
			"forEachExpression", ca.Name)
	case ca.Kind != KindCertificate:
		c.refuse(at.Child("ca"), "generator %q does not generate a certificate", ca.Name)
	case ca.Certificate != nil:
		if f := m.Certificate.CheckCA(at, ca.Certificate); f != nil {
			c.fields(field.ErrorList{f})
		}
	}
}

func (c *compiler) generatorNames() []string { return NamesOf(c.declaredGenerators) }

// NamesOf returns the names of generators, sorted.
func NamesOf(all Generators) []string {
	out := make([]string, 0, len(all))
	for _, m := range all {
		out = append(out, m.Name)
	}
	slices.Sort(out)
	return out
}

// generators compiles the expressions of generators.
func (c *compiler) generators(list []v1beta1.Generator) {
	for i, g := range list {
		m := &c.declaredGenerators[i]
		c.refuseSameObjects(m)
		c.diagnostics = append(c.diagnostics, c.kindsWrong[i]...)
		c.authority(m)
		m.ForEach = c.forEach(m.Path, g.ForEachExpression, g.KeyExpression)
		if g.KeepersExpression != "" {
			m.Keepers = c.parameter(m, source(m.Path.Child("keepersExpression"), g.KeepersExpression, expression.WantJSON))
		}
		c.parameters(m, generatorSchema(), m.input)
		c.derive(m)
		if m.Manifest != nil {
			c.manifest(m, m.Manifest, g.Resource)
		}
		if g.ReadyExpression != "" {
			m.Ready = c.readyExpression(m, source(m.Path.Child("readyExpression"), g.ReadyExpression, expression.WantBool))
			m.LooksAhead = m.LooksAhead || c.readsLater(m.Ready)
		}
		c.each = nil
	}
}

// parameter compiles an expression of a generator that may use no secret.
func (c *compiler) parameter(m *Generator, s expression.Source) *expression.Expression {
	x := c.output(s)
	c.refuseAllSecrets(x)
	m.LooksAhead = m.LooksAhead || c.readsLater(x)
	return x
}

// readsLater reports whether an expression reads objects that must first be requested from Crossplane.
func (c *compiler) readsLater(x *expression.Expression) bool {
	r := c.reading(x)
	return len(r.sources) > 0 || len(r.uses) > 0 || c.ownEnvironment && r.environment
}

// refuseGenerated refuses outputs of generators in a place where they are not known yet.
func (c *compiler) refuseGenerated(x *expression.Expression, why string) {
	for _, u := range c.reading(x).uses {
		if u.variable != "" {
			c.reportAt(u.place, "may not use %s: %s", u, why)
		}
	}
}

// checkGenerated refuses a generator or an item that does not exist, and an output that a generator does not have.
func (c *compiler) checkGenerated(at expression.Place, r expression.Reference, name string) {
	switch m := c.declaredGenerators.Named(name); {
	case name == Anything:
	case m == nil:
		c.reportAt(at, "there is no generator %q%s", name, suggest.ThereAre(name, c.generatorNames(),
			"the input has no generators: add it to generators"))
	case m.ForEach != nil:
		c.checkItem(at, r, m)
	default:
		c.checkOutput(at, r, m, StepName(r, 1))
	}
}

func (c *compiler) checkOutput(at expression.Place, r expression.Reference, m *Generator, key string) {
	if r.Variable != expression.Previous && m.Keys != nil && key != Anything && !slices.Contains(m.Keys, key) {
		c.reportAt(at, "%s", m.lacks(key))
	}
}

// Place returns the position of a reference. The key of an extract is not an expression and has no
// position in one.
func Place(x *expression.Expression, r expression.Reference) expression.Place {
	if path := x.Source().Path; strings.HasSuffix(path, ".extract.key") {
		return expression.Place{Path: path}
	}
	return x.Place(r)
}

// GeneratedInput splits an input of dataFrom that is written as in an expression:
// generated.<generator>, candidate.<generator> or previous.<generator>.
func GeneratedInput(input string) (variable, name string, ok bool) {
	variable, name, ok = strings.Cut(input, ".")
	return variable, name, ok && expression.HasOutputs(variable)
}
