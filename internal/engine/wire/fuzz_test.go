package wire

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// Whatever the bytes: what is read of them is what protobuf reads, and what protobuf
// refuses is refused in its words.
func FuzzDecodeReadsAsProtobuf(f *testing.F) {
	for _, text := range requests {
		f.Add(marshal(f, request(f, text)))
	}
	for _, sent := range smallRequests() {
		f.Add(sent)
	}
	for _, depth := range []int{plainDepth, plainDepth + 1, 3300, 20_000} { // protobuf refuses the last one
		f.Add(sub(5, nested(depth, depth%2 == 1)))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		if len(sent) > 8<<10 {
			t.Skip("size finds nothing that depth and number do not")
		}
		obeys(t, sent)
	})
}

// The same of requests that are nearly always whole, with what no encoder writes.
func FuzzQuirksReadAsProtobuf(f *testing.F) {
	f.Add([]byte{})
	for i := range byte(8) {
		for seed := range byte(8) {
			f.Add(noise(40<<i, seed))
		}
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		obeys(t, newMaker(script).request())
	})
}

// noise are bytes that look random, the same ones for a seed.
func noise(n int, seed byte) []byte {
	out := make([]byte, n)
	for i := range out {
		x := uint32(i+1)*2654435761 + uint32(seed)*40503
		out[i] = byte((x ^ x>>15) * 2246822519 >> 24)
	}
	return out
}

// A maker makes a request as a script says. At the script's end all choices are 0, which
// is the plainest one.
type maker struct {
	script []byte
	left   int // of the messages that it makes at most

	quirks, faults int // the remaining ones: one error hides the quirks after it
}

func newMaker(script []byte) *maker {
	m := &maker{script: script, left: 200}
	m.quirks, m.faults = m.pick(4), m.pick(4)/3
	return m
}

func (m *maker) pick(n int) int {
	if len(m.script) == 0 {
		return 0
	}
	c := int(m.script[0]) % n
	m.script = m.script[1:]
	return c
}

// quirk is true once in so many times, while there is one left.
func (m *maker) quirk(n int) bool {
	if m.quirks == 0 || m.pick(n) != n-1 {
		return false
	}
	m.quirks--
	return true
}

// fault is a quirk that protobuf refuses.
func (m *maker) fault(n int) bool {
	if m.faults == 0 || m.pick(n) != n-1 {
		return false
	}
	m.faults--
	return true
}

func (m *maker) number() uint64 {
	return []uint64{0, 1, 2, 127, 128, 300, math.MaxInt32, 1 << 63, math.MaxUint64}[m.pick(9)]
}

// varint is nearly always as short as it can be.
func (m *maker) varint(v uint64) []byte {
	b := protowire.AppendVarint(nil, v)
	if !m.quirk(32) {
		return b
	}
	most := 10
	if m.fault(2) {
		most = 12
	}
	b[len(b)-1] |= 0x80
	for len(b) < most-1 && m.pick(3) > 0 {
		b = append(b, 0x80)
	}
	return append(b, 0)
}

func (m *maker) sub(num protowire.Number, body []byte) []byte {
	n := uint64(len(body))
	if m.fault(32) {
		n += m.number()
	}
	tag := m.varint(protowire.EncodeTag(num, protowire.BytesType))
	return message(tag, m.varint(n), body)
}

func (m *maker) enum(num protowire.Number) []byte {
	v := uint64(m.pick(2))
	if num == 1 { // null
		v = 0
	}
	if m.quirk(4) {
		v = m.number()
	}
	return message(m.varint(protowire.EncodeTag(num, protowire.VarintType)), m.varint(v))
}

func (m *maker) text() []byte {
	texts := []string{"a", "b", "", "c", "ä", "\x00", "a-rather-long-name", "\U0010ffff", "a\x00"}
	if m.fault(32) {
		return []byte([]string{"\xff", "\xe2\x82", "\xed\xa0\x80"}[m.pick(3)])
	}
	return []byte(texts[m.pick(len(texts))])
}

// unknown is a field of a message that has none of that number, or not of that type.
func (m *maker) unknown() []byte {
	num := protowire.Number(1 + m.pick(20))
	switch typ := protowire.Type(m.pick(6)); typ {
	case protowire.BytesType:
		return m.sub(num, m.text())
	case protowire.Fixed32Type:
		return tagged(num, typ, []byte{1, 2, 3, 4})
	case protowire.Fixed64Type:
		return tagged(num, typ, []byte{1, 2, 3, 4, 5, 6, 7, 8})
	case protowire.StartGroupType:
		end := num
		if m.fault(2) {
			end++
		}
		return tagged(num, typ, protowire.AppendTag(varint(1, 1), end, protowire.EndGroupType))
	case protowire.EndGroupType:
		if !m.fault(2) {
			return nil
		}
		return tagged(num, typ, nil)
	default:
		return varint(num, m.number())
	}
}

// message of up to so many fields, each made by one of those, and rarely a quirk.
func (m *maker) message(most int, fields ...func() []byte) []byte {
	out := []byte{}
	for range m.pick(most + 1) {
		if m.left--; m.left < 0 {
			break
		}
		if m.quirk(16) {
			out = append(out, m.unknown()...)
			continue
		}
		out = append(out, fields[m.pick(len(fields))]()...)
	}
	return out
}

