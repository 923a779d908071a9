package reconciler_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/e2e/laws"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// The parts of inputs of the function.
const (
	vault      = "sources:\n- {name: vault, apiVersion: v1, kind: Secret, matchName: shop-account-source}\n"
	config     = "- {name: config, apiVersion: v1, kind: ConfigMap, nameExpression: composite.spec.source}\n"
	admin      = "generators: [{name: admin, gracePeriod: 3s, password: {}}]\n"
	connection = "secrets:\n- {name: connection, data: [{key: password, value: generated.admin.password}]}\n"
	account    = "- {name: account, data: [{key: user, value: secrets.vault.user}]}\n"
	settings   = "configMaps:\n- {name: settings, data: [{key: user, value: sources.config.data.user}]}\n"

	everything = vault + config + admin + connection + account + settings
)

// reads changes the ConfigMap that the composite reads.
func reads(source string) func(s stage) {
	return func(s stage) {
		s.put(fmt.Sprintf(`{apiVersion: faults.example.org/v1alpha1, kind: Shop,
  metadata: {name: shop, namespace: team-a}, spec: {source: %s, crossplane: {compositionRef: {name: shops.faults.example.org}}}}`, source))
	}
}

// puts stores an object that Crossplane does not compose.
func puts(kind, name string) func(s stage) {
	return func(s stage) {
		s.put("{apiVersion: v1, kind: " + kind + ", metadata: {name: " + name +
			", namespace: team-a}, data: {user: bmV3}}")
	}
}

// owns changes the controller of the Secret of the export account.
func owns(uid string) func(s stage) { return func(s stage) { s.own("shop-account", uid) } }

// annotates edits an annotation of a Secret.
func annotates(name, key, value string) func(s stage) {
	return func(s stage) { s.annotate(name, key, value) }
}

// desiresMark makes the function desire the annotation x of the export account.
func desiresMark(value string) func(rsp *fnv1.RunFunctionResponse) {
	return func(rsp *fnv1.RunFunctionResponse) {
		o := rsp.GetDesired().GetResources()["account"].GetResource()
		world.Set(o, value, "metadata", "annotations", functiontest.Prefix+"x")
	}
}

func collects(s stage)   { s.collect() }
func passesHour(s stage) { s.pass(time.Hour) }

// created is a history that begins with the creation of all objects.
func created(then ...scene) []scene {
	return append([]scene{{input: everything, before: reads("shop-settings-source")}, {}, {}, {}}, then...)
}

// fatal makes the function fail.
func fatal(rsp *fnv1.RunFunctionResponse) {
	rsp.Results = append(rsp.Results, &fnv1.Result{Severity: fnv1.Severity_SEVERITY_FATAL, Message: "failed"})
}

// desires makes the function desire another Secret, with this metadata.
func desires(t *testing.T, metadata string) func(rsp *fnv1.RunFunctionResponse) {
	return func(rsp *fnv1.RunFunctionResponse) {
		o := functiontest.Parse(t, "{apiVersion: v1, kind: Secret, metadata: "+metadata+", data: {user: bmV3}}")
		rsp.GetDesired().GetResources()["another"] = &fnv1.Resource{Resource: o}
	}
}

// requires makes the function require a ConfigMap, always with the same name of the requirement, and the generations.
func requires(configMap string) func(rsp *fnv1.RunFunctionResponse) {
	return func(rsp *fnv1.RunFunctionResponse) {
		one := &fnv1.ResourceSelector{
			ApiVersion: "v1", Kind: "ConfigMap", Namespace: proto.String(namespace),
			Match: &fnv1.ResourceSelector_MatchName{MatchName: configMap},
		}
		labels := &fnv1.MatchLabels{Labels: map[string]string{laws.Annotations + "generator": "admin"}}
		all := &fnv1.ResourceSelector{
			ApiVersion: "v1", Kind: "Secret", Match: &fnv1.ResourceSelector_MatchLabels{MatchLabels: labels},
		}
		rsp.Requirements.Resources["chosen"], rsp.Requirements.Resources["generations"] = one, all
	}
}

