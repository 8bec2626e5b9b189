"""`nagaya create cluster` as users type it: with everything said, with questions, and with mistakes."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import yaml

from support.proxmox_commands import Desk, desk

pytestmark = pytest.mark.long("starts Nagaya as users do, several processes one after the other")

FIRST = ("create", "cluster", "first", "--infrastructure", "simulated", "--control-plane", "kubeadm")
ON_PROXMOX = ("create", "cluster", "shop", "--infrastructure", "proxmox", "--control-plane", "kubeadm")
ADDRESSES = ("--addresses", "10.0.0.20-10.0.0.39", "--gateway", "10.0.0.1", "--dns", "10.0.0.1")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A plane that does nothing but keep objects, and an emulated Proxmox VE."""
    with desk(tmp_path_factory.mktemp("create")) as made:
        printed = made.nagaya("crds")
        made.kubectl("apply", "--server-side", "-f", "-", given=printed.stdout)
        made.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=200s")
        yield made


def test_it_shows_the_objects_makes_them_and_says_what_to_type_next(table: Desk) -> None:
    made = table.nagaya(*FIRST, "--workers", "3", "--yes")
    assert made.returncode == 0, made.stderr
    assert "create  KubeadmControlPlane       first" in made.stdout
    assert "nothing will run in it" in made.stdout
    assert "nagaya describe cluster first --watch" in made.stderr
    again = table.nagaya(*FIRST, "--workers", "3")
    assert (again.returncode, "Nothing to do: all of it is there." in again.stderr) == (0, True)
    other = table.nagaya(*FIRST, "--workers", "4", "--yes")
    assert other.returncode == 1
    assert "MachineDeployment first-workers: spec.replicas" in other.stderr
    assert table.kubectl("get", "md", "first-workers", "-o", "jsonpath={.spec.replicas}") == "3"


def test_manifests_are_printed_without_any_management_api(table: Desk) -> None:
    printed = table.nagaya(*FIRST, "-n", "team", "-o", "yaml", "--kubeconfig", "/nowhere")
    assert printed.returncode == 0, printed.stderr
    objects = list(yaml.safe_load_all(printed.stdout))
    assert objects[0]["metadata"]["namespace"] == "team"
    listed = table.nagaya(*FIRST, "-n", "team", "-o", "json", "--kubeconfig", "/nowhere")
    assert json.loads(listed.stdout)["items"] == objects


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("create", "cluster", "a"), 2, "--infrastructure proxmox|simulated and --control-plane hosted|kubeadm must"),
        ((*FIRST, "--dhcp", "--cores", "4"), 2, "Simulated machines know nothing of --dhcp, --cores: leave"),
        ((*FIRST, "--version", "1.36"), 2, "'1.36' is not a Kubernetes version. Write it in full"),
        ((*FIRST, "--control-planes", "2"), 2, "take 1, 3 or 5"),
        ((*FIRST, "-n", "nowhere", "--yes"), 1, "Make it: `kubectl create namespace nowhere`. Nothing was made."),
        ((*FIRST[:2], "second", *FIRST[3:]), 3, "Nobody can be asked here: give --yes, or --dry-run."),
        ((*ON_PROXMOX, "--connection", "other"), 1, "nagaya proxmox connect URL --name other"),
    ],
)
def test_a_mistake_is_one_sentence_with_the_remedy(
    table: Desk, arguments: tuple[str, ...], code: int, told: str
) -> None:
    ended = table.nagaya(*arguments)
    assert ended.returncode == code, ended
    assert told in " ".join(ended.stderr.split())
    assert "Traceback" not in ended.stderr


def test_a_dry_run_makes_nothing(table: Desk) -> None:
    tried = table.nagaya(*FIRST[:2], "dry", *FIRST[3:], "--dry-run")
    assert (tried.returncode, "Nothing was made (--dry-run)" in tried.stderr) == (0, True)
    assert "dry" not in table.kubectl("get", "clusters.cluster.x-k8s.io", "-o", "name")