// once is a message with fields in their order, of which each is there or not, and
// rarely twice.
func (m *maker) once(fields ...func() []byte) []byte {
	out := []byte{}
	for _, field := range fields {
		times := min(m.pick(6), 1)
		if m.quirk(16) {
			times = 2
		}
		for range times {
			out = append(out, field()...)
		}
	}
	if m.quirk(16) {
		out = append(out, m.unknown()...)
	}
	return out
}

// keyed is an entry of a map.
func (m *maker) keyed(num protowire.Number, value func() []byte) []byte {
	parts := [][]byte{m.sub(1, m.text()), m.sub(2, value())}
	if !m.quirk(8) {
		return m.sub(num, message(parts...))
	}
	switch m.pick(6) {
	case 0:
		parts[0], parts[1] = parts[1], parts[0]
	case 1:
		parts = parts[1:]
	case 2:
		parts = parts[:1]
	case 3:
		parts = append(parts, m.sub(2, value()))
	case 4:
		parts = append(parts, m.sub(1, m.text()))
	case 5:
		parts = append(parts, m.unknown())
	}
	return m.sub(num, message(parts...))
}

func (m *maker) request() []byte {
	inner := func(num protowire.Number, body func() []byte) func() []byte {
		return func() []byte { return m.sub(num, body()) }
	}
	meta := func() []byte {
		return m.message(2, func() []byte { return m.sub(1, m.text()) }, func() []byte { return m.enum(2) })
	}
	resources := func() []byte { return m.message(2, inner(1, m.resource)) }
	schema := func() []byte { return m.message(1, inner(1, m.object)) }
	entries := func(num protowire.Number, value func() []byte) func() []byte {
		return func() []byte { return m.message(3, func() []byte { return m.keyed(num, value) }) }
	}
	body := m.once(
		inner(3, m.state),
		inner(5, m.object),
		inner(1, meta),
		inner(2, m.state),
		inner(4, m.object),
		entries(8, resources),
		entries(9, schema),
	)
	if m.quirk(16) {
		body = append(body, entries(protowire.Number(6+m.pick(2)), resources)()...)
	}
	return body
}

func (m *maker) state() []byte {
	composite := func() []byte { return m.sub(1, m.resource()) }
	named := func() []byte { return m.keyed(2, m.resource) }
	return message(m.once(composite), m.message(4, named))
}

func (m *maker) resource() []byte {
	detail := func() []byte { return m.keyed(2, m.text) }
	return m.once(func() []byte { return m.sub(1, m.object()) }, detail, detail, func() []byte { return m.enum(3) })
}

func (m *maker) object() []byte {
	if m.pick(12) == 11 {
		return m.large()
	}
	return m.message(6, func() []byte { return m.keyed(1, m.value) })
}

// large objects have an index, and names that come twice.
func (m *maker) large() []byte {
	fields := [][]byte{}
	step, names := 1+m.pick(30), 1+m.pick(30)
	for i := range 10 + m.pick(30) {
		name := fmt.Sprintf("name-%d", i*step%names)
		fields = append(fields, fieldOf(name, textOf(fmt.Sprintf("%d %s", i, strings.Repeat("x", 60)))))
	}
	at := m.pick(len(fields))
	return message(slices.Insert(fields, at, m.message(3, func() []byte { return m.keyed(1, m.value) }))...)
}

func (m *maker) value() []byte {
	v := m.kind()
	if !m.quirk(8) {
		return v
	}
	switch m.pick(3) {
	case 0:
		return append(v, m.kind()...)
	case 1:
		return append(v, m.unknown()...)
	}
	return nil
}

func (m *maker) kind() []byte {
	if m.left--; m.left < 0 {
		return varint(1, 0)
	}
	switch m.pick(7) {
	case 1:
		return m.sub(3, m.text())
	case 2:
		return m.enum(4)
	case 3:
		bits := []uint64{0, math.Float64bits(1.5), 1 << 63, math.Float64bits(math.NaN()), math.Float64bits(math.Inf(1))}
		return tagged(2, protowire.Fixed64Type, protowire.AppendFixed64(nil, bits[m.pick(len(bits))]))
	case 4, 5:
		return m.sub(5, m.object())
	case 6:
		return m.sub(6, m.message(12, func() []byte { return m.sub(1, m.value()) }))
	}
	return m.enum(1)
}

// Generated messages are read in place, left to protobuf, or refused by it, each of them often enough.
func TestGeneratedRequests(t *testing.T) {
	const inPlace, byProtobuf, refused = "in place", "by protobuf", "refused"
	got := map[string]int{}
	for n := range 2000 {
		sent := newMaker(noise(100+n, byte(n))).request()
		decodesAs(t, sent)
		_, err := unmarshal(sent)
		plain := (&Request{}).parse(sent, plainDepth)
		switch {
		case err != nil:
			got[refused]++
		case plain:
			got[inPlace]++
		default:
			got[byProtobuf]++
		}
	}
	for _, form := range []string{refused, inPlace, byProtobuf} {
		if got[form] < 100 {
			t.Errorf("got %d of 2000 requests read %s, want 100 at least", got[form], form)
		}
	}
}
