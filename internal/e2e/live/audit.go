package live

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// auditPolicy records which Secrets Crossplane reads, without their data.
const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  users: ["system:serviceaccount:` + namespace + `:crossplane"]
  verbs: [get, list, watch]
  resources: [{group: "", resources: [secrets]}]
- level: None
`

// Reads returns the requests of Crossplane that read Secrets of a namespace, as the API server has logged them: with
// the names of single Secrets. Requests for all namespaces are not among them.
func (c *ControlPlane) Reads(namespace string) (out []string, err error) {
	f, err := os.Open(c.path("audit.log"))
	if err != nil {
		return nil, fmt.Errorf("cannot open the audit log: %w", err)
	}
	defer f.Close() //nolint:errcheck // Nothing is written to it.

	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)

	for lines.Scan() {
		var e struct {
			Verb      string `json:"verb"`
			ObjectRef struct {
				Namespace string `json:"namespace"`
				Name      string `json:"name"`
			} `json:"objectRef"`
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("cannot read the audit log: %w", err)
		}

		if e.ObjectRef.Namespace == namespace {
			out = append(out, e.Verb+" "+e.ObjectRef.Name)
		}
	}

	return out, lines.Err()
}
