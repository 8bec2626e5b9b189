"""What a node may do: what concerns itself and the pods bound to it, and a few things every node needs.

A node is a user `system:node:<name>` in the group `system:nodes`. For the resources below the answer depends on the
object; for everything else the rules of the role `system:node` hold, whether or not anybody is bound to it. What a node
may *write* into these objects is a matter of `node_restriction`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from nagaya.apiserver.authn.user import User, node_of
from nagaya.apiserver.authz import bootstrap_policy
from nagaya.apiserver.authz.attributes import Attributes
from nagaya.apiserver.authz.authorizer import ALLOWED, NO_OPINION, Decision, Rules, Verdict
from nagaya.apiserver.authz.node_graph import Key, NodeGraph
from nagaya.apiserver.authz.policy_rules import RuleSet
from nagaya.apiserver.meta import gostring

NODE_LEASES: Final = "kube-node-lease"
_OWN_VERBS: Final = frozenset({"get", "create", "update", "patch", "delete"})
_SELECTING_VERBS: Final = frozenset({"list", "watch"})
_SLICE_VERBS: Final = (
    "only the following verbs are allowed for a ResourceSlice: "
    "get, watch, list, create, update, patch, delete, deletecollection"
)

_Judge = Callable[["NodeAuthorizer", str, Attributes], Decision]


def _no(reason: str) -> Decision:
    return Decision(Verdict.NO_OPINION, reason)


class NodeAuthorizer:
    """Decides on the requests of nodes; has no opinion on anybody else's."""

    def __init__(self, graph: NodeGraph) -> None:
        self._graph = graph
        self._rules = RuleSet(bootstrap_policy.node_rules())

    def authorize(self, attributes: Attributes) -> Decision:
        """Allow what the node needs."""
        node = node_of(attributes.user)
        if node is None:
            return NO_OPINION
        if not node:
            return _no(f"unknown node for user {gostring.quote(attributes.user.name)}")
        if attributes.is_resource:
            judge = _JUDGES.get((attributes.group, attributes.resource))
            if judge is not None:
                return judge(self, node, attributes)
        return ALLOWED if self._rules.allows(attributes) else NO_OPINION

    def rules_for(self, user: User, namespace: str) -> Rules:
        """Nothing that could be listed: what a node may do depends on its pods."""
        if node_of(user) is None:
            return Rules([], [])
        return Rules([], [], incomplete=True, errors=("node authorizer does not support user rule resolution",))

    def _related(self, node: str, asked: Attributes) -> Decision:
        if not asked.name:
            return _no("No Object name found")
        if self._graph.connects(node, Key(asked.resource, asked.namespace, asked.name)):
            return ALLOWED
        return _no(f"no relationship found between node '{node}' and this object")

    def read_namespaced(self, node: str, asked: Attributes) -> Decision:
        """Secrets and ConfigMaps of pods on the node."""
        if asked.verb not in ("get", "list", "watch"):
            return _no("can only read resources of this type")
        if asked.subresource:
            return _no("cannot read subresource")
        if not asked.namespace:
            return _no("can only read namespaced object of this type")
        return self._related(node, asked)

    def get_only(self, node: str, asked: Attributes) -> Decision:
        """Volumes, attachments and resource claims of pods on the node."""
        if asked.verb != "get":
            return _no("can only get individual resources of this type")
        if asked.subresource:
            return _no("cannot get subresource")
        return self._related(node, asked)

    def volume_claim(self, node: str, asked: Attributes) -> Decision:
        """PersistentVolumeClaims of pods on the node; their status may be written."""
        if asked.subresource != "status":
            return self.get_only(node, asked)
        if asked.verb not in ("update", "patch"):
            return _no("can only get/update/patch this type")
        return self._related(node, asked)

    def service_account(self, node: str, asked: Attributes) -> Decision:
        """Accounts of pods on the node: read them, and make tokens for them."""
        if asked.verb == "get" and not asked.subresource:
            return self.read_namespaced(node, asked)
        if asked.verb != "create" or not asked.name:
            return _no("can only create tokens for individual service accounts")
        if asked.subresource != "token":
            return _no("can only create token subresource of serviceaccount")
        return self._related(node, asked)

    def lease(self, node: str, asked: Attributes) -> Decision:
        """The node's own lease."""
        if asked.verb not in _OWN_VERBS:
            return _no("can only get, create, update, patch, or delete a node lease")
        if asked.namespace != NODE_LEASES:
            return _no(f"can only access leases in the {gostring.quote(NODE_LEASES)} system namespace")
        if asked.verb != "create" and asked.name != node:
            return _no("can only access node lease with the same name as the requesting node")
        return ALLOWED

    def csi_node(self, node: str, asked: Attributes) -> Decision:
        """The node's own CSINode."""
        if asked.verb not in _OWN_VERBS:
            return _no("can only get, create, update, patch, or delete a CSINode")
        if asked.subresource:
            return _no("cannot authorize CSINode subresources")
        if asked.verb != "create" and asked.name != node:
            return _no("can only access CSINode with the same name as the requesting node")
        return ALLOWED

    def resource_slice(self, node: str, asked: Attributes) -> Decision:
        """ResourceSlices that tell of the node's devices."""
        if asked.subresource:
            return _no("cannot authorize ResourceSlice subresources")
        if asked.verb == "create":
            return ALLOWED
        if asked.verb in _OWN_VERBS:
            return self._related(node, asked)
        if asked.verb in _SELECTING_VERBS or asked.verb == "deletecollection":
            if _selects(asked, "spec.nodeName", node):
                return ALLOWED
            return _no("can only list/watch/deletecollection resourceslices with nodeName field selector")
        return _no(_SLICE_VERBS)

    def node(self, node: str, asked: Attributes) -> Decision:
        """The node's own Node. Which one is written is checked by admission, since a creation does not tell here."""
        if asked.subresource == "status":
            return ALLOWED if asked.verb in ("update", "patch") else NO_OPINION
        if asked.subresource:
            return NO_OPINION
        if asked.verb in ("create", "update", "patch"):
            return ALLOWED
        if asked.verb not in ("get", "list", "watch"):
            return NO_OPINION
        if asked.name == node:
            return ALLOWED
        if not asked.name:
            return _no(f"node '{node}' cannot read all nodes, only its own Node object")
        return _no(f"node '{node}' cannot read '{asked.name}', only its own Node object")

    def pod(self, node: str, asked: Attributes) -> Decision:
        """Pods bound to the node."""
        verb, part = asked.verb, asked.subresource
        if part == "status":
            return ALLOWED if verb in ("update", "patch") else NO_OPINION
        if part == "eviction":
            return ALLOWED if verb == "create" else NO_OPINION
        if part:
            return NO_OPINION
        if verb == "get":
            return self._related(node, asked)
        if verb in _SELECTING_VERBS:
            if _selects(asked, "spec.nodeName", node):
                return ALLOWED
            if asked.name:
                return self._related(node, asked)
            return _no("can only list/watch pods with spec.nodeName field selector")
        return ALLOWED if verb in ("create", "delete") else NO_OPINION

    def certificate_request(self, node: str, asked: Attributes) -> Decision:
        """PodCertificateRequests are not served yet, so nodes have nothing to do with them."""
        return NO_OPINION


def _selects(asked: Attributes, field: str, value: str) -> bool:
    return any(each.equal and each.field == field and each.value == value for each in asked.fields)


_JUDGES: Final[dict[tuple[str, str], _Judge]] = {
    ("", "secrets"): NodeAuthorizer.read_namespaced,
    ("", "configmaps"): NodeAuthorizer.read_namespaced,
    ("", "persistentvolumeclaims"): NodeAuthorizer.volume_claim,
    ("", "persistentvolumes"): NodeAuthorizer.get_only,
    ("", "serviceaccounts"): NodeAuthorizer.service_account,
    ("", "nodes"): NodeAuthorizer.node,
    ("", "pods"): NodeAuthorizer.pod,
    ("resource.k8s.io", "resourceclaims"): NodeAuthorizer.get_only,
    ("resource.k8s.io", "resourceslices"): NodeAuthorizer.resource_slice,
    ("storage.k8s.io", "volumeattachments"): NodeAuthorizer.get_only,
    ("storage.k8s.io", "csinodes"): NodeAuthorizer.csi_node,
    ("coordination.k8s.io", "leases"): NodeAuthorizer.lease,
    ("certificates.k8s.io", "podcertificaterequests"): NodeAuthorizer.certificate_request,
}
