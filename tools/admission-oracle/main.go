// Command admission-oracle answers what Cluster API's own webhooks say to an object, so that ours can be compared with
// them.
//
// It reads one JSON question per line from standard input ({"resource", "new", "old"}) and writes one JSON answer per
// line: the patch that sets defaults, the message of a refusal to default, and the Status of a refusal to store. A
// Cluster with a topology takes some seconds, because its webhook waits for the ClusterClass.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"unsafe"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/log"
	ctrl "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/go-logr/logr"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/core/webhooks/admission"
	"sigs.k8s.io/cluster-api/feature"
)

type question struct {
	Resource string          `json:"resource"`
	New      json.RawMessage `json:"new"`
	Old      json.RawMessage `json:"old"`
}

type answer struct {
	Patch   any    `json:"patch,omitempty"`
	Refusal string `json:"refusal,omitempty"`
	Status  any    `json:"status,omitempty"`
}

var scheme = runtime.NewScheme()

func main() {
	log.SetLogger(logr.Discard())
	must(clusterv1.AddToScheme(scheme))
	must(addonsv1.AddToScheme(scheme))
	must(feature.MutableGates.Set("ClusterTopology=true,MachineTaintPropagation=true"))
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 10<<20)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for in.Scan() {
		var asked question
		must(json.Unmarshal(in.Bytes(), &asked))
		must(out.Encode(reply(asked)))
	}
	must(in.Err())
}

func reply(asked question) answer {
	switch asked.Resource {
	case "clusters":
		// Its defaults come from the ClusterClass, except for one that is tested without this program.
		hook := &admission.Cluster{Client: fake.NewClientBuilder().WithScheme(scheme).Build()}
		return ask[*clusterv1.Cluster](nil, hook, asked)
	case "machines":
		return ask(&admission.Machine{}, &admission.Machine{}, asked)
	case "machinesets":
		return ask(withDecoder(&admission.MachineSet{}), &admission.MachineSet{}, asked)
	case "machinedeployments":
		return ask(withDecoder(&admission.MachineDeployment{}), &admission.MachineDeployment{}, asked)
	case "machinehealthchecks":
		return ask(&admission.MachineHealthCheck{}, &admission.MachineHealthCheck{}, asked)
	case "machinedrainrules":
		return ask[*clusterv1.MachineDrainRule](nil, &admission.MachineDrainRule{}, asked)
	case "machinepools":
		return ask(withDecoder(&admission.MachinePool{}), &admission.MachinePool{}, asked)
	case "clusterresourcesets":
		return ask(&admission.ClusterResourceSet{}, &admission.ClusterResourceSet{}, asked)
	}
	panic(fmt.Sprintf("no webhook for %q", asked.Resource))
}

func ask[T runtime.Object](defaulter ctrl.Defaulter[T], validator ctrl.Validator[T], asked question) answer {
	request := ctrl.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Operation: admissionv1.Create,
		Object:    runtime.RawExtension{Raw: asked.New},
	}}
	if len(asked.Old) > 0 && string(asked.Old) != "null" {
		request.Operation = admissionv1.Update
		request.OldObject = runtime.RawExtension{Raw: asked.Old}
	}
	var given answer
	if defaulter != nil {
		response := ctrl.WithDefaulter(scheme, defaulter).Handler.Handle(context.Background(), request)
		if response.Allowed {
			given.Patch = response.Patches
		} else {
			given.Refusal = response.Result.Message
		}
	}
	response := ctrl.WithValidator(scheme, validator).Handler.Handle(context.Background(), request)
	if !response.Allowed {
		given.Status = response.Result
	}
	return given
}

// withDecoder sets the field that a webhook otherwise gets from a running manager.
func withDecoder[T any](hook *T) *T {
	field := reflect.ValueOf(hook).Elem().FieldByName("decoder")
	settable := reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem()
	settable.Set(reflect.ValueOf(ctrl.NewDecoder(scheme)))
	return hook
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
