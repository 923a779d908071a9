package rules

import (
	_ "embed" // of the list
	"maps"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// This file knows the connection details that common providers write.

// attribute is the prefix of the keys of sensitive fields, which Upjet adds to the keys of each kind.
const attribute = "attribute."

//go:embed connection_keys.yaml
var connectionKeys []byte

// A source of the list is a file of a public repository, with the keys that it writes for each kind.
type source struct {
	Repository, Version, File string
	Kinds                     map[string][]string // by group/Kind; # is a number
}

var keysByKind = sync.OnceValue(func() map[string][]string { //nolint:gochecknoglobals // decoded when it is first used
	var sources []source
	if err := yaml.UnmarshalStrict(connectionKeys, &sources); err != nil {
		panic(err) // a test decodes it
	}
	out := map[string][]string{}
	for _, s := range sources {
		maps.Copy(out, s.Kinds)
	}
	return out
})

// KeysOf returns the keys that the provider of a kind writes, with # for numbers, or nil if they are not known. The
// manifests of some kinds list their keys.
func KeysOf(kind plan.Kind, manifest map[string]any) []string {
	group, _, _ := strings.Cut(kind.APIVersion, "/")
	group = strings.Replace(group, ".m.", ".", 1) // the namespaced kinds have the same keys
	if group == "helm.crossplane.io" || group == "kubernetes.crossplane.io" {
		return listed(manifest)
	}
	keys := keysByKind()[group+"/"+kind.Kind]
	if len(keys) > 0 && strings.HasSuffix(group, ".upbound.io") {
		keys = append(slices.Clone(keys), attribute+"<field>")
	}
	return keys
}

// listed returns the keys that the manifest of a Helm Release or a Kubernetes Object lists.
func listed(manifest map[string]any) []string {
	spec, _ := manifest["spec"].(map[string]any)
	details, _ := spec["connectionDetails"].([]any)
	var out []string
	for _, d := range details {
		item, _ := d.(map[string]any)
		key, ok := item["toConnectionSecretKey"].(string)
		if !ok {
			return nil
		}
		out = append(out, key)
	}
	return out
}

var number = lazy.MustCompile(`[0-9]+`)

// numbered returns a key with # in place of each number between underscores.
func numbered(key string) string {
	parts := strings.Split(key, "_")
	for i, p := range parts {
		if i > 0 && number().FindString(p) == p && p != "" {
			parts[i] = "#"
		}
	}
	return strings.Join(parts, "_")
}
