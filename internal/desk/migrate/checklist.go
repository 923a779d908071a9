package migrate

import (
	"slices"
	"strings"
)

// checklist is the end of the output: what a person does with the steps, and how to go back.
var checklist = []string{
	"",
	"Next steps:",
	"1. Settle each DECIDE, add the steps to your Composition, and remove what the comments above name. Then run:",
	"   function-export check composition.yaml",
	"2. Rehearse with files of a composite and its observed resources: function-export render DIR --changes",
	"3. Apply the Composition, and switch one composite first. The condition ExportsReady of each composite must become",
	"   True. If its reason is Conflict, its message names the owner of the existing object. An object that is taken over",
	"   keeps its metadata.uid:",
	"   kubectl get secret NAME --namespace NAMESPACE --output jsonpath={.metadata.uid}",
	"4. To go back, apply the former Composition. Set prune: true only when you will not go back.",
}

// checklistOfStore is the part of the checklist for ExternalSecrets.
var checklistOfStore = []string{
	"An ExternalSecret deletes its Secret when it is deleted, and its Secret is not taken over. To switch without an " +
		"interruption,",
	"export under another name, change the applications to it, and delete the ExternalSecret last. Until then you can " +
		"go back.",
}

// checklist returns the checklist for the documents.
func (m *migration) checklist() string {
	lines := checklist
	if m.store {
		lines = slices.Concat(checklist, checklistOfStore)
	}
	return strings.Join(comments(lines), "\n") + "\n"
}
