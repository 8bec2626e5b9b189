from __future__ import annotations

import pytest

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.authz.attributes import Attributes
from nagaya.apiserver.authz.authorizer import Verdict
from nagaya.apiserver.authz.node_authorizer import NodeAuthorizer
from nagaya.apiserver.authz.node_graph import NodeGraph
from nagaya.apiserver.selectors import fields
from support.subtest_cases import subtest_cases

NODE = User("system:node:n1", groups=("system:nodes", "system:authenticated"))
UNRELATED = "no relationship found between node 'n1' and this object"


@pytest.fixture(scope="module")
def authorizer() -> NodeAuthorizer:
    graph = NodeGraph()
    volumes = [
        {"name": "a", "secret": {"secretName": "mine"}},
        {"name": "b", "configMap": {"name": "mine"}},
        {"name": "c", "persistentVolumeClaim": {"claimName": "mine"}},
    ]
    spec = {"nodeName": "n1", "serviceAccountName": "mine", "volumes": volumes}
    graph.upsert("pods", {"metadata": {"name": "mine", "namespace": "n"}, "spec": spec})
    graph.upsert("volumeattachments", {"metadata": {"name": "mine"}, "spec": {"nodeName": "n1"}})
    graph.upsert("resourceslices", {"metadata": {"name": "mine"}, "spec": {"nodeName": "n1"}})
    claim = {"claimRef": {"namespace": "n", "name": "mine"}}
    graph.upsert("persistentvolumes", {"metadata": {"name": "mine"}, "spec": claim})
    return NodeAuthorizer(graph)


def asked(text: str, selector: str = "") -> Attributes:
    """A request from `verb group resource[/part] [namespace/]name`, with `-` for what is empty."""
    verb, group, resource, target = text.split()
    resource, _, part = resource.partition("/")
    namespace, _, name = target.rpartition("/")
    cleaned = ["" if value == "-" else value for value in (group, resource, part, name, namespace)]
    group, resource, part, name, namespace = cleaned
    return Attributes(
        NODE, verb, group, "v1", resource, part, name, namespace, fields=fields.parse(selector).requirements
    )


@subtest_cases(
    "text",
    [
        "get - secrets n/mine",
        "watch - secrets n/mine",
        "list - configmaps n/mine",
        "get - persistentvolumeclaims n/mine",
        "patch - persistentvolumeclaims/status n/mine",
        "get - persistentvolumes mine",
        "get storage.k8s.io volumeattachments mine",
        "get - serviceaccounts n/mine",
        "create - serviceaccounts/token n/mine",
        "get coordination.k8s.io leases kube-node-lease/n1",
        "create coordination.k8s.io leases kube-node-lease/-",
        "update storage.k8s.io csinodes n1",
        "create storage.k8s.io csinodes -",
        "create resource.k8s.io resourceslices -",
        "delete resource.k8s.io resourceslices mine",
        "get - nodes n1",
        "create - nodes -",
        "patch - nodes/status n1",
        "get - pods n/mine",
        "delete - pods n/other",
        "create - pods n/-",
        "update - pods/status n/other",
        "create - pods/eviction n/other",
        "list - services -",
        "create certificates.k8s.io certificatesigningrequests -",
        "create - events n/-",
        "get node.k8s.io runtimeclasses x",
    ],
)
def test_a_node_may_do_what_it_needs(authorizer: NodeAuthorizer, text: str) -> None:
    assert authorizer.authorize(asked(text)).allowed


