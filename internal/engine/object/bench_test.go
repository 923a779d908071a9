package object

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// large is a valid Secret with so many keys of such a size.
func large(keys, size int) *Object {
	o := &Object{
		Kind: Secret, Name: "connection", Namespace: "shop", Type: typeOpaque,
		Labels:      map[string]string{"app": "shop", "team": "payments"},
		Annotations: map[string]string{"example.org/host": "db.local"},
		State:       map[string]string{StatePrefix + "generation": "7"},
		Data:        make(map[string]sensitive.Bytes, keys),
	}
	for i := range keys {
		o.Data[fmt.Sprintf("key-%03d", i)] = sensitive.FromString(strings.Repeat("v", size))
	}
	return o
}

// viaUnstructured makes the Struct as the SDK's resource package does: by way of
// an unstructured object and its JSON.
func viaUnstructured(o *Object) (*structpb.Struct, error) {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion("v1")
	u.SetKind(string(o.Kind))
	u.SetName(o.Name)
	u.SetNamespace(o.Namespace)
	u.SetLabels(o.Labels)
	annotations := map[string]string{}
	for key, value := range o.Annotations {
		annotations[key] = value
	}
	for key, value := range o.State {
		annotations[key] = value
	}
	u.SetAnnotations(annotations)
	data := make(map[string]any, len(o.Data))
	for key, value := range o.Data {
		data[key] = base64.StdEncoding.EncodeToString(value.Reveal())
	}
	u.Object["type"], u.Object["data"] = o.Type, data
	raw, err := u.MarshalJSON()
	if err != nil {
		return nil, err
	}
	s := &structpb.Struct{}
	return s, s.UnmarshalJSON(raw)
}

func BenchmarkStruct(b *testing.B) {
	sizes := map[string]*Object{"5x32B": large(5, 32), "50x2KiB": large(50, 2048), "1x1MiB": large(1, MaxDataBytes)}
	for name, o := range sizes {
		b.Run(name+"/direct", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				o.Struct()
			}
		})
		b.Run(name+"/unstructured", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := viaUnstructured(o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkValidate(b *testing.B) {
	o := large(50, 2048)
	b.ReportAllocs()
	for b.Loop() {
		if errs := o.Validate(); errs != nil {
			b.Fatal(errs)
		}
	}
}

func BenchmarkHeld(b *testing.B) {
	s := wire.Of(large(50, 2048).Struct())
	b.ReportAllocs()
	for b.Loop() {
		Held(s)
	}
}

func BenchmarkChanged(b *testing.B) {
	o := large(50, 2048)
	s := wire.Of(o.Struct())
	b.ReportAllocs()
	for b.Loop() {
		if Changed(s, o) {
			b.Fatal("changed")
		}
	}
}
