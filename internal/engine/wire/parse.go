package wire

import (
	"slices"
	"unicode/utf8"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// A parser reads each byte of a request once, and checks that the request has the form that Go's protobuf writes: it
// has only fields that this package reads; a field has a tag of one byte, and occurs once unless it is repeated; an
// entry of a map has its key and then its value; a Value has at most one kind. Protobuf decodes and encodes all other
// requests first, for example those with credentials. A State and a Resource may have the fields of a newer Crossplane:
// the response passes on what earlier steps desire.
type parser struct {
	*Request

	depth int  // of the values, at most
	wrong bool // the request has another form
}

// plainDepth is the maximum depth of values in requests that protobuf does not decode first. Only protobuf knows which
// ones are too deep. Kubernetes objects are much less deep.
const plainDepth = 128

// fields calls read for each field of a message, and stops if one is wrong. Fields of the repeated tags may occur
// several times.
func (p *parser) fields(b []byte, read func(tag byte, field []byte), repeated ...byte) {
	p.fieldsTo(protowire.MaxValidNumber, b, read, repeated...)
}

// fieldsTo is fields without those that have a higher number than known.
func (p *parser) fieldsTo(known protowire.Number, b []byte, read func(tag byte, field []byte), repeated ...byte) {
	var seen uint
	for len(b) > 0 && !p.wrong {
		if protowire.Number(b[0]>>3) > known { // or the tag has several bytes
			number, _, n := protowire.ConsumeField(b)
			if p.wrong = number <= known || n < 0; !p.wrong {
				b = b[n:]
			}
			continue
		}
		tag, bit := b[0], uint(1)<<(b[0]>>3)
		field, rest := next(b)
		if rest == nil || seen&bit != 0 && !slices.Contains(repeated, tag) {
			p.wrong = true
			return
		}
		b, seen = rest, seen|bit
		read(tag, field)
	}
}

// next returns the body of the field at the beginning of b, and the rest after it. Both are nil if it has none. A field
// that is not read can have another body.
func next(b []byte) (field, rest []byte) {
	if b[0] < 0x80 && protowire.Type(b[0]&7) == protowire.BytesType {
		return take(b, b[0])
	}
	_, _, n := protowire.ConsumeField(b)
	if n < 0 {
		return nil, nil
	}
	return b[1:n], b[n:]
}

// request reads the whole request.
func (p *parser) request() {
	p.fields(p.in.sent, func(tag byte, field []byte) {
		switch tag {
		case tagMeta:
			p.Meta = &fnv1.RequestMeta{}
			p.wrong = proto.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(field, p.Meta) != nil
		case tagObserved:
			p.Observed = p.state(field)
		case tagDesired:
			p.desired, p.Desired = field, p.state(field)
		case tagInput:
			p.Input = p.object(field)
		case tagContext:
			p.context, p.Context = field, p.object(field)
		case tagRequiredResources:
			name, items := p.entry(field)
			put(&p.RequiredResources, name, p.items(items))
		case tagRequiredSchemas:
			name, schema := p.entry(field)
			put(&p.RequiredSchemas, name, p.schema(schema))
		default:
			p.wrong = true
		}
	}, tagRequiredResources, tagRequiredSchemas)
}

func (p *parser) state(b []byte) (out State) {
	n := 0
	for rest := b; len(rest) > 0; n++ {
		_, rest = take(rest, rest[0])
	}
	const most = 1 << 10 // otherwise a repeated name takes memory
	if n > 0 {
		out.Resources = make(map[string]Resource, min(n, most))
	}
	p.fieldsTo(tagResources>>3, b, func(tag byte, field []byte) {
		switch tag {
		case tagComposite:
			out.Composite = p.resource(field)
		case tagResources:
			name, resource := p.entry(field)
			out.Resources[name] = p.resource(resource)
		default:
			p.wrong = true
		}
	}, tagResources)
	return out
}

func (p *parser) resource(b []byte) Resource {
	out := Resource{exists: true}
	p.fieldsTo(tagReady>>3, b, func(tag byte, field []byte) {
		switch tag {
		case tagResource:
			out.Object = p.object(field)
		case tagReady:
			ready, _ := protowire.ConsumeVarint(field)
			out.Ready = fnv1.Ready(ready) //nolint:gosec // as protobuf
		case tagDetails:
			name, value := p.entry(field)
			put(&out.ConnectionDetails, name, slices.Clip(value))
		default:
			p.wrong = true
		}
	}, tagDetails)
	return out
}

// items returns the objects of an entry of required_resources.
func (p *parser) items(b []byte) []Struct {
	objects := []Struct{}
	p.fields(b, func(tag byte, item []byte) {
		p.wrong = tag != tagItems
		objects = append(objects, p.resource(item).Object)
	}, tagItems)
	return objects
}

// schema returns the schema of an entry of required_schemas, which does not exist if it was not found.
func (p *parser) schema(b []byte) (object Struct) {
	p.fields(b, func(tag byte, schema []byte) {
		p.wrong = tag != tagSchema
		object = p.object(schema)
	})
	return object
}

func (p *parser) object(b []byte) Struct {
	p.wrong = p.wrong || !isStruct(b, p.depth)
	return Struct{sent: b, in: &p.in}
}

// entry returns the key and the value of an entry of a map.
func (p *parser) entry(b []byte) (key string, value []byte) {
	name, value, ok := checkedEntry(b)
	p.wrong = p.wrong || !ok
	return p.in.copy(name), value
}

// checkedEntry returns the key and the value of an entry of a map. It fails unless the entry has exactly these.
func checkedEntry(b []byte) (key, value []byte, ok bool) {
	key, b = take(b, tagKey)
	value, b = take(b, tagValue)
	return key, value, b != nil && len(b) == 0 && utf8.Valid(key)
}

// put adds an entry to a map that may be nil.
func put[V any](m *map[string]V, key string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = v
}

func isStruct(b []byte, left int) bool {
	for len(b) > 0 {
		var e []byte
		if e, b = take(b, tagEntry); b == nil {
			return false
		}
		if _, value, ok := checkedEntry(e); !ok || !isValue(value, left) {
			return false
		}
	}
	return true
}

func isList(b []byte, left int) bool {
	for len(b) > 0 {
		var e []byte
		if e, b = take(b, tagEntry); b == nil || !isValue(e, left) {
			return false
		}
	}
	return true
}

// isValue checks a Value with so many levels of others in it. One without a kind is null.
func isValue(b []byte, left int) bool {
	if len(b) == 0 {
		return true
	}
	tag := b[0]
	switch tag {
	case tagString, tagStruct, tagList:
		field, rest := take(b, tag)
		switch {
		case rest == nil || len(rest) > 0:
			return false
		case tag == tagString:
			return utf8.Valid(field)
		case left == 0:
			return false
		case tag == tagStruct:
			return isStruct(field, left-1)
		}
		return isList(field, left-1)
	case tagNumber:
		return len(b) == 9
	case tagBool:
		return len(b) == 2 && b[1] <= 1
	case tagNull:
		_, n := protowire.ConsumeVarint(b[1:])
		return n == len(b)-1
	}
	return false
}
