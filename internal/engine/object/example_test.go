package object_test

import (
	"fmt"

	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A Secret is validated, made, and read again.
func ExampleObject() {
	o := object.Object{
		Kind: object.Secret, Name: "connection", Namespace: "shop",
		Data: map[string]sensitive.Bytes{"password": sensitive.FromString("hunter2")},
	}
	fmt.Println(o.Validate())

	s := o.Struct()
	fmt.Println(s.GetFields()["data"].GetStructValue().GetFields()["password"].GetStringValue())

	data, err := object.DataOf(wire.Of(s))
	fmt.Println(data, err)
	// Output:
	// []
	// aHVudGVyMg==
	// map[password:[redacted]] <nil>
}

// An error says what to change, and shows no value.
func ExampleObject_Validate() {
	o := object.Object{
		Kind: object.Secret, Name: "registry", Namespace: "shop", Type: "kubernetes.io/dockerconfigjson",
		Labels: map[string]string{"crossplane.io/composite": "mine"},
		Data:   map[string]sensitive.Bytes{".dockerconfigjson": sensitive.FromString("hunter2")},
	}
	for _, err := range o.Validate() {
		fmt.Println(err)
	}
	// Output:
	// cannot make a Secret of type "kubernetes.io/dockerconfigjson": the value of key ".dockerconfigjson" is not a JSON object: export one
	// cannot set label "crossplane.io/composite": Crossplane sets it to find the objects of a composite again; leave it out
}

// An object that must not change is desired exactly as it is observed.
func ExampleHeld() {
	observed := (&object.Object{
		Kind: object.ConfigMap, Name: "settings", Namespace: "shop",
		Data: map[string]sensitive.Bytes{"region": sensitive.FromString("eu-west-1")},
	}).Struct()
	held := object.Held(wire.Of(observed))
	desired := &object.Object{Kind: object.ConfigMap, Data: map[string]sensitive.Bytes{}}
	fmt.Println(object.Identity(wire.Of(held)))
	fmt.Println(object.Changed(wire.Of(observed), desired))
	// Output:
	// v1 ConfigMap shop settings
	// true
}
