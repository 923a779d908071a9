package plan_test

import (
	"testing"
)

func TestCompileVerification(t *testing.T) {
	generator := func(more string) string {
		return "generators: [{name: other, uuid: {}}, {name: users, uuid: {}, forEachExpression: composite.spec.users, keyExpression: item, " +
			"readyExpression: 'sources.users.data[key] == candidate.users[key].uuid'}, {name: admin, " + more + "}]\n" +
			"sources: [{name: users, apiVersion: v1, kind: ConfigMap, nameExpression: composite.metadata.name}]\n" +
			"variables: [{name: v, value: candidate.admin.password}, {name: w, value: secrets.db.password}]"
	}
	password := func(more string) string { return generator("password: {}, " + more) }
	resource := func(more string) string {
		return generator("resource: {manifest: {apiVersion: example.org/v1, kind: User}}, " + more)
	}
	const at = "generators[2]."
	checkCompiled(t, map[string]compiled{
		"Applied":  {"the provider writes what it applied", password("readyExpression: secrets.db.password == candidate.admin.password, abandonAfter: 15m"), nil},
		"Resource": {"a resource says that it works", resource("readyExpression: resource.status.ok, abandonAfter: 15m"), nil},
		"Constant": {
			"it says nothing about the generation", password("readyExpression: 'true'"),
			[]string{at + "readyExpression: does not depend on the pending generation: compare something that was observed with candidate.admin or generation.number"},
		},
		"OfTheComposite": {
			"resource is the composite, which does not change with the generation", password("readyExpression: has(resource.status.ready)"),
			[]string{at + "readyExpression: does not depend on the pending generation: compare something that was observed with candidate.admin or generation.number"},
		},
		"Generated": {
			"the generation in use is another one", password("readyExpression: secrets.db.password == generated.admin.password"),
			[]string{at + "readyExpression:1:39: may not use generated.admin.password: only candidate.admin is the generation to verify"},
		},
		"All": {
			"it reads all generators", password("readyExpression: size(candidate) == 3"),
			[]string{at + "readyExpression:1:6: may not use all of candidate: only candidate.admin is the generation to verify"},
		},
		"ThroughAVariable": {
			"a variable has one value in a reconcile", password("readyExpression: secrets.db.password == variables.v"),
			[]string{at + "readyExpression:1:33: may not use candidate.admin.password through a variable: only candidate.admin, written here, is the generation to verify"},
		},
		"NeverOpens": {
			"there is no 30 February", password("refreshPolicy: Periodic, refreshInterval: 1h, rotationWindow: {schedule: 0 2 30 2 *, duration: 1h}"),
			[]string{at + "rotationWindow.schedule: never opens: change the day of the month, or the month"},
		},
	})
}
