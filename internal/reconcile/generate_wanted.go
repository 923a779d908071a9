package reconcile

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/environment"
	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/observation"
	"github.com/crossplane-contrib/function-export/internal/plan"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// A wantedGeneration is the input of a generator now, with the possible numbers and names of its next generation.
type wantedGeneration struct {
	*plan.Generator

	want       generator.Desired
	why        reasons // why a part of it is unknown
	specHash   string
	candidates []candidate
	source     *generator.Source // of a derived generator, if it is known
}

// A candidate is a number and a name that the next generation may have.
type candidate struct {
	number int
	at     Requirement
	object *structpb.Struct // the manifest of that generation
}

// wantedOf returns the wanted generation of a generator. A new token requests another generation.
func (h *historyReader) wantedOf(m *plan.Generator, token string) *wantedGeneration {
	one, s := h.history(m.Name), h.forItem(m.Item)
	w := &wantedGeneration{Generator: m, want: generator.Desired{
		Policy: m.Policy, Interval: m.Interval, GracePeriod: m.Grace, Kind: m.Kind, Rotation: token, Used: one.used,
		AbandonAfter: m.AbandonAfter, Verifies: m.Ready != nil || m.AbandonAfter > 0 || one.setters > 0,
		Window: m.Window, PausedAt: h.pausedAt(),
	}}
	if m.Unknown {
		w.want.Unknown = true
		return w
	}
	hash := func(what string) string { return generator.Hash(h.salt(), m.Name, what) }
	var spec []byte
	switch kind := m.Makes.(type) {
	case *plan.Computed:
		spec = kind.Spec
	case *plan.Manifest:
		common, why := h.manifestOf(m, kind, 0, h.defaultName(m.Name, 0))
		w.why, spec = why, plan.AppendStruct(nil, wire.Of(common))
	}
	w.specHash = hash(m.Kind + string(spec))
	w.want.SpecHash = w.specHash
	if m.Keepers != nil {
		value, err := s.json(m.Keepers, s.scope(""))
		w.why.add(m.Keepers.Source().Path, err)
		w.want.KeepersHash = hash(string(plan.AppendValue(nil, wire.OfValue(value))))
	}
	if !w.why.empty() {
		w.want.Unknown, w.want.SpecHash, w.want.KeepersHash = true, "", ""
	}
	h.addCandidates(w, one)
	return w
}

// withSource returns the wanted generation of a derived generator with its source. While the source is not known, nothing
// changes.
func (w *wantedGeneration) withSource(s *session) *wantedGeneration {
	if w.Unknown {
		return w
	}
	out := *w
	source, err := s.sourceOf(w.Generator)
	if err != nil {
		out.why.add("", err)
		out.want.Unknown, out.want.SpecHash, out.want.KeepersHash = true, "", ""
		return &out
	}
	source = source.Only(w.Makes.(*plan.Computed).Kind) //nolint:forcetypeassert // only a computed generator has a source
	out.source = &source
	return &out
}

// sourceOf returns the source of a derived generator.
func (s *session) sourceOf(m *plan.Generator) (out generator.Source, err error) {
	x, ok := m.Source(), false
	if x.Source().Want == expression.WantTextMap {
		out.Map, ok, err = valueOf(s, x, s.scope(""), x.TextMap)
	} else {
		out.Text, ok, err = valueOf(s, x, s.scope(""), x.Text)
	}
	if err == nil && !ok {
		err = expression.NewWaiting(x.Source().Path)
	}
	return out, err
}

// compare compares the source of a generation with the present one.
func (w *wantedGeneration) compare(k *generation) (stale, unchecked bool) {
	switch {
	case w.Generator.Source() == nil || k.withheld != nil || len(k.details) == 0:
		return false, false
	case w.source == nil:
		return false, true
	}
	return !generator.Equal(k.SourceHash, generator.SourceHash(k.data(), *w.source)), false
}

// addCandidates adds the candidates for the next generation, if there may be one.
func (h *historyReader) addCandidates(w *wantedGeneration, one *history) {
	trust, _ := h.verify(one)
	maybe := w.want
	maybe.Unknown = false
	have := make([]generator.Generation, len(one.generations))
	for i, k := range one.generations {
		have[i] = h.stateOf(w, k, nil)
		have[i].Unproven = !trust.Proven[k.id()]
	}
	number := generator.Next(&maybe, have, h.req.Now).Make
	if number == 0 && w.Late {
		number = one.used
		for _, k := range one.generations {
			number = max(number, k.Number)
		}
		number++
	}
	if number > 0 {
		if last := number - 1; one.isHidden(last) {
			h.addCandidate(w, last, "")
			h.addCandidate(w, last, h.suffix(one, last))
		}
		h.addCandidate(w, number, "")
		h.addCandidate(w, number+1, h.suffix(one, number+1))
	}
}

