package object

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Types of Secrets. The API server has rules for the data of all but Opaque.
const (
	typeOpaque           = "Opaque"
	typeServiceAccount   = "kubernetes.io/service-account-token"
	typeTLS              = "kubernetes.io/tls"
	typeDockerConfigJSON = "kubernetes.io/dockerconfigjson"
	typeDockercfg        = "kubernetes.io/dockercfg"
	typeBasicAuth        = "kubernetes.io/basic-auth"
	typeSSHAuth          = "kubernetes.io/ssh-auth"
)

// validateType checks an object's type, and its data by the API server's rules for that type. Source: ValidateSecret
// in pkg/apis/core/validation of Kubernetes v1.36.3.
func (o *Object) validateType() []error {
	switch {
	case o.Type == "":
		return nil
	case o.Kind == ConfigMap:
		return []error{errors.New("cannot give a ConfigMap a type: only Secrets have one: leave it out")}
	case !utf8.ValidString(o.Type):
		return []error{fmt.Errorf("cannot use type %s: it is not UTF-8", quote(o.Type))}
	}
	var errs []error
	for _, err := range o.typeErrors() {
		if err != nil {
			errs = append(errs, fmt.Errorf("cannot make a Secret of type %q: %w", o.Type, err))
		}
	}
	return errs
}

// typeErrors may contain nil errors.
func (o *Object) typeErrors() []error {
	switch o.Type {
	case typeTLS:
		return []error{o.require("tls.crt", "tls.key")}
	case typeDockerConfigJSON:
		return []error{o.requireJSON(".dockerconfigjson")}
	case typeDockercfg:
		return []error{o.requireJSON(".dockercfg")}
	case typeBasicAuth:
		if o.require("username") != nil && o.require("password") != nil {
			return []error{errors.New(`keys "username" and "password" are missing: add one of them to data`)}
		}
	case typeSSHAuth:
		if o.Data["ssh-privatekey"].Len() == 0 {
			return []error{errors.New(`key "ssh-privatekey" is missing or empty: add it to data`)}
		}
	case typeServiceAccount:
		return []error{errors.New("Kubernetes fills Secrets of this type itself: use another type")}
	}
	return nil
}

func (o *Object) require(keys ...string) error {
	missing := slices.DeleteFunc(keys, func(k string) bool { _, ok := o.Data[k]; return ok })
	switch len(missing) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("key %q is missing: add it to data", missing[0])
	}
	return fmt.Errorf("keys %q and %q are missing: add them to data", missing[0], missing[1])
}

// RequiredKeys returns the keys that each Secret of a type has.
func RequiredKeys(typ string) []string {
	return map[string][]string{
		typeTLS: {"tls.crt", "tls.key"}, typeDockerConfigJSON: {".dockerconfigjson"}, typeDockercfg: {".dockercfg"},
		typeSSHAuth: {"ssh-privatekey"},
	}[typ]
}

// requireJSON accepts what json.Unmarshal decodes into a map, as the API server does. It does not return the
// error of json.Unmarshal, which quotes its input.
func (o *Object) requireJSON(key string) error {
	if err := o.require(key); err != nil {
		return err
	}
	if json.Unmarshal(o.Data[key].Reveal(), &map[string]any{}) != nil {
		return fmt.Errorf("the value of key %q is not a JSON object: export one", key)
	}
	return nil
}
