package function_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/credential"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
	"github.com/crossplane-contrib/function-export/internal/engine/seal"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

// observedConnection is the Secret of an export named connection, as Crossplane observes it.
const observedConnection = `    connection:
      resource:
        apiVersion: v1
        kind: Secret
        type: Opaque
        metadata: {name: orders-connection, namespace: team-a, annotations: {crossplane.io/composition-resource-name: connection}, ownerReferences: [{apiVersion: example.org/v1, kind: Database, name: orders, uid: "1", controller: true}]}
        data: {username: YXBw}
`

// foundConnection is the same Secret as a look-up finds it, with another owner's UID and name.
const foundConnection = `{apiVersion: v1, kind: Secret, metadata: {name: orders-connection, namespace: team-a, annotations: {crossplane.io/composition-resource-name: connection}, ownerReferences: [{apiVersion: example.org/v1, kind: Database, name: orders, uid: "1", controller: true}]}, data: {username: YXBw}}`

// desiredSecret is a Secret with a user name: a ready one is written, with its first revision, and another one is kept.
func desiredSecret(resource, name, ready string) string {
	annotations := ""
	if ready == "READY_TRUE" {
		annotations = `, annotations: {export.fn.crossplane.io/revision: "1"}`
	}
	return resource + ":\n  ready: " + ready + "\n  resource:\n    apiVersion: v1\n    kind: Secret\n    type: Opaque\n    metadata: {name: " + name + ", namespace: team-a" + annotations + "}\n    data: {username: YXBw}\n"
}

