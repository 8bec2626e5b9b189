"""Who may write which part of a claim's status."""

from types import SimpleNamespace
from typing import Any

from nagaya.apiserver.authn.user import NODE_NAME, User
from nagaya.apiserver.authz.attributes import Attributes
from nagaya.apiserver.builtins.kinds.resource_claims_access import errors
from nagaya.apiserver.web.request_info import RequestInfo

DEVICE = {"driver": "d", "pool": "p", "device": "x"}
ON_NODE = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}]}
ALLOCATED = {"allocation": {"devices": {"results": [{"request": "r", **DEVICE}]}, "nodeSelector": ON_NODE}}
DRIVER = User("system:serviceaccount:a:b", "", (), {NODE_NAME: ("n",)})


class Rules:
    """Allows what it is told to, and remembers what was asked."""

    def __init__(self, *allowed: str) -> None:
        self.allowed = allowed
        self.asked: list[str] = []

    def authorize(self, attributes: Attributes) -> Any:
        name = f" {attributes.name}" if attributes.name else ""
        self.asked.append(f"{attributes.verb} {attributes.subresource}{name}")
        return SimpleNamespace(allowed=self.asked[-1] in self.allowed, reason="")


def found(new: dict[str, Any], old: dict[str, Any], rules: Rules, user: User = DRIVER) -> list[str]:
    info = RequestInfo.__new__(RequestInfo)
    for member, value in {
        "is_resource": True,
        "verb": "patch",
        "group": "resource.k8s.io",
        "version": "v1",
        "resource": "resourceclaims",
        "subresource": "status",
        "name": "it",
        "namespace": "town",
        "path": "/",
        "field_selector": "",
        "label_selector": "",
    }.items():
        object.__setattr__(info, member, value)
    call: Any = SimpleNamespace(user=user, info=info, backend=SimpleNamespace(authorizer=rules))
    metadata = {"namespace": "town"}
    return [str(error) for error in errors({"metadata": metadata, "status": new}, {"status": old}, call)]


def test_allocating_takes_leave_for_binding() -> None:
    rules = Rules()
    [refused] = found(ALLOCATED, {}, rules)
    needs = 'requires resource="resourceclaims/binding", verb="patch" permission'
    assert refused.startswith(f"status.allocation: Forbidden: changing status.allocation or status.reservedFor {needs}")
    assert rules.asked == ["patch binding"]
    assert found(ALLOCATED, {}, Rules("patch binding")) == []


def test_a_driver_on_the_node_of_the_claim_needs_less() -> None:
    new = {**ALLOCATED, "devices": [DEVICE]}
    rules = Rules("associated-node:patch driver d")
    assert found(new, ALLOCATED, rules) == []
    elsewhere = User(DRIVER.name, "", (), {NODE_NAME: ("m",)})
    [refused] = found(new, ALLOCATED, rules, elsewhere)
    assert 'verb="[arbitrary-node:patch]" permission' in refused
    assert found(new, ALLOCATED, Rules("arbitrary-node:patch driver d"), elsewhere) == []


def test_what_does_not_change_needs_no_leave() -> None:
    rules = Rules()
    status = {**ALLOCATED, "devices": [DEVICE]}
    assert found(status, status, rules) == []
    assert rules.asked == []


def test_taking_an_allocation_back_needs_no_leave_of_drivers() -> None:
    rules = Rules("patch binding")
    assert found({}, {**ALLOCATED, "devices": [DEVICE]}, rules) == []
    assert rules.asked == ["patch binding"]
