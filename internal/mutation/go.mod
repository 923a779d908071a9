// The tool for mutation testing has a module of its own, so that go test ./... does not run it.
module github.com/crossplane-contrib/function-export/internal/mutation

go 1.26.0

require (
	github.com/crossplane-contrib/function-export v0.0.0
	github.com/google/go-cmp v0.7.0
	sigs.k8s.io/yaml v1.6.0
)

require go.yaml.in/yaml/v2 v2.4.4 // indirect

replace github.com/crossplane-contrib/function-export => ../..
