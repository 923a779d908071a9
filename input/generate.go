// Package input has the versions of the function's input, and generates the files that
// are made from them: the CustomResourceDefinition in
// package/input, which is the schema of the input, the JSON schemas for editors in
// package/schema, the copy of the definition that the function checks inputs against, and
// the reference in README.md.
package input

//go:generate go tool controller-gen paths=./crd crd:crdVersions=v1 output:artifacts:config=../package/input
//go:generate go run ../internal/desk/reference ../package/input/export.fn.crossplane.io_exports.yaml README.md ../package/schema ../internal/engine/definition/exports.json ../internal/desk/vocabulary/fields.json