def test_what_is_missing_is_asked_for_on_a_terminal(table: Desk) -> None:
    answers = {
        "Where are its machines": "simulated",
        "Where is its API": "kubeadm",
        "How many workers": "1",
        "Make these 7 objects": "y",
    }
    code, said = table.at_a_terminal(answers, "create", "cluster", "asked")
    assert code == 0, said
    assert table.kubectl("get", "md", "asked-workers", "-o", "jsonpath={.spec.replicas}") == "1"
    code, said = table.at_a_terminal({"Make these 7 objects": "n"}, *FIRST[:2], "declined", *FIRST[3:])
    assert (code, "Nothing was made." in said) == (3, True)


def test_on_proxmox_the_only_connection_is_taken_and_what_is_missing_is_named(table: Desk) -> None:
    table.kubectl("create", "namespace", "vms")
    where = ("-n", "vms")
    nothing = table.nagaya(*ON_PROXMOX, *where)
    assert "Make one: nagaya proxmox connect URL --namespace vms" in nothing.stderr
    connected = table.connect(*where, "--insecure", "an emulator", "--yes")
    assert connected.returncode == 0, connected.stderr
    no_pool = table.nagaya(*ON_PROXMOX, *where)
    assert "has no pool of addresses: say where machines get theirs with --dhcp" in no_pool.stderr
    no_template = table.nagaya(*ON_PROXMOX, *where, *ADDRESSES, "--endpoint", "10.0.0.10", "--version", "v1.37.1")
    assert "There are templates for v1.36.3: choose one with --version." in no_template.stderr
    no_endpoint = table.nagaya(*ON_PROXMOX, *where, *ADDRESSES)
    assert (no_endpoint.returncode, "--endpoint: the API needs an address" in no_endpoint.stderr) == (2, True)
    whole = (*ON_PROXMOX, *where, *ADDRESSES, "--endpoint", "10.0.0.10")
    with_prefix = [each.replace("10.0.0.39", "10.0.0.40/24") for each in whole]
    for more in (("-o", "yaml"), ("--dry-run",), ("--yes",)):
        refused = table.nagaya(*with_prefix, *more)
        assert (refused.returncode, refused.stdout) == (2, ""), more
        assert "Write --addresses 10.0.0.20-10.0.0.40 --prefix 24" in refused.stderr
    too_large = table.nagaya(*whole, "--cores", "500", "--dry-run")
    assert too_large.returncode == 1
    assert "500 needed, and Proxmox VE starts no machine with more" in too_large.stdout
    assert "it would not come to a good end: see the errors above" in too_large.stderr
    made = table.nagaya(*whole, "--yes")
    assert made.returncode == 0, made.stderr
    assert "0 -> 3 machines; 3 made" in made.stdout
    shared = json.loads(table.kubectl("get", "proxmoxcluster", "shop", "-n", "vms", "-o", "json"))
    assert shared["spec"]["connectionRef"] == {"name": "proxmox"}

    pool = {
        "apiVersion": "ipam.cluster.x-k8s.io/v1alpha2",
        "kind": "InClusterIPPool",
        "metadata": {"name": "office", "namespace": "vms"},
        "spec": {"addresses": ["10.1.0.10-10.1.0.20"], "prefix": 24, "gateway": "10.1.0.1"},
    }
    table.kubectl("apply", "-f", "-", given=yaml.safe_dump(pool))
    pooled = table.nagaya(*ON_PROXMOX[:2], "pooled", *ON_PROXMOX[3:], *where, "--dns", "10.1.0.1", "--yes")
    assert pooled.returncode == 0, pooled.stderr
    shared = json.loads(table.kubectl("get", "proxmoxcluster", "pooled", "-n", "vms", "-o", "json"))
    assert shared["spec"]["controlPlaneEndpointPoolRef"]["name"] == "office"
