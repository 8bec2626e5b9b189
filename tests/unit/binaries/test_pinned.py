from __future__ import annotations

import re
from importlib import resources
from pathlib import Path
from typing import get_args

import pytest

from nagaya.binaries.pinned import PinnedModule, pinned_module, pinned_versions
from nagaya.binaries.programs import EXTRAS, STANDARD, Product, programs_named
from nagaya.binaries.releases import (
    CLUSTER_API_VERSION,
    DEFAULT_VERSION,
    ETCD_VERSION,
    KINE_VERSION,
    KONNECTIVITY_VERSION,
)

PRODUCTS: tuple[Product, ...] = get_args(Product)
PINNED: list[tuple[Product, str]] = [(product, version) for product in PRODUCTS for version in pinned_versions(product)]
MAIN_MODULES: dict[Product, tuple[str, ...]] = {
    "kubernetes": ("k8s.io/kubernetes",),
    "etcd": ("go.etcd.io/etcd/server/v3",),
    "cluster-api": ("sigs.k8s.io/cluster-api", "sigs.k8s.io/cluster-api/test", "sigs.k8s.io/cluster-api/api"),
    "kine": ("github.com/k3s-io/kine",),
    "konnectivity": ("sigs.k8s.io/apiserver-network-proxy",),
}


@pytest.fixture(params=PINNED, ids=lambda pin: "-".join(pin))
def module(request: pytest.FixtureRequest) -> PinnedModule:
    found = pinned_module(*request.param)
    assert found is not None
    return found


@pytest.fixture
def folder(module: PinnedModule, tmp_path: Path) -> Path:
    module.write_to(tmp_path / "module")
    return tmp_path / "module"


def requirements(folder: Path) -> dict[str, str]:
    """Every module that the build may use and its version, replacements applied."""
    text = (folder / "go.mod").read_text()
    required = dict(re.findall(r"^(?:require|\t)\s*(\S+) (v\S+)", text, re.MULTILINE))
    return required | dict(re.findall(r"^\t(\S+) => \S+ (v\S+)", text, re.MULTILINE))


def test_the_default_versions_are_pinned() -> None:
    assert DEFAULT_VERSION in pinned_versions("kubernetes")
    assert pinned_versions("etcd") == [ETCD_VERSION]
    assert pinned_versions("cluster-api") == [CLUSTER_API_VERSION]
    assert pinned_versions("kine") == [KINE_VERSION]
    assert pinned_versions("konnectivity") == [KONNECTIVITY_VERSION]


def test_every_shipped_module_is_known_and_every_known_one_is_shipped() -> None:
    shipped = {folder.name for folder in resources.files("nagaya.binaries").joinpath("modules").iterdir()}
    assert shipped == {f"{product}-{version}" for product, version in PINNED}


def test_it_requires_exactly_its_own_version(module: PinnedModule, folder: Path) -> None:
    required = requirements(folder)
    assert {required[name] for name in MAIN_MODULES[module.product]} == {module.version}


def test_each_part_of_kubernetes_is_replaced_by_the_one_of_the_same_release(module: PinnedModule, folder: Path) -> None:
    text = (folder / "go.mod").read_text()
    assert "=> ./" not in text
    replaced = dict(re.findall(r"^\t(k8s\.io/\S+) => \1 (v\S+)", text, re.MULTILINE))
    if module.product == "kubernetes":
        assert len(replaced) > 30
        assert set(replaced.values()) == {module.version.replace("v1.", "v0.")}
    else:
        assert not replaced


def test_everything_it_requires_has_a_checksum(folder: Path) -> None:
    sums = {tuple(line.split()[:2]) for line in (folder / "go.sum").read_text().splitlines()}
    without = {pin for pin in requirements(folder).items() if (pin[0], f"{pin[1]}/go.mod") not in sums}
    # Replacements that nothing imports are never fetched.
    unused = {"code-generator", "sample-cli-plugin", "sample-controller"}
    assert {name.removeprefix("k8s.io/") for name, _ in without} <= unused


def test_all_programs_of_the_product_are_imported_so_that_tidying_keeps_what_they_need(
    module: PinnedModule, folder: Path
) -> None:
    names = [*STANDARD, *(name for extra in EXTRAS.values() for name in extra)]
    wanted = {program.package for program in programs_named(names) if program.product == module.product}
    assert set(re.findall(r'_ "(\S+)"', (folder / "tools.go").read_text())) == wanted


def test_it_tells_which_go_it_needs(module: PinnedModule) -> None:
    assert re.fullmatch(r"1\.2[5-9]", module.go)


def test_other_versions_are_not_pinned() -> None:
    assert pinned_module("kubernetes", "v1.0.0") is None
