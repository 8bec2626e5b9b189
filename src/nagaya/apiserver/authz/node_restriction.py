"""What a node may write into the objects it may write at all.

The node authorizer decides by the URL; here the content is looked at, as an admission plugin. A node must not make
itself look like another node, take on labels that schedulers trust, create pods that would give it Secrets, or get
tokens for pods it does not run.
"""

from __future__ import annotations

from typing import Final

from nagaya.apiserver.authn.user import node_of
from nagaya.apiserver.authz.authorizer import Authorizer
from nagaya.apiserver.authz.node_authorizer import NODE_LEASES
from nagaya.apiserver.authz.node_labels import forbidden_changes
from nagaya.apiserver.authz.node_pod_restriction import Lookups, PodRestriction, Write
from nagaya.apiserver.meta import gostring
from nagaya.apiserver.meta.status import JsonObject

_KUBELET_SIGNERS: Final = ("kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet")
_CLAIM_STATUS: Final = ("capacity", "conditions", "allocatedResourceStatuses", "allocatedResources")


class NodeRestriction:
    """Refuses what nodes must not write."""

    def __init__(self, lookups: Lookups, authorizer: Authorizer) -> None:
        self._pods = PodRestriction(lookups, authorizer)

    def check(self, write: Write) -> None:
        """Raise 403 (or 404 for an object that a rule needs and that is not there) if a node must not write this."""
        node = node_of(write.user)
        if node is None:
            return
        if not node:
            raise write.forbidden(f"could not determine node from user {gostring.quote(write.user.name)}")
        group, resource = write.resource
        if (group, resource) == ("", "pods"):
            self._pods.check_pod(node, write)
        elif (group, resource) == ("", "nodes"):
            _node(node, write)
        elif (group, resource) == ("", "persistentvolumeclaims"):
            _claim(node, write)
        elif (group, resource) == ("", "serviceaccounts"):
            self._pods.check_token(node, write)
        elif (group, resource) == ("coordination.k8s.io", "leases"):
            _lease(node, write)
        elif (group, resource) == ("storage.k8s.io", "csinodes"):
            _own_name(node, write, "can only access CSINode with the same name as the requesting node")
        elif (group, resource) == ("resource.k8s.io", "resourceslices"):
            _slice(node, write)
        elif (group, resource) == ("certificates.k8s.io", "certificatesigningrequests"):
            _signing_request(node, write)


def _node(node: str, write: Write) -> None:
    quoted = gostring.quote(node)
    if write.name != node:
        raise write.forbidden(f"node {quoted} is not allowed to modify node {gostring.quote(write.name)}")
    new, old = write.object or {}, write.old or {}
    spec, metadata = new.get("spec") or {}, new.get("metadata") or {}
    if write.operation == "CREATE":
        if spec.get("configSource") is not None:
            raise write.forbidden(f"node {quoted} is not allowed to create pods with a non-nil configSource")
        forbidden = forbidden_changes(metadata.get("labels") or {}, {})
        if forbidden:
            raise write.forbidden(f"node {quoted} is not allowed to set the following labels: {', '.join(forbidden)}")
    if write.operation == "UPDATE":
        old_spec, old_metadata = old.get("spec") or {}, old.get("metadata") or {}
        if spec.get("configSource") is not None and spec["configSource"] != old_spec.get("configSource"):
            raise write.forbidden(f"node {quoted} is not allowed to update configSource to a new non-nil configSource")
        if (spec.get("taints") or []) != (old_spec.get("taints") or []):
            raise write.forbidden(f"node {quoted} is not allowed to modify taints")
        if (metadata.get("ownerReferences") or []) != (old_metadata.get("ownerReferences") or []):
            raise write.forbidden(f"node {quoted} is not allowed to modify ownerReferences")
        forbidden = forbidden_changes(metadata.get("labels") or {}, old_metadata.get("labels") or {})
        if forbidden:
            raise write.forbidden(f"is not allowed to modify labels: {', '.join(forbidden)}")


def _claim(node: str, write: Write) -> None:
    if write.subresource != "status":
        raise write.forbidden("may only update PVC status")
    if write.operation != "UPDATE":
        raise write.forbidden(f"unexpected operation {gostring.quote(write.operation)}")
    if _fixed_part(write.old or {}) != _fixed_part(write.object or {}):
        raise write.forbidden(
            f"node {gostring.quote(node)} is not allowed to update fields other than status.quantity "
            "and status.conditions: "
        )


def _fixed_part(claim: JsonObject) -> JsonObject:
    """A claim without what a kubelet reports about a volume that grew."""
    hidden = ("resourceVersion", "managedFields")
    metadata = {key: value for key, value in (claim.get("metadata") or {}).items() if key not in hidden}
    own = {key: value for key, value in (claim.get("status") or {}).items() if key not in _CLAIM_STATUS}
    return {**claim, "metadata": metadata, "status": own}


def _own_name(node: str, write: Write, problem: str) -> None:
    name = write.name
    if write.operation == "CREATE":
        name = ((write.object or {}).get("metadata") or {}).get("name") or ""
    if name != node:
        raise write.forbidden(problem)


def _lease(node: str, write: Write) -> None:
    if write.namespace != NODE_LEASES:
        raise write.forbidden(f"can only access leases in the {gostring.quote(NODE_LEASES)} system namespace")
    _own_name(node, write, "can only access node lease with the same name as the requesting node")


def _slice(node: str, write: Write) -> None:
    for operation, verb, obj in (("CREATE", "create", write.object), ("DELETE", "delete", write.old)):
        if write.operation == operation and ((obj or {}).get("spec") or {}).get("nodeName") != node:
            raise write.forbidden(f"can only {verb} ResourceSlice with the same NodeName as the requesting node")


def _signing_request(node: str, write: Write) -> None:
    spec = (write.object or {}).get("spec") or {}
    if write.operation != "CREATE" or spec.get("signerName") not in _KUBELET_SIGNERS:
        return
    from nagaya.apiserver.authz.signing_requests import parse

    try:
        request = parse(write.object or {})
    except ValueError as problem:
        raise write.forbidden(f"unable to parse csr: {problem}") from None
    if request.common_name != f"system:node:{node}":
        raise write.forbidden(f"can only create a node CSR with CN=system:node:{node}")
