package plan

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/suggest"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// generationPrefix begins the composition resource names of generations:
// generated/<generator>/<number>. No export's does.
const generationPrefix = "generated/"

// The kinds of generators, as the input has them.
const (
	kindPassword    = "password"
	kindUUID        = "uuid"
	kindSSHKey      = "sshKey"
	kindCertificate = "certificate"
	kindTOTP        = "totp"
	kindResource    = "resource"
)

// generationName is the composition resource name of a generation.
func generationName(name string, number int) string {
	return generationPrefix + name + "/" + strconv.Itoa(number)
}

// parseGeneration is the other way round.
func parseGeneration(composed string) (name string, number int, ok bool) {
	rest, ok := strings.CutPrefix(composed, generationPrefix)
	if !ok {
		return "", 0, false
	}
	name, text, _ := strings.Cut(rest, "/")
	number, err := strconv.Atoi(text)
	return name, number, ok && name != "" && err == nil && isNumber(number) && composed == generationName(name, number)
}

// isNumber reports whether a generation can have a number. Each has many that can follow.
func isNumber(n int) bool { return n > 0 && n <= limits.GenerationNumber }

// A maker is a generator, compiled.
type maker struct {
	name      string
	path      *field.Path
	kind      string
	namespace string // as the input has it
	policy    v1beta1.RefreshPolicy
	interval  time.Duration
	grace     time.Duration
	keepers   *expression.Expression // may be nil

	keys []string // of its outputs; nil if they are not known
	late bool     // what it is made from is not known before sources are read

	// Of a computed one:
	spec        json.RawMessage // as the input has it
	slow        bool            // it takes as long as a reconcile may
	compute     func(random io.Reader, now time.Time, ca *generator.Issuer) (generator.Outputs, error)
	secretType  string
	certificate *generator.Certificate // or nil

	// Of others:
	totp     *generator.TOTP
	secret   *expression.Expression // of totp
	manifest *manifest
}

// String is the generator in texts.
func (m *maker) String() string { return fmt.Sprintf("generator %q", m.name) }

func generatorsPath(i int) *field.Path { return field.NewPath("generators").Index(i) }

// declareGenerators compiles all of them but their expressions, which see variables,
// while variables see what the generators give.
func (c *compiler) declareGenerators(list []v1beta1.Generator) {
	for i, g := range list {
		at := generatorsPath(i)
		m := maker{name: g.Name, path: at, namespace: g.Namespace, policy: g.RefreshPolicy}
		if g.RefreshInterval != nil {
			m.interval = g.RefreshInterval.Duration
		}
		if g.GracePeriod != nil {
			m.grace = g.GracePeriod.Duration
		}
		if kinds := kindsOf(g); len(kinds) == 1 { // else refused by validate
			m.kind = kinds[0]
			c.faults = append(c.faults, m.compile(at.Child(m.kind), g)...)
		}
		c.makers = append(c.makers, m)
	}
	for i := range c.makers {
		c.authority(&c.makers[i])
	}
}

