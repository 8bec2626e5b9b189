"""CAPMOX's manifests on the real API server, which asks us for conversion, and on the embedded one, which does it.

The same requests get the same answers from both.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from nagaya.api.conversion.convert import convert
from nagaya.api.conversion.proxmox.objects import KINDS
from nagaya.api.proxmox.group import GROUP, VERSION
from real.test_crds import DEFINITIONS, Kubectl, define, kubectl_for
from support.answering import answering
from support.real import RealControlPlane, installed_binaries
from support.running_server import RunningServer
from support.thoroughness import choose
from unit.api.proxmox import capmox_templates
from unit.api.proxmox.manifests import CAPMOX, EXAMPLES, documents
from unit.api.proxmox.test_kinds import EVERYTHING

OLD, NEW = "v1alpha1.infrastructure.cluster.x-k8s.io", "v1alpha2.infrastructure.cluster.x-k8s.io"
pytestmark = pytest.mark.long("real API servers establish every definition and ask for every conversion")

MANIFESTS = {path.stem: path for path in (*CAPMOX, *EXAMPLES)}
MANIFESTS_SAMPLE = [
    "class-v1alpha1",
    "dual-stack-v1alpha1",
    "vlans-v1alpha1",
    "v1alpha2",
    "proxmox-cluster-class",
    "proxmox-from-capmox",
]
"""What conversion changes most: the old version's kinds of networks, and every kind in the new version."""
TEMPLATES = {
    **{f"{name}-old": each for name, each in capmox_templates.OLD.items()},
    **{f"{name}-new": each for name, each in capmox_templates.NEW.items()},
}
TEMPLATES_SAMPLE = ["class-old", "dual-stack-new", "vlans-old", "load-balancer-new"]
"""Four different templates, two of each version."""


@pytest.fixture(scope="module", params=["embedded", "real"])
def kubeconfig(request: pytest.FixtureRequest) -> Iterator[Path]:
    """Of a server of its own that has all kinds, as `nagaya crds` prints them, and our rules."""
    if request.param == "embedded":
        with RunningServer() as server:
            define(with_kubectl(server.kubeconfig))
            yield server.kubeconfig
        return
    with RealControlPlane(installed_binaries()) as plane:
        define(with_kubectl(plane.kubeconfig))
        with answering(plane.kubeconfig, DEFINITIONS):
            yield plane.kubeconfig


@pytest.fixture
def kubectl(kubeconfig: Path) -> Kubectl:
    """Talks to the server."""
    return with_kubectl(kubeconfig)


def with_kubectl(kubeconfig: Path) -> Kubectl:
    return kubectl_for(installed_binaries(("kubectl",)).path("kubectl"), kubeconfig)


def named(path: Path) -> str:
    return path.stem


def plural(kind: str, version: str) -> str:
    return f"{kind.lower()}s.{version}"


def read(kubectl: Kubectl, kind: str, version: str, name: str) -> Any:
    said = kubectl("get", plural(kind, version), name, "-o", "json")
    return json.loads(said[: said.rindex("}") + 1])  # after it, there may be a warning that the version is an old one


@pytest.mark.parametrize("path", [MANIFESTS[name] for name in choose(MANIFESTS_SAMPLE, [*MANIFESTS])], ids=named)
def test_manifests_are_taken_as_they_are_and_can_be_read_in_both_versions(kubectl: Kubectl, path: Path) -> None:
    for each in (each for each in documents(path) if each["kind"] in KINDS):
        kind, name = each["kind"], each["metadata"]["name"]
        written, other = (OLD, NEW) if each["apiVersion"].endswith("v1alpha1") else (NEW, OLD)
        kubectl("create", "-f", "-", given=yaml.safe_dump(each))
        try:
            assert read(kubectl, kind, other, name)["apiVersion"].endswith(other.partition(".")[0])
            found = read(kubectl, kind, written, name)["spec"]
            assert _without_nothing(each["spec"]) == _without_nothing(found, like=each["spec"])
        finally:
            kubectl("delete", plural(kind, written), name)