@subtest_cases(
    ("text", "reason"),
    [
        ("get - secrets n/other", UNRELATED),
        ("get - secrets n/-", "No Object name found"),
        ("get - secrets mine", "can only read namespaced object of this type"),
        ("update - secrets n/mine", "can only read resources of this type"),
        ("get - secrets/x n/mine", "cannot read subresource"),
        ("list - persistentvolumes -", "can only get individual resources of this type"),
        ("get - persistentvolumes/status mine", "cannot get subresource"),
        ("get - persistentvolumes other", UNRELATED),
        ("get - persistentvolumeclaims/status n/mine", "can only get/update/patch this type"),
        ("get - serviceaccounts n/other", UNRELATED),
        ("create - serviceaccounts/token n/other", UNRELATED),
        ("create - serviceaccounts/token n/-", "can only create tokens for individual service accounts"),
        ("create - serviceaccounts n/mine", "can only create token subresource of serviceaccount"),
        (
            "list coordination.k8s.io leases kube-node-lease/-",
            "can only get, create, update, patch, or delete a node lease",
        ),
        (
            "get coordination.k8s.io leases n/n1",
            'can only access leases in the "kube-node-lease" system namespace',
        ),
        (
            "get coordination.k8s.io leases kube-node-lease/n2",
            "can only access node lease with the same name as the requesting node",
        ),
        ("list storage.k8s.io csinodes -", "can only get, create, update, patch, or delete a CSINode"),
        ("get storage.k8s.io csinodes/x n1", "cannot authorize CSINode subresources"),
        ("get storage.k8s.io csinodes n2", "can only access CSINode with the same name as the requesting node"),
        ("get resource.k8s.io resourceslices/x mine", "cannot authorize ResourceSlice subresources"),
        ("get resource.k8s.io resourceslices other", UNRELATED),
        ("get - nodes n2", "node 'n1' cannot read 'n2', only its own Node object"),
        ("list - nodes -", "node 'n1' cannot read all nodes, only its own Node object"),
        ("delete - nodes n1", ""),
        ("get - nodes/proxy n1", ""),
        ("get - nodes/status n1", ""),
        ("get - pods n/other", UNRELATED),
        ("list - pods -", "can only list/watch pods with spec.nodeName field selector"),
        ("update - pods n/mine", ""),
        ("get - pods/log n/mine", ""),
        ("get - pods/eviction n/mine", ""),
        ("get certificates.k8s.io podcertificaterequests n/x", ""),
        ("list - namespaces -", ""),
    ],
)
def test_a_node_may_not_do_more(authorizer: NodeAuthorizer, text: str, reason: str) -> None:
    decision = authorizer.authorize(asked(text))
    assert (decision.verdict, decision.reason) == (Verdict.NO_OPINION, reason)


def test_an_odd_verb_on_slices_is_explained(authorizer: NodeAuthorizer) -> None:
    reason = authorizer.authorize(asked("bind resource.k8s.io resourceslices x")).reason
    assert reason.startswith("only the following verbs are allowed for a ResourceSlice: get, watch,")


@subtest_cases(
    ("text", "selector", "allowed"),
    [
        ("list - pods -", "spec.nodeName=n1", True),
        ("watch - pods n/-", "metadata.namespace=n,spec.nodeName=n1", True),
        ("list - pods -", "spec.nodeName=n2", False),
        ("list - pods -", "spec.nodeName!=n1", False),
        ("list - pods n/mine", "metadata.name=mine", True),
        ("list - pods n/other", "metadata.name=other", False),
        ("deletecollection resource.k8s.io resourceslices -", "spec.nodeName=n1", True),
        ("list resource.k8s.io resourceslices -", "spec.nodeName=n2", False),
    ],
)
def test_lists_need_a_selector_for_the_node(
    authorizer: NodeAuthorizer, text: str, selector: str, allowed: bool
) -> None:
    assert authorizer.authorize(asked(text, selector)).allowed is allowed


def test_others_are_none_of_its_business(authorizer: NodeAuthorizer) -> None:
    decision = authorizer.authorize(Attributes(User("bob"), "get", resource="nodes", name="n1"))
    assert (decision.verdict, decision.reason) == (Verdict.NO_OPINION, "")
    assert authorizer.rules_for(User("bob"), "n").errors == ()


def test_a_nameless_node_gets_nothing(authorizer: NodeAuthorizer) -> None:
    user = User("system:node:", groups=("system:nodes",))
    decision = authorizer.authorize(Attributes(user, "list", resource="services"))
    assert (decision.allowed, decision.reason) == (False, 'unknown node for user "system:node:"')


def test_what_a_node_may_do_cannot_be_listed(authorizer: NodeAuthorizer) -> None:
    rules = authorizer.rules_for(NODE, "n")
    assert rules.incomplete
    assert rules.errors == ("node authorizer does not support user rule resolution",)


def test_paths_follow_the_role(authorizer: NodeAuthorizer) -> None:
    assert not authorizer.authorize(Attributes(NODE, "get", path="/metrics", is_resource=False)).allowed
