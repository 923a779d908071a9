// Package input holds the versions of the function's input, and how the files
// made from them are made: the deep copies beside the types, and the
// CustomResourceDefinition in package/input that is the input's schema.
package input

//go:generate go tool controller-gen paths=./v1beta1 object crd:crdVersions=v1 output:artifacts:config=../package/input
