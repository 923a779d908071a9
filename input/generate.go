// Package input holds the versions of the function's input, and how the files
// made from them are made: the deep copies beside the types, the
// CustomResourceDefinition in package/input that is the input's schema, and the JSON
// schemas in package/schema, which are the same for editors, and the copy of the
// definition that the function checks inputs against.
package input

//go:generate go tool controller-gen paths=./v1beta1 object crd:crdVersions=v1 output:artifacts:config=../package/input
//go:generate go run ../internal/jsonschema ../package/input/export.fn.crossplane.io_exports.yaml ../package/schema ../internal/definition/exports.json
