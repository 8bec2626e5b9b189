"""Which definitions get v1alpha1 from a server that converts by itself."""

from __future__ import annotations

from typing import Any

import pytest

from nagaya.api.catalog import PARTS
from nagaya.api.conversion.proxmox.in_process import IN_PROCESS
from nagaya.api.conversion.proxmox.objects import KINDS, NEW_API_VERSION, OLD_API_VERSION, to_old
from nagaya.api.conversion.proxmox.review import Unconvertible
from nagaya.api.conversion.proxmox.serving import with_old_version, without_conversion
from nagaya.api.crd import render
from nagaya.api.definition import Definition

CONVERTED = [each for each in PARTS["infrastructure-proxmox"] if each.kind.kind in KINDS]
CONFIG = {"url": "https://127.0.0.1:9443/convert"}


def versions(definition: Definition, content: dict[str, Any]) -> dict[str, tuple[bool, bool]] | None:
    made = IN_PROCESS[str(definition.kind)].completed(content["spec"])
    return made and {each["name"]: (each["served"], each["storage"]) for each in made["versions"]}


def test_every_kind_that_has_it_is_there() -> None:
    assert set(IN_PROCESS) == {str(each.kind) for each in CONVERTED}


@pytest.mark.parametrize("definition", CONVERTED, ids=lambda each: each.kind.kind)
def test_ours_gets_it_whether_or_not_somebody_converted_before(definition: Definition) -> None:
    both = {"v1alpha2": (True, True), "v1alpha1": (True, False)}

    assert versions(definition, render(definition)) == both
    assert versions(definition, without_conversion(definition)) == both


def test_one_that_has_somebody_to_ask_does_not_get_it() -> None:
    assert versions(CONVERTED[0], with_old_version(CONVERTED[0], CONFIG)) is None


def test_one_that_stores_something_else_does_not_get_it() -> None:
    content = render(CONVERTED[0])
    content["spec"]["versions"][0]["name"] = "v1alpha1"

    assert versions(CONVERTED[0], content) is None


def test_what_is_given_is_not_changed() -> None:
    content = render(CONVERTED[0])
    versions(CONVERTED[0], content)

    assert content == render(CONVERTED[0])


def test_objects_are_converted_and_others_refused() -> None:
    machines = IN_PROCESS["proxmoxmachines.infrastructure.cluster.x-k8s.io"]
    new = {"apiVersion": NEW_API_VERSION, "kind": "ProxmoxMachine", "metadata": {"name": "one"}, "spec": {}}

    assert machines.convert(new, OLD_API_VERSION) == to_old(new)
    with pytest.raises(Unconvertible, match="cannot be converted"):
        machines.convert({**new, "kind": "ProxmoxConnection"}, OLD_API_VERSION)