def test_a_change_in_the_old_version_is_seen_in_the_new_one_and_spares_the_rest(kubectl: Kubectl) -> None:
    written = next(path for path in CAPMOX if path.stem == "v1alpha2")
    (template,) = [each for each in documents(written) if each["kind"] == "ProxmoxMachineTemplate"]
    spec = {**template["spec"]["template"]["spec"], "deletionPolicy": "Release"}
    machine = {**template, "kind": "ProxmoxMachine", "spec": spec}
    kubectl("create", "-f", "-", given=yaml.safe_dump(machine))
    try:
        kubectl("patch", plural("ProxmoxMachine", OLD), "worker", "--type=merge", "-p", '{"spec": {"numCores": 16}}')
        assert read(kubectl, "ProxmoxMachine", NEW, "worker")["spec"] == {**spec, "numCores": 16}
    finally:
        kubectl("delete", plural("ProxmoxMachine", NEW), "worker")


def test_everything_can_be_said_at_once(kubectl: Kubectl) -> None:
    machine = {"apiVersion": f"{GROUP}/{VERSION}", "kind": "ProxmoxMachine", "metadata": {"name": "all"}}
    kubectl("create", "-f", "-", given=yaml.safe_dump({**machine, "spec": EVERYTHING}))
    try:
        found = read(kubectl, "ProxmoxMachine", NEW, "all")["spec"]
        assert _without_nothing(found, like=EVERYTHING) == EVERYTHING
    finally:
        kubectl("delete", plural("ProxmoxMachine", NEW), "all")


@pytest.mark.parametrize("name", choose(TEMPLATES_SAMPLE, [*TEMPLATES]))
def test_whole_clusters_are_taken_and_what_is_of_proxmox_is_taken_as_it_is(kubectl: Kubectl, name: str) -> None:
    template = TEMPLATES[name]
    theirs = [each for each in template if each["kind"] in KINDS]
    others = convert(each for each in template if each["kind"] not in KINDS).objects
    manifests = yaml.safe_dump_all([*others, *theirs])
    said = kubectl("apply", "-f", "-", given=manifests)
    try:
        assert said.count(" created") == len(template), said
        kubectl("apply", "-f", "-", given=manifests)
        for each in theirs:
            for version in (OLD, NEW):
                found = read(kubectl, each["kind"], version, each["metadata"]["name"])
                assert found["metadata"]["generation"] == 1, "what is applied again changes nothing"
    finally:
        kubectl("delete", "--wait=false", "-f", "-", given=manifests)


def machine(name: str, **spec: Any) -> dict[str, Any]:
    """One of v1alpha1."""
    whole = {"sourceNode": "pve1", "templateID": 100, "network": {"default": {"bridge": "vmbr0"}}, **spec}
    return {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "ProxmoxMachine",
        "metadata": {"name": name, "namespace": "default"},
        "spec": whole,
    }


def apply(kubectl: Kubectl, manager: str, content: dict[str, Any], *, fails: bool = False) -> str:
    arguments = ("apply", "--server-side", f"--field-manager={manager}", "-f", "-")
    return kubectl(*arguments, given=yaml.safe_dump(content), fails=fails)


def owned(found: Any) -> dict[str, tuple[str, Any]]:
    """Who owns what, in which version."""
    entries = found["metadata"]["managedFields"]
    return {each["manager"]: (each["apiVersion"].rpartition("/")[2], each["fieldsV1"]) for each in entries}


def test_field_managers_keep_to_their_own_version(kubectl: Kubectl) -> None:
    name = "managed"
    new = {**machine(name), "apiVersion": f"{GROUP}/{VERSION}", "spec": {"numSockets": 2, "memoryMiB": 4096}}
    try:
        apply(kubectl, "old", machine(name, numCores=2))
        apply(kubectl, "new", new)
        kind = plural("ProxmoxMachine", NEW)
        found = json.loads(kubectl("get", kind, name, "-o", "json", "--show-managed-fields"))
        managers = owned(found)
        assert managers["new"] == ("v1alpha2", {"f:spec": {"f:memoryMiB": {}, "f:numSockets": {}}})
        version, fields = managers["old"]
        assert version == "v1alpha1"
        assert fields["f:spec"]["f:network"] == {"f:default": {"f:bridge": {}}}
        refused = apply(kubectl, "new", {**new, "spec": {"numCores": 8}}, fails=True)
        assert 'conflict with "old"' in refused
        assert ".spec.numCores" in refused
        apply(kubectl, "old", machine(name))  # what a manager no longer names goes
        spec = read(kubectl, "ProxmoxMachine", OLD, name)["spec"]
        assert "numCores" not in spec
        assert (spec["numSockets"], spec["memoryMiB"]) == (2, 4096)
        assert spec["network"] == {"default": {"bridge": "vmbr0", "model": "virtio"}}
    finally:
        kubectl("delete", plural("ProxmoxMachine", NEW), name)


