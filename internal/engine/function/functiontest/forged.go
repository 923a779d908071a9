package functiontest

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/credential"
	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
	"github.com/crossplane-contrib/function-export/internal/engine/seal"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

const forgedValue = "forged-value-of-an-attacker"

// Forge forges a Secret that looks like a generation in everything that is known without the values.
func (c *ControlPlane) Forge(name string, number int, labels bool) {
	state := ""
	if first := c.Stored["v1|Secret|team-a|shop-admin-1"]; first != nil {
		state = world.Meta(first, "annotations", Prefix+"generator-state")
	}
	o := Parse(c.T, fmt.Sprintf(`{apiVersion: v1, kind: Secret, type: Opaque, immutable: true, metadata: {name: %s, namespace: team-a,
  creationTimestamp: %q, ownerReferences: [{apiVersion: example.org/v1, kind: XDatabase, name: shop, controller: true, uid: %s}]},
  data: {password: %s}}`, name, c.Now.Add(-time.Hour).UTC().Format(time.RFC3339), world.Meta(c.XR, "uid"), base64.StdEncoding.EncodeToString([]byte(forgedValue))))
	world.Set(o, fmt.Sprintf("generated/admin/%d", number), "metadata", "annotations", world.ResourceNameAnnotation)
	world.Set(o, state, "metadata", "annotations", Prefix+"generator-state")
	if labels {
		world.Set(o, world.Meta(c.XR, "uid"), "metadata", "labels", Prefix+"composite")
		world.Set(o, "admin", "metadata", "labels", Prefix+"generator")
		world.Set(o, fmt.Sprint(number), "metadata", "labels", Prefix+"generation")
	}
	c.UIDs++
	world.Set(o, fmt.Sprintf("forged-%d", c.UIDs), "metadata", "uid")
	c.Stored[world.KeyOf(o)] = o
}

// ForgeExport forges an export that was deleted and created again, with data that its author knows
// and a matching record.
func (c *ControlPlane) ForgeExport(uid string, number int) {
	o := c.Stored["v1|Secret|team-a|shop-connection"]
	world.Set(o, base64.StdEncoding.EncodeToString([]byte("known")), "data", "password")
	record := fmt.Sprintf(`{"generators":{"admin":{"holds":%q,"known":[{"uid":%[1]q,"generation":%d,"state":{"stage":"current","kind":"password"}}]}}}`, uid, number)
	world.Set(o, seal.Add(rotation.AnnotationRecord, credential.Outputs{"password": sensitive.FromString("known")}, record),
		"metadata", "annotations", rotation.AnnotationRecord)
	world.Set(o, "recreated", "metadata", "uid")
}

// HoldsForged reports whether an export has the value of the attacker.
func (c *ControlPlane) HoldsForged() bool {
	for key, o := range c.Stored {
		if strings.Contains(key, "shop-connection") {
			text, _ := proto.Marshal(o)
			return strings.Contains(string(text), base64.StdEncoding.EncodeToString([]byte(forgedValue)))
		}
	}
	return false
}

// ReconcileHostile reconciles while the API server refuses changes of immutable objects. Crossplane
// continues after such an error.
func (c *ControlPlane) ReconcileHostile() {
	c.tolerant = true
	c.Reconcile()
	c.Now = c.Now.Add(time.Second)
}