// Where an object is, and whose it is: what the README promises of names.
func TestPlaces(t *testing.T) {
	const username = "    - {key: username, value: secret.username}"
	input := func(name, metadata, data string) string {
		return strings.Replace(functiontest.SecretInput, "- name: connection\n", "- name: "+name+"\n    metadata: {"+metadata+"}\n", 1) + data
	}
	former := func(apiVersion, kind, name string) map[string]string {
		owner := `apiVersion: ` + apiVersion + `, kind: ` + kind + `, name: ` + name + `, uid: "0"`
		return map[string]string{"team-a/orders-connection": strings.Replace(foundConnection, `apiVersion: example.org/v1, kind: Database, name: orders, uid: "1"`, owner, 1)}
	}
	says := func(reason, text string) want {
		message, _, _ := strings.Cut(text, "; see: ") // a result has no command
		return want{condition: "STATUS_CONDITION_FALSE " + reason + " " + text, results: []string{"SEVERITY_WARNING " + message}}
	}
	with := func(w want, desired string) want {
		w.desired = desired
		return w
	}
	notReady := func(w want) want {
		w.notReady = true
		return w
	}
	cases := map[string]struct {
		reason  string
		request string
		found   map[string]string
		want    want
	}{
		"ExportRenamed": {
			reason:  "The default name has the export's name in it: there is a new Secret, and the old one leaves the desired state, so that Crossplane deletes it.",
			request: functiontest.ObservedDatabase + observedConnection + input("conn", "", username),
			want:    want{condition: `STATUS_CONDITION_FALSE Waiting Secret "conn" (team-a/orders-conn) is created in this reconcile`, notReady: true, desired: strings.Replace(desiredSecret("conn", "orders-conn", "READY_TRUE"), "READY_TRUE", "READY_FALSE", 1)},
		},
		"ExportRenamedNamePinned": {
			reason:  "With a name of its own the export takes over the object, under the name in the pipeline that the object has.",
			request: functiontest.ObservedDatabase + observedConnection + input("conn", "name: orders-connection", username),
			want: want{condition: "STATUS_CONDITION_TRUE Available", desired: strings.Replace(desiredSecret("connection", "orders-connection", "READY_TRUE"),
				"annotations: {", "annotations: {"+rotation.AnnotationRecord+": '"+seal.Add(rotation.AnnotationRecord,
					credential.Outputs{"username": sensitive.FromString("app")}, `{"export":"conn"}`)+"', ", 1)},
		},
		"NameUnknown": {
			reason:  "While the name of a renamed export is unknown, the object that it may have is kept.",
			request: functiontest.ObservedDatabase + observedConnection + input("conn", "nameExpression: composite.spec.later", username),
			want: notReady(want{
				condition: `STATUS_CONDITION_FALSE Held Secret "conn" is not created: secrets[0].metadata.nameExpression waits for composite.spec.later (correct it, set it in Database orders, or write .?later.orValue('none') for a default); the name of secrets[0] is unknown, so each Secret that it may take over is kept unchanged: composed resource "connection"`,
				results:   []string{`SEVERITY_WARNING the name of secrets[0] is unknown, so each Secret that it may take over is kept unchanged: composed resource "connection"`},
				desired:   desiredSecret("connection", "orders-connection", "READY_FALSE"),
			}),
		},
		"NameChanged": {
			reason:  "The name of an object cannot change. Its data do, so that it stays ready, but the condition says so.",
			request: functiontest.ObservedDatabase + observedConnection + input("connection", "nameExpression: \"'new-' + composite.metadata.name\"", username),
			want: with(says("Held", `Secret "connection" keeps the name team-a/orders-connection, because a composed resource cannot be renamed: delete it to have it created as team-a/new-orders`),
				desiredSecret("connection", "orders-connection", "READY_TRUE")),
		},
		"NameChangedHeld": {
			reason:  "Of an object that is held both are said.",
			request: functiontest.ObservedDatabase + observedConnection + input("connection", "name: new", "    - {key: token, value: secret.token}"),
			want: with(says("Held", `Secret "connection" (team-a/orders-connection) is kept unchanged: key "token" waits for secrets.db.token (Instance orders-db exists, and has the keys password, username); it keeps the name team-a/orders-connection, because a composed resource cannot be renamed: delete it to have it created as team-a/new; see: kubectl describe instance.rds.aws.m.upbound.io orders-db --namespace team-a`),
				desiredSecret("connection", "orders-connection", "READY_FALSE")),
		},
		"NameFails": {
			reason:  "A name that no object can have changes nothing, and is said.",
			request: functiontest.ObservedDatabase + observedConnection + input("connection", "nameExpression: \"'NOT A NAME'\"", username),
			want: with(says("Held", `Secret "connection" keeps the name team-a/orders-connection, because its name is unknown: secrets[0].metadata.nameExpression: returns an invalid name: cannot use name "NOT A NAME": use lower-case letters, digits, '-' and '.', and start and end each part between dots with a letter or a digit`),
				desiredSecret("connection", "orders-connection", "READY_TRUE")),
		},
		"NameWaits": {
			reason:  "Neither does one that is not there yet.",
			request: functiontest.ObservedDatabase + observedConnection + input("connection", "nameExpression: composite.spec.secretName", username),
			want: with(says("Held", `Secret "connection" keeps the name team-a/orders-connection, because its name is unknown: secrets[0].metadata.nameExpression waits for composite.spec.secretName (correct it, set it in Database orders, or write .?secretName.orValue('none') for a default)`),
				desiredSecret("connection", "orders-connection", "READY_TRUE")),
		},
		"NamespaceChanged": {
			reason: "The same is true of the namespace of a cluster scoped composite's object, and of both.",
			request: strings.Replace(functiontest.ObservedDatabase, "name: orders, namespace: team-a", "name: orders", 1) + observedConnection +
				input("connection", "name: new, namespace: team-b", username),
			want: with(says("Held", `Secret "connection" keeps the name team-a/orders-connection, because a composed resource cannot be renamed: delete it to have it created as team-b/new`),
				desiredSecret("connection", "orders-connection", "READY_TRUE")),
		},
		"FormerComposite": {
			reason:  "A composite of that name was there before: its UID says that it is another one.",
			request: functiontest.ObservedDatabase + functiontest.SecretInput + username,
			found:   former("example.org/v1beta1", "Database", "orders"),
			want:    notReady(says("Conflict", `Secret "connection": Secret team-a/orders-connection exists and is controlled by a previous Database "orders" with the UID "0", not by this one, whose UID is "1": wait until Kubernetes has deleted it, or delete it, or set secrets[0].metadata.name to another name; see: kubectl describe secret orders-connection --namespace team-a`)),
		},
		"OtherComposite": {
			reason:  "One of another name is another composite.",
			request: functiontest.ObservedDatabase + functiontest.SecretInput + username,
			found:   former("example.org/v1", "Database", "other"),
			want:    notReady(says("Conflict", `Secret "connection": Secret team-a/orders-connection exists and is controlled by Database "other": set secrets[0].metadata.name to another name; see: kubectl describe secret orders-connection --namespace team-a`)),
		},
		"OtherGroup": {
			reason:  "So is one of another group.",
			request: functiontest.ObservedDatabase + functiontest.SecretInput + username,
			found:   former("other.example.org/v1", "Database", "orders"),
			want:    notReady(says("Conflict", `Secret "connection": Secret team-a/orders-connection exists and is controlled by Database "orders" of "other.example.org/v1": set secrets[0].metadata.name to another name; see: kubectl describe secret orders-connection --namespace team-a`)),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.want.check(t, tc.reason, functiontest.Reconcile(t, functiontest.New(t), functiontest.Request(t, tc.request), tc.found))
		})
	}
}