// compile the kind.
func (m *maker) compile(at *field.Path, g v1beta1.Generator) field.ErrorList {
	switch m.kind {
	case kindPassword:
		p, faults := generator.CompilePassword(at, g.Password)
		if p != nil {
			m.computed(g.Password, p.Keys(), func(random io.Reader, _ time.Time, _ *generator.Issuer) (generator.Outputs, error) {
				return p.Make(random)
			})
		}
		return faults
	case kindUUID:
		u, faults := generator.CompileUUID(at, g.UUID)
		if u != nil {
			m.computed(g.UUID, u.Keys(), func(random io.Reader, _ time.Time, _ *generator.Issuer) (generator.Outputs, error) {
				return u.Make(random)
			})
		}
		return faults
	case kindSSHKey:
		k, faults := generator.CompileSSHKey(at, g.SSHKey)
		if k != nil {
			m.computed(g.SSHKey, k.Keys(), func(io.Reader, time.Time, *generator.Issuer) (generator.Outputs, error) { return k.Make() })
			m.slow = g.SSHKey.Type == "rsa"
		}
		return faults
	case kindCertificate:
		k, faults := generator.CompileCertificate(at, g.Certificate)
		if k != nil {
			m.computed(g.Certificate, k.Keys(), func(_ io.Reader, now time.Time, ca *generator.Issuer) (generator.Outputs, error) {
				return k.Make(now, ca)
			})
			m.certificate, m.slow, m.secretType = k, g.Certificate.KeyType == "rsa", "kubernetes.io/tls"
		}
		return faults
	case kindTOTP:
		t, faults := generator.CompileTOTP(at, g.TOTP)
		if t != nil {
			m.totp, m.keys = t, t.Keys()
		}
		return faults
	case kindResource:
		base := &structpb.Struct{}
		if base.UnmarshalJSON(g.Resource.Manifest.Raw) == nil { // else refused by validate
			m.manifest = &manifest{base: base}
			m.manifest.apiVersion, m.manifest.kind, m.manifest.namespace, _ = object.Identity(wire.Of(base))
		}
	}
	return nil
}

func (m *maker) computed(spec any, keys []string, make func(io.Reader, time.Time, *generator.Issuer) (generator.Outputs, error)) {
	text, _ := json.Marshal(spec) // of the input, which came as JSON
	m.spec, m.keys, m.compute, m.secretType = text, keys, make, "Opaque"
}

// authority finds the CA of a certificate.
func (c *compiler) authority(m *maker) {
	if m.certificate == nil || m.certificate.CA() == "" {
		return
	}
	at := m.path.Child(kindCertificate)
	ca := c.maker(m.certificate.CA())
	m.late = m.policy == v1beta1.OnChange || m.policy == v1beta1.Periodic // another CA makes another certificate
	switch {
	case ca == m:
		c.fault(at.Child("ca").String(), "must not be the generator itself: leave ca out, and it signs itself")
	case ca == nil:
		c.fault(at.Child("ca").String(), "there is no generator %q%s", m.certificate.CA(), suggest.ThereAre(m.certificate.CA(), without(c.generatorNames(), m.name)))
	case ca.kind != kindCertificate:
		c.fault(at.Child("ca").String(), "generator %q makes no certificate", ca.name)
	case ca.certificate != nil:
		if f := m.certificate.FaultOf(at, ca.certificate); f != nil {
			c.faults = append(c.faults, f)
		}
	}
}

func (c *compiler) maker(name string) *maker {
	i := slices.IndexFunc(c.makers, func(m maker) bool { return m.name == name })
	if i < 0 {
		return nil
	}
	return &c.makers[i]
}

func (c *compiler) generatorNames() []string { return namesOf(c.makers) }

func without(names []string, name string) []string {
	return slices.DeleteFunc(names, func(n string) bool { return n == name })
}

func namesOf(makers []maker) []string {
	out := make([]string, 0, len(makers))
	for _, m := range makers {
		out = append(out, m.name)
	}
	slices.Sort(out)
	return out
}

// generators compiles their expressions.
func (c *compiler) generators(list []v1beta1.Generator) {
	for i, g := range list {
		m := &c.makers[i]
		if g.KeepersExpression != "" {
			m.keepers = c.making(c.env, expression.Source{Text: g.KeepersExpression, Path: m.path.Child("keepersExpression").String(), Want: expression.WantJSON})
			c.refuseAllSecrets(m.keepers)
			m.late = m.late || c.isLate(m.keepers)
		}
		if g.TOTP != nil {
			m.secret = c.output(expression.Source{Text: g.TOTP.SecretExpression, Path: m.path.Child(kindTOTP, "secretExpression").String(), Want: expression.WantText})
			c.refuseTOTP(m.secret)
		}
		if m.manifest != nil {
			c.manifest(m, g.Resource)
		}
	}
}

