// Command bootstrap-oracle answers what Cluster API's own kubeadm bootstrap provider hands to a machine, so that ours can
// be compared with it.
//
// It reads one JSON question per line from standard input and writes one JSON answer per line: the boot data, and the
// error if there is one. What the provider's controller works out before it renders (discovery, contents of Secrets) is
// part of the question.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"

	"github.com/blang/semver/v4"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/cloudinit"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/ignition"
	kubeadmtypes "sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/types"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/types/upstream"
	"sigs.k8s.io/cluster-api/util/certs"
	"sigs.k8s.io/cluster-api/util/secret"
)

type pair struct {
	Certificate string `json:"certificate"`
	Key         string `json:"key"`
}

type question struct {
	Role         string                        `json:"role"`
	Version      string                        `json:"version"`
	Spec         bootstrapv1.KubeadmConfigSpec `json:"spec"`
	Cluster      map[string]string             `json:"cluster"`
	Certificates map[secret.Purpose]pair       `json:"certificates"`
}

type answer struct {
	Data  string `json:"data,omitempty"`
	Error string `json:"error,omitempty"`
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 10<<20)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for in.Scan() {
		var asked question
		must(json.Unmarshal(in.Bytes(), &asked))
		data, err := reply(&asked)
		given := answer{Data: string(data)}
		if err != nil {
			given.Error = err.Error()
		}
		must(out.Encode(given))
	}
	must(in.Err())
}

func reply(asked *question) ([]byte, error) {
	version := semver.MustParse(asked.Version[1:])
	spec := &asked.Spec
	base := cloudinit.BaseUserData{
		AdditionalFiles:     spec.Files,
		BootCommands:        spec.BootCommands,
		PreKubeadmCommands:  spec.PreKubeadmCommands,
		PostKubeadmCommands: spec.PostKubeadmCommands,
		Users:               spec.Users,
		Mounts:              spec.Mounts,
		KubernetesVersion:   version,
	}
	if spec.NTP.IsDefined() {
		base.NTP = &spec.NTP
	}
	if spec.DiskSetup.IsDefined() {
		base.DiskSetup = &spec.DiskSetup
	}
	if spec.Verbosity != nil {
		base.KubeadmVerbosity = fmt.Sprintf("--v %s", strconv.Itoa(int(*spec.Verbosity)))
	}
	switch asked.Role {
	case "init":
		return initialize(asked, version, base)
	case "join":
		return joinControlPlane(asked, version, base)
	case "worker":
		return joinWorker(asked, version, base)
	}
	return nil, fmt.Errorf("no such role: %q", asked.Role)
}

func initialize(asked *question, version semver.Version, base cloudinit.BaseUserData) ([]byte, error) {
	spec := &asked.Spec
	if spec.ClusterConfiguration.ControlPlaneEndpoint == "" {
		spec.ClusterConfiguration.ControlPlaneEndpoint = asked.Cluster["endpoint"]
	}
	additional := &upstream.AdditionalData{
		KubernetesVersion: ptr.To(asked.Version),
		ClusterName:       ptr.To(asked.Cluster["name"]),
		DNSDomain:         given(asked.Cluster["dnsDomain"]),
		ServiceSubnet:     given(asked.Cluster["serviceSubnet"]),
		PodSubnet:         given(asked.Cluster["podSubnet"]),

		ControlPlaneComponentHealthCheckSeconds: spec.InitConfiguration.Timeouts.ControlPlaneComponentHealthCheckSeconds,
	}
	cluster, err := kubeadmtypes.MarshalClusterConfigurationForVersion(&spec.ClusterConfiguration, version, additional)
	if err != nil {
		return nil, err
	}
	first, err := kubeadmtypes.MarshalInitConfigurationForVersion(&spec.InitConfiguration, version)
	if err != nil {
		return nil, err
	}
	input := &cloudinit.ControlPlaneInput{
		BaseUserData:         base,
		Certificates:         filled(secret.NewCertificatesForInitialControlPlane(&spec.ClusterConfiguration), asked),
		ClusterConfiguration: cluster,
		InitConfiguration:    first,
	}
	if spec.Format == bootstrapv1.Ignition {
		data, _, err := ignition.NewInitControlPlane(&ignition.ControlPlaneInput{ControlPlaneInput: input, Ignition: &spec.Ignition})
		return data, err
	}
	return cloudinit.NewInitControlPlane(input)
}

func joinControlPlane(asked *question, version semver.Version, base cloudinit.BaseUserData) ([]byte, error) {
	spec := &asked.Spec
	if spec.JoinConfiguration.ControlPlane == nil {
		spec.JoinConfiguration.ControlPlane = &bootstrapv1.JoinControlPlane{}
	}
	join, err := kubeadmtypes.MarshalJoinConfigurationForVersion(&spec.JoinConfiguration, version)
	if err != nil {
		return nil, err
	}
	input := &cloudinit.ControlPlaneJoinInput{
		BaseUserData:      base,
		Certificates:      filled(secret.NewControlPlaneJoinCerts(&spec.ClusterConfiguration), asked),
		JoinConfiguration: join,
	}
	if spec.Format == bootstrapv1.Ignition {
		data, _, err := ignition.NewJoinControlPlane(&ignition.ControlPlaneJoinInput{ControlPlaneJoinInput: input, Ignition: &spec.Ignition})
		return data, err
	}
	return cloudinit.NewJoinControlPlane(input)
}

func joinWorker(asked *question, version semver.Version, base cloudinit.BaseUserData) ([]byte, error) {
	spec := &asked.Spec
	taints := append(ptr.Deref(spec.JoinConfiguration.NodeRegistration.Taints, []corev1.Taint{}), clusterv1.NodeUninitializedTaint)
	spec.JoinConfiguration.NodeRegistration.Taints = &taints
	join, err := kubeadmtypes.MarshalJoinConfigurationForVersion(&spec.JoinConfiguration, version)
	if err != nil {
		return nil, err
	}
	input := &cloudinit.NodeInput{BaseUserData: base, JoinConfiguration: join}
	if spec.Format == bootstrapv1.Ignition {
		data, _, err := ignition.NewNode(&ignition.NodeInput{NodeInput: input, Ignition: &spec.Ignition})
		return data, err
	}
	return cloudinit.NewNode(input)
}

func filled(certificates secret.Certificates, asked *question) secret.Certificates {
	for _, certificate := range certificates {
		if given, found := asked.Certificates[certificate.Purpose]; found {
			certificate.KeyPair = &certs.KeyPair{Cert: []byte(given.Certificate), Key: []byte(given.Key)}
		}
	}
	return certificates
}

func given(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