// isHidden reports whether a generation stores the number of one that Crossplane does not return. It may exist: the
// composite may be an older one, which does not list it yet. It is looked up, and never created again, because each
// number is used once.
func (one *history) isHidden(number int) bool {
	return !one.numbers[number] && slices.ContainsFunc(one.generations, func(k *generation) bool { return k.Highest == number })
}

func (h *historyReader) addCandidate(w *wantedGeneration, number int, suffix string) {
	name := h.defaultName(w.Name, number)
	if suffix != "" {
		name += "-" + suffix
	}
	c := candidate{number: number}
	if r, ok := w.Makes.(*plan.Manifest); ok {
		named := r.Names()
		m, why := h.manifestOf(w.Generator, r, number, name)
		switch {
		case why.empty():
			c.object = m
			_, _, _, name = object.Identity(wire.Of(m))
		case suffix != "" && named: // there is only one name
			return
		case named || suffix == "":
			w.why, w.want.Unknown = why, true
			if named {
				return
			}
		}
	}
	if err := object.ValidateName(name); err != nil {
		if suffix == "" {
			w.why.failed, w.want.Unknown = append(w.why.failed, w.Path.Child("name").String()+": "+err.Error()), true
		}
		return
	}
	c.at = h.requirement(w.Generator, name)
	w.candidates = append(w.candidates, c)
}

// suffix returns the suffix of a name that is used if the usual name is not free. It cannot be guessed,
// because it depends on the UID of the generation in use.
func (h *historyReader) suffix(one *history, number int) string {
	uid := one.record.highest().UID
	if n := len(one.generations); uid == "" && n > 0 {
		uid = one.generations[n-1].id()
	}
	return generator.Hash(h.uid, uid, one.name, strconv.Itoa(number))[:idDigits]
}

// manifestOf returns the manifest of a generation by its number. The manifest of number 0 is common to all
// generations, and changes if the input changes.
func (s *session) manifestOf(m *plan.Generator, r *plan.Manifest, number int, name string) (*structpb.Struct, reasons) {
	s = s.forItem(m.Item)
	out, why := r.Base, reasons{}
	scope := s.generationScope(&observation.Generation{Generation: s.generationVariable(m, number, name)})
	for _, f := range r.Set {
		value, err := s.json(f.Value, scope)
		if err == nil && value != nil { // nil for optional.none()
			var set *structpb.Struct
			if set, err = environment.Set(out, f.At, value); err == nil {
				out = set
			} else {
				err = failed(f.Path+".fieldPath", "%s", err.Error())
			}
		}
		why.add(f.Value.Source().Path, err)
	}
	why.failed = append(why.failed, refuseMetadata(m, out)...)
	if !why.empty() {
		return nil, why
	}
	if v := madeMetadata(out)["name"]; v != nil {
		text, ok := v.GetKind().(*structpb.Value_StringValue)
		if !ok {
			return nil, failing("%s: returns a metadata.name that is not a string", m.Path.Child(plan.KindResource, "set"))
		}
		name = text.StringValue
	}
	if err := object.ValidateName(name); err != nil {
		return nil, failing("%s: %s", m.Path, err.Error())
	}
	return withName(out, s.requirement(m, name).Namespace, name), why
}

// generationVariable returns the variable generation.
func (s *session) generationVariable(m *plan.Generator, number int, name string) wire.Struct {
	return wire.Of(&structpb.Struct{Fields: map[string]*structpb.Value{
		"number": structpb.NewNumberValue(float64(max(number, 1))),
		"id":     structpb.NewStringValue(s.generationID(m, number, name)),
	}})
}

// generationScope returns the variables of the expressions of a generation.
func (s *session) generationScope(m *observation.Generation) observation.Scope {
	return s.observed.GenerationScope(m, s.variables.Val).Item(s.item)
}

// generationID returns generation.id. It is the same on each call, and unique to each generation of each
// generator of each composite, even if another composite had the same name before.
func (s *session) generationID(m *plan.Generator, number int, name string) string {
	if number == 0 {
		return strings.Repeat("0", idDigits)
	}
	id := []string{s.uid, m.Name, strconv.Itoa(number)}
	if prefix := s.namePrefix(m); prefix != "" { // two generations of one number have different names
		if _, suffix, ok := strings.Cut(strings.TrimPrefix(name, prefix), "-"); ok {
			id = append(id, suffix)
		}
	}
	return generator.Hash(id...)[:idDigits]
}

