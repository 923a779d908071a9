package generator

import "errors"

// A WireGuard is a stub.
type WireGuard struct{ independent }

// Keys are the names of the outputs.
func (*WireGuard) Keys() []string { return []string{privateKey, publicKey, "presharedKey"} }

// Make is a stub.
func (*WireGuard) Make(From) (Outputs, error) { return nil, errors.ErrUnsupported }