// making compiles an expression of a generator, where secret is not the composite's.
func (c *compiler) making(env *expression.Environment, s expression.Source) *expression.Expression {
	was := c.env
	c.env = env
	defer func() { c.env = was }()
	return c.output(s)
}

// isLate reports whether an expression reads what Crossplane has to be asked for first.
func (c *compiler) isLate(x *expression.Expression) bool {
	if x == nil {
		return false
	}
	r := c.reading(x)
	return len(r.sources) > 0 || len(r.uses) > 0 || c.ownEnvironment && r.environment
}

// refuseGenerated refuses what generators give, where it is not known as yet.
func (c *compiler) refuseGenerated(x *expression.Expression, why string) {
	if x == nil {
		return
	}
	for _, u := range c.reading(x).uses {
		if u.variable != "" {
			c.fault(u.place, "may not use %s: %s", u, why)
		}
	}
}

// refuseTOTP refuses to make a one-time password from another.
func (c *compiler) refuseTOTP(x *expression.Expression) {
	if x == nil {
		return
	}
	for _, u := range c.reading(x).uses {
		if u.variable == "" {
			continue
		}
		if m := c.maker(u.input); m == nil || m.kind == kindTOTP {
			c.fault(u.place, "may not use %s: name a generator that is no totp", u)
		}
	}
}

// checkGenerated refuses a generator that is not there, or an output that it never has.
func (c *compiler) checkGenerated(x *expression.Expression) bool {
	ok := true
	for _, r := range x.References() {
		name, key := stepName(r, 0), stepName(r, 1)
		if r.Variable != expression.Generated && r.Variable != expression.Previous || name == anything {
			continue
		}
		m := c.maker(name)
		switch {
		case m == nil:
			ok = false
			c.fault(place(x, r), "there is no generator %q%s", name, suggest.ThereAre(name, c.generatorNames()))
		case m.kind == kindTOTP && r.Variable == expression.Previous:
			ok = false
			c.fault(place(x, r), "generator %q is a totp, which has no previous generation", name)
		case r.Variable == expression.Generated && m.keys != nil && key != anything && !slices.Contains(m.keys, key):
			ok = false
			c.fault(place(x, r), "generator %q has no output %q%s", name, key, suggest.ThereAre(key, m.keys))
		}
	}
	return ok
}

// place of a reference. What extract names is no expression.
func place(x *expression.Expression, r expression.Reference) string {
	if path := x.Source().Path; strings.HasSuffix(path, ".extract.key") {
		return path
	}
	return x.Place(r)
}

// usedGenerators are the generators whose outputs an export may hold.
func (c *compiler) usedGenerators(e export) []string {
	m := e.metadata
	all := []*expression.Expression{m.nameExpr, m.namespaceExpr, m.labelsExpression, m.annotationsExpression}
	for _, d := range e.data {
		all = append(all, d.value)
	}
	used := map[string]bool{}
	for _, b := range e.dataFrom {
		all = append(all, b.value)
		if b.find != nil {
			for _, name := range b.find.generators {
				used[name] = true
			}
		}
	}
	for _, x := range all {
		if x == nil {
			continue
		}
		for _, u := range c.reading(x).uses {
			switch {
			case u.variable != expression.Generated:
			case u.input == anything:
				for _, n := range c.generatorNames() {
					used[n] = true
				}
			default:
				used[u.input] = true
			}
		}
	}
	return sortedKeys(used)
}

// generatedInput is what an input of dataFrom means that is spelled as in an
// expression: generated.<generator>, or previous.<generator>.
func generatedInput(input string) (variable, name string, ok bool) {
	variable, name, ok = strings.Cut(input, ".")
	return variable, name, ok && (variable == expression.Generated || variable == expression.Previous)
}

// generates reports whether a find takes what a generator gives. Its path has to ask for
// it: who wants the keys of all resources does not mean each password beside them. What
// a generator gives has no tags.
func (f find) generates(name string) bool {
	return len(f.tags) == 0 && strings.HasPrefix(f.path, expression.Generated+".") && f.reaches(expression.Generated+"."+name)
}