// refuseMetadata returns the errors of labels and annotations: values that are not strings, and the errors
// of the API server.
func refuseMetadata(m *plan.Generator, o *structpb.Struct) (out []string) {
	at := m.Path.Child(plan.KindResource, "set").String()
	texts := map[string]map[string]string{}
	for _, name := range []string{"labels", "annotations"} {
		v := madeMetadata(o)[name]
		texts[name] = plan.Texts(wire.OfValue(v))
		if len(texts[name]) != len(v.GetStructValue().GetFields()) || v != nil && v.GetStructValue() == nil {
			out = append(out, fmt.Sprintf("%s: returns metadata.%s that are not strings: wrap them in string(...)", at, name))
		}
	}
	errs := append(object.ValidateLabels(texts["labels"]), object.ValidateAnnotations(texts["annotations"])...)
	for _, err := range errs {
		out = append(out, at+": "+err.Error())
	}
	return out
}

func madeMetadata(o *structpb.Struct) map[string]*structpb.Value {
	return o.GetFields()["metadata"].GetStructValue().GetFields()
}

func (c composite) defaultName(name string, number int) string {
	return fmt.Sprintf("%s-%s-%d", c.name, plan.ObjectName(name), number)
}

// exported reports whether an export has, or may have, a value of the generation.
func (all *histories) exported(k *generation) bool {
	h := all.byGenerator[k.Generator]
	if k.Adopted && (h.unrecorded || all.named[k.id()]) {
		return true
	}
	if h.record == nil {
		return false
	}
	_, ok := h.record.used[k.id()]
	return ok || k.Number == h.record.highest().Generation && all.accepted[k.id()]
}

// stateOf returns the state of a generation, with the part that depends on more than its object. The
// argument ca is the generation of the CA that signs it, or nil.
func (a verifier) stateOf(w *wantedGeneration, k, ca *generation) generator.Generation {
	out := k.Generation
	out.Exported = a.exported(k)
	h := a.byGenerator[k.Generator]
	out.Candidate = h.record != nil && h.record.candidates[k.id()] || h.unknownCandidate && !k.Adopted ||
		h.unrecorded && k.lost // an export may have its value
	out.Offered = h.offered[k.id()] == h.setters
	out.Stale, out.Unchecked = w.compare(k)
	if k.Kind == "" && lacksKeys(k, w.Keys) {
		out.Kind = "lost" // the generator does not make it
	}
	if c := w.Certificate(); c != nil {
		out.RenewAt, out.Ends = renewal(c, k, ca, a.req.Now)
	}
	return out
}

// renewal returns when a certificate must be renewed: before it expires, or once its CA changes. The certificate cannot be
// used after ends.
func renewal(c *generator.Certificate, k, ca *generation, now time.Time) (at, ends time.Time) {
	at, _ = c.RenewAt(k.data()) // zero if it is not a certificate
	ends = c.EndsAt(k.data())
	if ca == nil {
		return at, ends
	}
	if issuer, err := generator.ParseIssuer(ca.data()); err == nil && !c.IssuedBy(k.data(), issuer) {
		return now, now
	}
	return at, ends
}

// withMetadata returns a copy of an object with more metadata.
func withMetadata(o *structpb.Struct, more map[string]*structpb.Value) *structpb.Struct {
	meta := map[string]*structpb.Value{}
	maps.Copy(meta, madeMetadata(o))
	maps.Copy(meta, more)
	out := copyOf(o)
	out.Fields["metadata"] = structpb.NewStructValue(&structpb.Struct{Fields: meta})
	return out
}

// copyOf returns a shallow copy of an object, which may be nil.
func copyOf(o *structpb.Struct) *structpb.Struct {
	out := &structpb.Struct{Fields: make(map[string]*structpb.Value, len(o.GetFields()))}
	maps.Copy(out.GetFields(), o.GetFields())
	return out
}

func withName(o *structpb.Struct, namespace, name string) *structpb.Struct {
	meta := map[string]*structpb.Value{"name": structpb.NewStringValue(name)}
	if namespace != "" {
		meta["namespace"] = structpb.NewStringValue(namespace)
	}
	return withMetadata(o, meta)
}

func textsValue(m map[string]string) *structpb.Value {
	out := &structpb.Struct{Fields: make(map[string]*structpb.Value, len(m))}
	for k, v := range m {
		out.Fields[k] = structpb.NewStringValue(v)
	}
	return structpb.NewStructValue(out)
}
