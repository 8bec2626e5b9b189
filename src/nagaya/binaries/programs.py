"""The programs by name: which product each belongs to, where its source is, how it tells its version.

Cluster API's managers are of no use without their custom resource definitions and webhook configurations, of exactly
the same version. So a manifest counts as a program here: a file that comes out of the same module, is kept in the cache
under the same rules, and tells its version, in its first line.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from nagaya.binaries.errors import UnknownRequest

Product = Literal["kubernetes", "etcd", "cluster-api", "kine", "konnectivity"]


@dataclass(frozen=True, slots=True)
class Program:
    """One executable of one product, or a manifest."""

    name: str
    product: Product
    package: str
    """The Go package that it is built from, or in whose folder the manifest is."""
    version_arguments: tuple[str, ...] = ("--version",)
    is_test_binary: bool = False
    """Made by `go test -c`, and published inside an archive of its own."""
    tells_at_start: bool = False
    """Has no option that tells its version: it says so as it starts, and then stops for want of an API server."""
    tells_nothing: bool = False
    """Has no way to tell its version: Go's record of the modules that it was built from does."""
    manifests: tuple[str, ...] = ()
    """For a manifest: the files that it is made of, as patterns below the folder of the package."""

    @property
    def is_manifest(self) -> bool:
        """Whether it is read and not run."""
        return bool(self.manifests)


def _kubernetes(name: str, *version_arguments: str) -> Program:
    return Program(name, "kubernetes", f"k8s.io/kubernetes/cmd/{name}", version_arguments or ("--version",))


def _manager(part: str, package: str) -> tuple[Program, Program]:
    """One of Cluster API's managers, and what has to be in the API server before it starts."""
    name = f"cluster-api-{part}"
    # A kubeconfig that holds nothing: whatever cluster the user has at hand must not get a second set of controllers.
    manager = Program(name, "cluster-api", package, (f"--kubeconfig={os.devnull}",), tells_at_start=True)
    files = ("config/crd/bases/*.yaml", "config/webhook/manifests.yaml")
    return manager, Program(f"{name}.yaml", "cluster-api", package, manifests=files)


ETCD = Program("etcd", "etcd", "go.etcd.io/etcd/server/v3")
E2E = Program("e2e.test", "kubernetes", "k8s.io/kubernetes/test/e2e", is_test_binary=True)

_KONNECTIVITY = "sigs.k8s.io/apiserver-network-proxy"

KINE = Program("kine", "kine", "github.com/k3s-io/kine")

KONNECTIVITY: tuple[Program, ...] = tuple(
    Program(f"konnectivity-{part}", "konnectivity", f"{_KONNECTIVITY}/cmd/{part}", ("--help",), tells_nothing=True)
    for part in ("server", "agent")
)

CLUSTER_API: tuple[Program, ...] = (
    Program("clusterctl", "cluster-api", "sigs.k8s.io/cluster-api/cmd/clusterctl", ("version", "--output=short")),
    *_manager("core", "sigs.k8s.io/cluster-api/core"),
    *_manager("bootstrap-kubeadm", "sigs.k8s.io/cluster-api/bootstrap/kubeadm"),
    *_manager("controlplane-kubeadm", "sigs.k8s.io/cluster-api/controlplane/kubeadm"),
    *_manager("infrastructure-docker", "sigs.k8s.io/cluster-api/test/infrastructure/docker"),
)

_ALL: tuple[Program, ...] = (
    ETCD,
    _kubernetes("kube-apiserver"),
    _kubernetes("kube-controller-manager"),
    _kubernetes("kube-scheduler"),
    _kubernetes("kubelet"),
    _kubernetes("kubeadm", "version", "--output=short"),
    _kubernetes("kube-proxy"),
    _kubernetes("kubectl", "version", "--client"),
    E2E,
    KINE,
    *KONNECTIVITY,
    *CLUSTER_API,
)
_BY_NAME = {program.name: program for program in _ALL}

EXTRAS: dict[str, tuple[str, ...]] = {
    "cluster-api": tuple(program.name for program in CLUSTER_API),
    "e2e": (E2E.name,),
    "kine": (KINE.name,),
    "konnectivity": tuple(program.name for program in KONNECTIVITY),
}
"""What is provided on request only, by the word that asks for it."""

_ON_REQUEST = {name for names in EXTRAS.values() for name in names}

STANDARD: tuple[str, ...] = tuple(program.name for program in _ALL if program.name not in _ON_REQUEST)
"""What a control plane and its nodes are made of."""


CONTROL_PLANE: tuple[str, ...] = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
"""What a hosted control plane is made of: all that is needed of a second version, to upgrade to it."""


def names_of(words: Iterable[str]) -> list[str]:
    """The programs behind words on a command line: one of `EXTRAS`, `control-plane`, or the name of a program.

    Each word may be several, with commas between them. Raises UnknownRequest.
    """
    groups = {"control-plane": CONTROL_PLANE, **EXTRAS}
    single = [part.strip() for word in words for part in word.split(",") if part.strip()]
    unknown = sorted(word for word in single if word not in groups and word not in _BY_NAME)
    if unknown:
        known = ", ".join([*groups, *_BY_NAME])
        raise UnknownRequest(f"nothing is called {', '.join(unknown)}. There are: {known}.")
    return [name for word in single for name in groups.get(word, (word,))]


def programs_named(names: Iterable[str]) -> list[Program]:
    """The programs of these names, each once, in the order in which they are best provided."""
    wanted = set(names)
    unknown = sorted(wanted - _BY_NAME.keys())
    if unknown:
        raise UnknownRequest(f"no such program: {', '.join(unknown)}. There are: {', '.join(_BY_NAME)}.")
    return [program for program in _ALL if program.name in wanted]
