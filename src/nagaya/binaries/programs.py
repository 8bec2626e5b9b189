"""The programs by name: which product each belongs to, where its source is, how it tells its version."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from nagaya.binaries.errors import UnknownRequest

Product = Literal["kubernetes", "etcd"]


@dataclass(frozen=True, slots=True)
class Program:
    """One executable of one product."""

    name: str
    product: Product
    package: str
    """The Go package that it is built from."""
    version_arguments: tuple[str, ...] = ("--version",)
    is_test_binary: bool = False
    """Made by `go test -c`, and published inside an archive of its own."""


def _kubernetes(name: str, *version_arguments: str) -> Program:
    return Program(name, "kubernetes", f"k8s.io/kubernetes/cmd/{name}", version_arguments or ("--version",))


ETCD = Program("etcd", "etcd", "go.etcd.io/etcd/server/v3")
E2E = Program("e2e.test", "kubernetes", "k8s.io/kubernetes/test/e2e", is_test_binary=True)

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
)
_BY_NAME = {program.name: program for program in _ALL}

STANDARD: tuple[str, ...] = tuple(program.name for program in _ALL if not program.is_test_binary)
"""What a control plane and its nodes are made of."""

EXTRAS: dict[str, tuple[str, ...]] = {"e2e": (E2E.name,)}
"""What is provided on request only, by the word that asks for it."""


def programs_named(names: Iterable[str]) -> list[Program]:
    """The programs of these names, each once, in the order in which they are best provided."""
    wanted = set(names)
    unknown = sorted(wanted - _BY_NAME.keys())
    if unknown:
        raise UnknownRequest(f"no such program: {', '.join(unknown)}. There are: {', '.join(_BY_NAME)}.")
    return [program for program in _ALL if program.name in wanted]