def test_what_the_new_version_fills_in_is_seen_in_both(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=yaml.safe_dump(machine("filled")))
    try:
        old, new = (read(kubectl, "ProxmoxMachine", version, "filled")["spec"] for version in (OLD, NEW))
        assert (old["full"], old["network"]) == (True, {"default": {"bridge": "vmbr0", "model": "virtio"}})
        device = {"name": "net0", "bridge": "vmbr0", "model": "virtio", "defaultIPv4": True, "defaultIPv6": True}
        assert (new["full"], new["network"]) == (True, {"networkDevices": [device]})
    finally:
        kubectl("delete", plural("ProxmoxMachine", NEW), "filled")


def test_a_watch_tells_of_objects_in_its_own_version(kubectl: Kubectl, kubeconfig: Path) -> None:
    program = installed_binaries(("kubectl",)).path("kubectl")
    kind = plural("ProxmoxMachine", OLD)
    kubectl("create", "-f", "-", given=yaml.safe_dump(machine("watched")))
    command = [str(program), f"--kubeconfig={kubeconfig}", "get", kind, "watched", "--watch", "-o", "json"]
    watching = subprocess.Popen(
        [*command, "--output-watch-events"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        events = _events(watching)
        assert next(events)["object"]["spec"]["network"]["default"]["bridge"] == "vmbr0"
        patch = '{"spec": {"numCores": 4}}'
        kubectl("patch", plural("ProxmoxMachine", NEW), "watched", "--type=merge", "-p", patch)
        changed = next(events)
        assert (changed["type"], changed["object"]["apiVersion"]) == ("MODIFIED", f"{GROUP}/v1alpha1")
        assert changed["object"]["spec"]["numCores"] == 4
        kubectl("delete", plural("ProxmoxMachine", NEW), "watched")
        gone = next(events)
        assert (gone["type"], gone["object"]["apiVersion"]) == ("DELETED", f"{GROUP}/v1alpha1")
    finally:
        watching.kill()
        watching.communicate()


def _events(watching: subprocess.Popen[str]) -> Iterator[Any]:
    """What a watch prints, a line for each event."""
    assert watching.stdout is not None
    yield from map(json.loads, watching.stdout)


def test_wrong_objects_of_the_old_version_are_refused_by_what_would_become_of_them(kubectl: Kubectl) -> None:
    wrong = machine("wrong", network={"default": {"bridge": "vmbr0", "mtu": 100}})
    said = kubectl("create", "-f", "-", given=yaml.safe_dump(wrong), fails=True)

    assert "spec.network.networkDevices[0].mtu" in said


def test_the_old_version_is_found_and_explained(kubectl: Kubectl) -> None:
    assert f"{GROUP}/v1alpha1" in kubectl("api-versions").split()
    said = kubectl("explain", "proxmoxmachine.spec.network", f"--api-version={GROUP}/v1alpha1")
    assert "additionalDevices" in said
    listed = json.loads(kubectl("get", "--raw", f"/apis/{GROUP}/v1alpha1"))
    assert {each["kind"] for each in listed["resources"] if "Proxmox" in each["kind"]} == set(KINDS)
    assert "preferred" not in listed
    table = kubectl("get", plural("ProxmoxMachine", OLD), "-A")
    assert "No resources found" in table


def _without_nothing(value: Any, like: Any = None) -> Any:
    """The value without fields that have none, and without defaults: only with those that another has."""
    if isinstance(value, dict):
        wanted = value if like is None else {name: each for name, each in value.items() if name in like}
        return {
            name: _without_nothing(each, None if like is None else like[name])
            for name, each in wanted.items()
            if each is not None
        }
    if isinstance(value, list):
        return [
            _without_nothing(each, like[place] if like is not None and place < len(like) else None)
            for place, each in enumerate(value)
        ]
    return value