// While a Secret is held its own keys stay published, and those that others added to it do not.
func TestHeldDetailsAreOurOwn(t *testing.T) {
	const managed = `, managedFields: [
          {manager: apiextensions.crossplane.io/composed/abc, operation: Apply, fieldsV1: {"f:data": {"f:username": {}}}},
          {manager: kubectl-edit, operation: Update, fieldsV1: {"f:data": {"f:added": {}}}}]}
        data: {added: YWRkZWQ=, `
	for name, tc := range map[string]struct {
		reason  string
		request string
		want    map[string][]byte
	}{
		"Observed": {
			reason:  "An input is missing.",
			request: functiontest.ObservedDatabase + strings.Replace(observedConnection, "}\n        data: {", managed, 1) + functiontest.SecretInput + "    - {key: token, value: secret.token}",
			want:    map[string][]byte{"username": []byte("app")},
		},
		"Conflict": {
			reason:  "Another step composes the same object.",
			request: functiontest.ObservedDatabase + strings.Replace(observedConnection, "}\n        data: {", managed, 1) + functiontest.SecretInput + "    - {key: username, value: secret.username}\n" + "desired: {resources: {other: {resource: {apiVersion: v1, kind: Secret, metadata: {name: orders-connection}}}}}",
			want:    map[string][]byte{"username": []byte("app")},
		},
		"NoManagedFields": {
			reason:  "Without a word about who set what, as in a file, all is held, and published as it was.",
			request: functiontest.ObservedDatabase + observedConnection + functiontest.SecretInput + "    - {key: token, value: secret.token}",
			want:    map[string][]byte{"username": []byte("app")},
		},
		"Made": {
			reason:  "Of a Secret that is made the same is published as is exported.",
			request: functiontest.ObservedDatabase + strings.Replace(observedConnection, "}\n        data: {", managed, 1) + functiontest.SecretInput + "    - {key: password, value: secret.password}",
			want:    map[string][]byte{"password": []byte("canary-password")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			published := strings.Replace(tc.request, "    from: db\n", "    from: db\n    connectionDetails: true\n", 1)
			rsp := functiontest.Reconcile(t, functiontest.New(t), functiontest.Request(t, published), nil)
			if diff := cmp.Diff(tc.want, rsp.GetDesired().GetComposite().GetConnectionDetails()); diff != "" {
				t.Errorf("%s\nconnection details: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
