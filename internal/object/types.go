package object

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/crossplane-contrib/function-export/internal/sensitive"
)

// The types of Secrets whose data the API server judges, and their keys. Source:
// ValidateSecret in pkg/apis/core/validation of Kubernetes v1.36.3.
const (
	typeOpaque           = "Opaque"
	typeServiceAccount   = "kubernetes.io/service-account-token"
	typeTLS              = "kubernetes.io/tls"
	typeDockerConfigJSON = "kubernetes.io/dockerconfigjson"
	typeDockercfg        = "kubernetes.io/dockercfg"
	typeBasicAuth        = "kubernetes.io/basic-auth"
	typeSSHAuth          = "kubernetes.io/ssh-auth"

	keyTLSCert          = "tls.crt"
	keyTLSKey           = "tls.key"
	keyDockerConfigJSON = ".dockerconfigjson"
	keyDockercfg        = ".dockercfg"
	keyUsername         = "username"
	keyPassword         = "password"
	keySSHPrivateKey    = "ssh-privatekey"
)

// typeRules are the API server's rules for the data of a type. A type that is
// not here has none.
var typeRules = map[string]func(data map[string]sensitive.Bytes) []error{
	typeTLS: func(data map[string]sensitive.Bytes) []error {
		return []error{require(data, keyTLSCert), require(data, keyTLSKey)}
	},
	typeDockerConfigJSON: func(data map[string]sensitive.Bytes) []error {
		return []error{requireJSON(data, keyDockerConfigJSON)}
	},
	typeDockercfg: func(data map[string]sensitive.Bytes) []error {
		return []error{requireJSON(data, keyDockercfg)}
	},
	typeBasicAuth: func(data map[string]sensitive.Bytes) []error {
		if require(data, keyUsername) == nil || require(data, keyPassword) == nil {
			return nil
		}
		return []error{fmt.Errorf("keys %q and %q are missing; export one of them", keyUsername, keyPassword)}
	},
	typeSSHAuth: func(data map[string]sensitive.Bytes) []error {
		if data[keySSHPrivateKey].Len() > 0 {
			return nil
		}
		return []error{fmt.Errorf("key %q is missing or empty; export it", keySSHPrivateKey)}
	},
	typeServiceAccount: func(map[string]sensitive.Bytes) []error {
		return []error{errors.New("Kubernetes fills Secrets of this type itself; use another type")}
	},
}

// validateType judges an object's type, and its data by the rules of that type.
func (o *Object) validateType() []error {
	switch {
	case o.Type == "":
		return nil
	case o.Kind == ConfigMap:
		return []error{errors.New("cannot give a ConfigMap a type: only Secrets have one; leave it out")}
	case !utf8.ValidString(o.Type):
		return []error{fmt.Errorf("cannot use type %s: it is not UTF-8", quote(o.Type))}
	}
	rule, ok := typeRules[o.Type]
	if !ok {
		return nil
	}
	var errs []error
	for _, err := range rule(o.Data) {
		if err != nil {
			errs = append(errs, fmt.Errorf("cannot make a Secret of type %q: %w", o.Type, err))
		}
	}
	return errs
}

func require(data map[string]sensitive.Bytes, key string) error {
	if _, ok := data[key]; !ok {
		return fmt.Errorf("key %q is missing; export it", key)
	}
	return nil
}

// requireJSON wants what json.Unmarshal takes into a map, as the API server
// does. The error of json.Unmarshal quotes what it reads, so it ends here.
func requireJSON(data map[string]sensitive.Bytes, key string) error {
	if err := require(data, key); err != nil {
		return err
	}
	if err := json.Unmarshal(data[key].Reveal(), &map[string]any{}); err != nil {
		return fmt.Errorf("the value of key %q is not a JSON object; export one", key)
	}
	return nil
}
