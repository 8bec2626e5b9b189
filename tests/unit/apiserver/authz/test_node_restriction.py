from __future__ import annotations

import base64
import copy
from collections.abc import Callable
from typing import Any

import pytest

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.authz.attributes import Attributes
from nagaya.apiserver.authz.authorizer import ALLOWED, NO_OPINION, Decision
from nagaya.apiserver.authz.node_pod_restriction import Write
from nagaya.apiserver.authz.node_restriction import NodeRestriction
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import ApiError
from nagaya.pki import keys, requests
from nagaya.pki.certificates import CertificateSpec

NODE = User("system:node:n1", groups=("system:nodes",))


class Objects:
    """The few objects that the rules look at."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, ...], dict[str, Any]] = {}

    def get_pod(self, namespace: str, name: str) -> dict[str, Any] | None:
        return self.known.get(("pod", namespace, name))

    def get_node(self, name: str) -> dict[str, Any] | None:
        return self.known.get(("node", name))

    def get_claim(self, namespace: str, name: str) -> dict[str, Any] | None:
        return self.known.get(("claim", namespace, name))

    def get_volume(self, name: str) -> dict[str, Any] | None:
        return self.known.get(("volume", name))

    def get_csi_driver(self, name: str) -> dict[str, Any] | None:
        return self.known.get(("driver", name))


class Judge:
    """Allows one audience."""

    def __init__(self) -> None:
        self.asked: list[Attributes] = []

    def authorize(self, attributes: Attributes) -> Decision:
        self.asked.append(attributes)
        return ALLOWED if attributes.resource == "granted" else NO_OPINION


class Gate:
    """The plugin with its surroundings."""

    def __init__(self) -> None:
        self.objects, self.judge = Objects(), Judge()
        self.plugin = NodeRestriction(self.objects, self.judge)
        self.objects.known["node", "n1"] = {"metadata": {"name": "n1", "uid": "n1-uid"}}
        for name, node in (("mine", "n1"), ("other", "n2")):
            self.objects.known["pod", "n", name] = {
                "metadata": {"name": name, "namespace": "n", "uid": f"{name}-uid"},
                "spec": {"nodeName": node},
            }

    def write(
        self,
        operation: str,
        what: str,
        obj: dict[str, Any] | None = None,
        old: dict[str, Any] | None = None,
        name: str = "",
        user: User = NODE,
    ) -> str:
        """What is said against a write of `resource[.group][/part]`; nothing if it is let through."""
        whole, _, part = what.partition("/")
        resource, _, group = whole.partition(".")
        namespace = {"leases": "kube-node-lease"}.get(resource, "n")
        given = name or ((obj or {}).get("metadata") or {}).get("name", "")
        target = GroupResource(group, resource)
        try:
            self.plugin.check(Write(user, operation, target, part, namespace, given, obj, old))
        except ApiError as error:
            return error.message
        return ""


@pytest.fixture
def gate() -> Gate:
    return Gate()


def mirror(**changes: Any) -> dict[str, Any]:
    owner = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "n1-uid", "controller": True}
    owner |= changes.pop("owner", {})
    metadata = {"name": "m", "annotations": {"kubernetes.io/config.mirror": "x"}, "ownerReferences": [owner]}
    metadata |= changes.pop("metadata", {})
    return {"metadata": metadata, "spec": {"nodeName": "n1", "containers": [], **changes}}


def refused(what: str) -> str:
    return f'pods "m" is forbidden: {what}'


def test_others_write_what_they_like(gate: Gate) -> None:
    assert gate.write("CREATE", "nodes", {"metadata": {"name": "n9"}}, user=User("bob")) == ""


def test_a_nameless_node_writes_nothing(gate: Gate) -> None:
    nameless = User("system:node:", groups=("system:nodes",))
    assert gate.write("CREATE", "events", {"metadata": {"generateName": "e-"}}, user=nameless) == (
        'events "e-" is forbidden: could not determine node from user "system:node:"'
    )
    assert gate.write("CREATE", "events", {}, user=nameless).startswith('events "Unknown" is forbidden')


def test_a_node_may_mirror_its_own_pods(gate: Gate) -> None:
    assert gate.write("CREATE", "pods", mirror()) == ""


@pytest.mark.parametrize(
    ("pod", "problem"),
    [
        (
            mirror(metadata={"annotations": {}}),
            'pod does not have "kubernetes.io/config.mirror" annotation, node "n1" can only create mirror pods',
        ),
        (mirror(nodeName="n2"), 'node "n1" can only create pods with spec.nodeName set to itself'),
        (
            mirror(metadata={"ownerReferences": []}),
            'node "n1" can only create pods with an owner reference set to itself',
        ),
        (
            mirror(metadata={"ownerReferences": [{}, {}]}),
            'node "n1" can only create pods with a single owner reference set to itself',
        ),
        (mirror(owner={"kind": "Pod"}), 'node "n1" can only create pods with an owner reference set to itself'),
        (mirror(owner={"name": "n2"}), 'node "n1" can only create pods with an owner reference set to itself'),
        (
            mirror(owner={"controller": False}),
            'node "n1" can only create pods with a controller owner reference set to itself',
        ),
        (
            mirror(owner={"blockOwnerDeletion": True}),
            'node "n1" must not set blockOwnerDeletion on an owner reference',
        ),
        (mirror(owner={"uid": "zz"}), "node n1 UID mismatch: expected zz got n1-uid"),
        (mirror(serviceAccountName="x"), 'node "n1" can not create pods that reference serviceaccounts'),
        (
            mirror(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]),
            'node "n1" can not create pods that reference persistentvolumeclaims',
        ),
        (
            mirror(volumes=[{"name": "v", "novel": {}}]),
            'error checking mirror pod for API references: unknown volume type for volume  "v"',
        ),
    ],
)
def test_a_node_creates_no_other_pods(gate: Gate, pod: dict[str, Any], problem: str) -> None:
    assert gate.write("CREATE", "pods", pod) == refused(problem)


def test_a_node_that_is_gone_cannot_own(gate: Gate) -> None:
    del gate.objects.known["node", "n1"]
    assert gate.write("CREATE", "pods", mirror()) == 'node "n1" not found'


def test_a_node_deletes_its_own_pods_only(gate: Gate) -> None:
    assert gate.write("DELETE", "pods", name="mine") == ""
    assert gate.write("DELETE", "pods", name="other") == (
        'pods "other" is forbidden: node "n1" can only delete pods with spec.nodeName set to itself'
    )
    assert gate.write("DELETE", "pods", name="gone") == 'pod "gone" not found'
    assert gate.write("UPDATE", "pods", mirror(), mirror()) == refused(
        'unexpected operation "UPDATE", node "n1" can only create and delete mirror pods'
    )
    assert gate.write("CREATE", "pods/exec", mirror()) == refused(
        "unexpected pod subresource \"exec\", only 'status' and 'eviction' are allowed"
    )


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda pod: pod["status"].update(phase="Running"), ""),
        (lambda pod: pod["metadata"].update(labels={"a": "b"}), 'node "n1" cannot update labels through pod status'),
        (
            lambda pod: pod["status"].update(resourceClaimStatuses=[{"name": "a"}]),
            'node "n1" cannot update resource claim statues',
        ),
        (
            lambda pod: pod["status"].update(extendedResourceClaimStatus={"resourceClaimName": "x"}),
            'node "n1" cannot update extended resource claim status',
        ),
    ],
)
def test_a_node_reports_the_status_of_its_pods(
    gate: Gate, change: Callable[[dict[str, Any]], None], problem: str
) -> None:
    old = {**mirror(), "status": {}}
    new = copy.deepcopy(old)
    change(new)
    assert gate.write("UPDATE", "pods/status", new, old) == (refused(problem) if problem else "")


def test_a_node_does_not_report_for_others(gate: Gate) -> None:
    away = {**mirror(nodeName="n2"), "status": {}}
    assert gate.write("UPDATE", "pods/status", away, away) == refused(
        'node "n1" can only update pod status for pods with spec.nodeName set to itself'
    )
    assert gate.write("CREATE", "pods/status", away) == refused('unexpected operation "CREATE"')


def test_a_node_evicts_its_own_pods_only(gate: Gate) -> None:
    assert gate.write("CREATE", "pods/eviction", {"metadata": {"name": "mine"}}) == ""
    assert gate.write("CREATE", "pods/eviction", {"metadata": {"name": "other"}}) == (
        'pods "other" is forbidden: node n1 can only evict pods with spec.nodeName set to itself'
    )
    assert gate.write("CREATE", "pods/eviction", {"metadata": {}}).endswith("could not determine pod from request data")


def test_a_node_writes_itself_only(gate: Gate) -> None:
    assert gate.write("CREATE", "nodes", {"metadata": {"name": "n1", "labels": {"a": "b"}}}) == ""
    assert gate.write("CREATE", "nodes", {"metadata": {"name": "n2"}}) == (
        'nodes "n2" is forbidden: node "n1" is not allowed to modify node "n2"'
    )
    assert gate.write("UPDATE", "nodes/status", {"metadata": {"name": "n2"}}, {}).endswith('modify node "n2"')
    labelled = {"metadata": {"name": "n1", "labels": {"kubernetes.io/x": "", "a.k8s.io/b": ""}}}
    assert gate.write("CREATE", "nodes", labelled) == (
        'nodes "n1" is forbidden: node "n1" is not allowed to set the following labels: a.k8s.io/b, kubernetes.io/x'
    )


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"spec": {"taints": [{"key": "a"}]}}, 'node "n1" is not allowed to modify taints'),
        (
            {"metadata": {"name": "n1", "ownerReferences": [{"uid": "x"}]}},
            'node "n1" is not allowed to modify ownerReferences',
        ),
        (
            {"metadata": {"name": "n1", "labels": {"kubernetes.io/x": "y"}}},
            "is not allowed to modify labels: kubernetes.io/x",
        ),
        (
            {"spec": {"configSource": {}}},
            'node "n1" is not allowed to update configSource to a new non-nil configSource',
        ),
    ],
)
def test_a_node_does_not_make_itself_more_than_it_is(gate: Gate, change: dict[str, Any], problem: str) -> None:
    old = {"metadata": {"name": "n1"}, "spec": {}}
    assert gate.write("UPDATE", "nodes", {**old, **change}, old) == f'nodes "n1" is forbidden: {problem}'


def test_a_node_reports_grown_volumes(gate: Gate) -> None:
    old = {"metadata": {"name": "c", "resourceVersion": "1"}, "spec": {}, "status": {"phase": "Bound"}}
    grown = {
        "metadata": {"name": "c", "resourceVersion": "2"},
        "spec": {},
        "status": {"phase": "Bound", "capacity": {"storage": "2Gi"}, "conditions": []},
    }
    assert gate.write("UPDATE", "persistentvolumeclaims/status", grown, old) == ""
    assert gate.write("UPDATE", "persistentvolumeclaims", grown, old).endswith(": may only update PVC status")
    moved = {**grown, "spec": {"volumeName": "x"}}
    assert 'node "n1" is not allowed to update fields other than status.quantity and status.conditions' in (
        gate.write("UPDATE", "persistentvolumeclaims/status", moved, old)
    )
    assert gate.write("CREATE", "persistentvolumeclaims/status", grown).endswith('unexpected operation "CREATE"')


def test_a_node_has_one_lease_and_one_csinode(gate: Gate) -> None:
    for resource, title in (("leases.coordination.k8s.io", "node lease"), ("csinodes.storage.k8s.io", "CSINode")):
        assert gate.write("CREATE", resource, {"metadata": {"name": "n1"}}) == ""
        assert gate.write("UPDATE", resource, {}, {}, name="n1") == ""
        for operation in ("CREATE", "DELETE"):
            assert gate.write(operation, resource, {"metadata": {"name": "n2"}}).endswith(
                f"can only access {title} with the same name as the requesting node"
            )


def test_a_node_tells_of_its_own_devices(gate: Gate) -> None:
    own, foreign = ({"metadata": {"name": "s"}, "spec": {"nodeName": node}} for node in ("n1", "n2"))
    assert gate.write("CREATE", "resourceslices.resource.k8s.io", own) == ""
    assert gate.write("DELETE", "resourceslices.resource.k8s.io", None, own, "s") == ""
    assert gate.write("CREATE", "resourceslices.resource.k8s.io", foreign).endswith(
        "can only create ResourceSlice with the same NodeName as the requesting node"
    )
    assert gate.write("DELETE", "resourceslices.resource.k8s.io", None, foreign, "s").endswith(
        "can only delete ResourceSlice with the same NodeName as the requesting node"
    )


def request(name: str, signer: str) -> dict[str, Any]:
    text = requests.create(CertificateSpec(name, ("system:nodes",)), keys.generate())
    return {"metadata": {"name": "r"}, "spec": {"signerName": signer, "request": base64.b64encode(text).decode()}}


def test_a_node_asks_for_its_own_certificates(gate: Gate) -> None:
    what = "certificatesigningrequests.certificates.k8s.io"
    kubelet = "kubernetes.io/kube-apiserver-client-kubelet"
    assert gate.write("CREATE", what, request("system:node:n1", kubelet)) == ""
    assert gate.write("CREATE", what, request("system:node:n2", "example.com/x")) == ""
    assert gate.write("CREATE", what, request("system:node:n2", kubelet)).endswith(
        "can only create a node CSR with CN=system:node:n1"
    )
    broken = {"metadata": {"name": "r"}, "spec": {"signerName": kubelet, "request": "eA=="}}
    assert gate.write("CREATE", what, broken).endswith(
        "unable to parse csr: PEM block type must be CERTIFICATE REQUEST"
    )


def token(audiences: list[str] | None = None, **reference: str) -> dict[str, Any]:
    whole = {"apiVersion": "v1", "kind": "Pod", "name": "mine", "uid": "mine-uid", **reference}
    return {"spec": {"boundObjectRef": whole, "audiences": audiences or []}}


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"spec": {}}, "node requested token not bound to a pod"),
        (token(kind="Secret"), "node requested token not bound to a pod"),
        (token(uid=""), "node requested token with a pod binding without a uid"),
        (
            token(uid="zz"),
            "the UID in the bound object reference (zz) does not match the UID in record. "
            "The object might have been deleted and then recreated",
        ),
        (
            token(name="other", uid="other-uid"),
            "node requested token bound to a pod scheduled on a different node",
        ),
        (token(["a", "b"]), "node may only request 0 or 1 audiences"),
        (
            token(["foo"]),
            'audience "foo" not found in pod spec volume, '
            "system:node:n1 is not authorized to request tokens for this audience",
        ),
    ],
)
def test_a_node_gets_tokens_for_its_pods_only(gate: Gate, body: dict[str, Any], problem: str) -> None:
    assert gate.write("CREATE", "serviceaccounts/token", body, name="sa") == (
        f'serviceaccounts "sa" is forbidden: {problem}'
    )


def test_a_token_needs_a_pod_that_is_there(gate: Gate) -> None:
    assert gate.write("CREATE", "serviceaccounts/token", token(name="gone"), name="sa") == 'pod "gone" not found'


def test_other_writes_of_accounts_are_not_about_tokens(gate: Gate) -> None:
    assert gate.write("CREATE", "serviceaccounts", {"metadata": {"name": "x"}}) == ""


def test_an_audience_may_come_from_a_volume_a_driver_or_a_role(gate: Gate) -> None:
    def ask(audience: str) -> str:
        return gate.write("CREATE", "serviceaccounts/token", token([audience] if audience else []), name="sa")

    known = gate.objects.known
    known["pod", "n", "mine"]["spec"]["volumes"] = [
        {"name": "a", "projected": {"sources": [{"serviceAccountToken": {"audience": "vault"}}]}},
        {"name": "b", "csi": {"driver": "inline"}},
        {"name": "c", "persistentVolumeClaim": {"claimName": "c"}},
    ]
    assert ask("vault") == ""
    assert ask("foo") == (
        'serviceaccounts "sa" is forbidden: error validating audience "foo": '
        '[csidriver.storage.k8s.io "inline" not found, persistentvolumeclaim "c" not found]'
    )
    known["driver", "inline"] = {"spec": {"tokenRequests": [{"audience": "first"}]}}
    assert ask("first") == ""
    known["claim", "n", "c"] = {"spec": {"volumeName": "v"}}
    assert 'persistentvolume "v" not found' in ask("foo")
    known["volume", "v"] = {"spec": {"csi": {"driver": "attached"}}}
    known["driver", "attached"] = {"spec": {"tokenRequests": [{"audience": ""}]}}
    assert ask("") == ""
    assert "is not authorized" in ask("foo")
    assert ask("granted") == ""
    asked = gate.judge.asked[-1]
    assert (asked.verb, asked.name, asked.namespace) == ("request-serviceaccounts-token-audience", "sa", "n")