// histories returns the scripts that both stages play.
func histories(t *testing.T) map[string][]scene {
	const (
		withoutAccount = vault + config + admin + connection + settings
		withoutAdmin   = vault + config + "secrets:\n" + account + settings
		next           = "sources: [{name: next, apiVersion: v1, kind: Secret, matchName: next}]\n" +
			"secrets: [{name: own, data: [{key: user, value: secrets.next.user}]}]"
	)
	changed := strings.Replace(everything, "admin.password}", "admin.password}, {key: user, value: \"'admin'\"}", 1)
	more := everything + "- {name: more, data: [{key: a, value: \"'b'\"}]}"
	taken := desires(t, "{name: taken}")
	return map[string][]scene{
		"ChangedExport": created(scene{input: changed}, scene{input: more}, scene{}),
		"RemovedExport": created(scene{input: withoutAccount}, scene{}, scene{before: collects}, scene{}),
		"RemovedGenerator": created(
			scene{input: withoutAdmin}, scene{}, scene{}, scene{before: passesHour}, scene{before: collects}, scene{}),
		"FatalResult":  created(scene{input: withoutAccount, answer: fatal}, scene{}),
		"FailedDelete": created(scene{input: withoutAccount, fails: "delete"}, scene{}, scene{before: collects}),
		"FailedList":   created(scene{input: withoutAccount, fails: "list"}, scene{}, scene{before: collects}, scene{}),
		"FailedApply": created(scene{input: withoutAccount, fails: "apply"}, scene{}, scene{before: collects},
			scene{}),
		"FailedCreate": {
			{input: everything, before: reads("shop-settings-source"), fails: "apply"}, {fails: "apply"}, {}, {},
		},
		"ControlledByAnother": created(scene{before: owns("another")}, scene{input: withoutAccount}, scene{}),
		"ControlledByNothing": created(scene{input: withoutAccount, before: owns("")}, scene{}),
		"Refused": created(
			scene{before: puts("Secret", "taken")},
			scene{before: func(s stage) { s.own("taken", "another") }, answer: taken}, scene{answer: taken}, scene{}),
		"AnotherName": created(
			scene{answer: desires(t, "{name: first}")}, scene{answer: desires(t, "{name: second}")},
			scene{answer: desires(t, "{name: third, namespace: team-b}")}, scene{}),
		"OneNameForTwo": created(scene{before: func(s stage) {
			s.name("shop-admin-1", "cache")
			s.name("shop-account", "cache")
		}}, scene{}, scene{}),
		"AddedAnnotation": created(scene{before: annotates("shop-connection", functiontest.Prefix+"x", annotated)},
			scene{}, scene{}),
		"EditedState": created(scene{before: func(s stage) {
			annotates("shop-admin-1", functiontest.Prefix+"generator-state", annotated)(s)
			annotates("shop-connection", functiontest.Prefix+"revision", annotated)(s)
		}}, scene{}, scene{}),
		"RemovedState": created(scene{before: func(s stage) {
			annotates("shop-admin-1", functiontest.Prefix+"generator-state", "")(s)
			annotates("shop-connection", functiontest.Prefix+"export-state", "")(s)
		}}, scene{}, scene{}),
		"EditedAndLeft": created( // a key that Crossplane no longer applies stays if a user also has it
			scene{before: annotates("shop-account", functiontest.Prefix+"x", annotated),
				answer: desiresMark(annotated)}, scene{},
			scene{answer: desiresMark("of-crossplane")}, scene{}),
		"NameOfAnother": created(scene{before: func(s stage) { s.name("shop-admin-1", "account") }}, scene{}, scene{}),
		"AnotherSelector": created(
			scene{before: reads("second"), fails: "list"}, scene{}, scene{before: puts("ConfigMap", "second")},
			scene{before: reads("third"), answer: fatal}, scene{before: stage.restart}, scene{}),
		"SameRequirement": created(
			scene{answer: requires("shop-settings-source")}, scene{answer: requires("shop-settings")},
			scene{answer: requires("missing")}, scene{}, scene{}),
		"LateInformer": created(
			scene{before: reads("second")}, scene{late: "ConfigMap", before: puts("ConfigMap", "second")}, scene{},
			scene{late: "ConfigMap", input: more}, scene{late: "ConfigMap"}, scene{}),
		"SecretsAreCurrent": {{input: next}, {late: "Secret", before: puts("Secret", "next")}, {}},
	}
}

// TestSimulatorAgrees checks that the simulator of the function's tests behaves as Crossplane's own reconciler. In the
// same histories, both send the same requests to the function and the same calls to the API server. Afterwards, the
// same objects exist.
func TestSimulatorAgrees(t *testing.T) {
	c := start(t, programForTest(t))
	planted := map[string]func(s *simulated){ // differences that a history must find
		"AnotherSelector": func(s *simulated) { s.Forgets = true },
		"RemovedExport":   func(s *simulated) { s.Foreground = false },
	}
	all := histories(t)
	for name := range planted {
		if _, ok := all[name]; !ok {
			t.Errorf("no history with the name %s finds the planted difference", name)
		}
	}
	for name, scenes := range all {
		want := perform(t, newProgram(c), scenes)
		if diff := cmp.Diff(want, perform(t, newSimulated(t), scenes)); diff != "" {
			t.Errorf("%s: the simulator differs: -Crossplane, +simulator:\n%s", name, diff)
		}
		if plant := planted[name]; plant != nil {
			s := newSimulated(t)
			plant(s)
			if cmp.Equal(want, perform(t, s, scenes)) {
				t.Errorf("%s: the planted difference is not found", name)
			}
		}
	}
}
