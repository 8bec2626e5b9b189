"""The Go modules that Nagaya pins: for each version a `go.mod` and `go.sum` that fix every dependency.

A Kubernetes version alone does not say what is built: its own `go.mod` points at folders of its repository
(`k8s.io/api => ./staging/...`) that do not exist for someone who depends on it. Ours replaces each of them by the
published module of the same release, and its `go.sum` holds the checksum of everything that is compiled. They are made
once per version (docs/kubernetes-binaries.md says how) and shipped as data.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from nagaya.binaries.programs import Product

_FILES = ("go.mod", "go.sum", "tools.go")

# When each version was tagged. It is stamped as the build date, so that one version gives the same bytes every time.
_TAGGED: dict[tuple[Product, str], str] = {
    ("kubernetes", "v1.35.4"): "2026-04-15T18:01:22Z",
    ("kubernetes", "v1.36.3"): "2026-07-22T18:07:38Z",
    ("kubernetes", "v1.37.1"): "2026-09-23T17:06:22Z",
    ("etcd", "v3.7.3"): "2026-10-22T23:01:34Z",
    ("cluster-api", "v1.14.0"): "2026-07-30T16:27:41Z",
    ("kine", "v0.14.10"): "2026-01-07T19:49:59Z",
    ("konnectivity", "v0.36.0"): "2026-06-03T18:20:49Z",
}


@dataclass(frozen=True, slots=True)
class PinnedModule:
    """One version whose whole dependency graph is fixed."""

    product: Product
    version: str
    tagged: str

    @property
    def _data(self) -> Traversable:
        return resources.files("nagaya.binaries").joinpath("modules", f"{self.product}-{self.version}")

    def write_to(self, folder: Path) -> None:
        """Put the module where Go can work with it; the package itself may be read-only."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in _FILES:
            (folder / name).write_bytes(self._data.joinpath(name).read_bytes())

    @property
    def go(self) -> str:
        """The oldest Go that can build it, such as `1.26`."""
        match = re.search(r"^go (\d+\.\d+)", self._data.joinpath("go.mod").read_text(), re.MULTILINE)
        assert match is not None, f"{self.product}-{self.version}/go.mod has no go line"
        return match[1]

    @property
    def required(self) -> frozenset[str]:
        """The modules that it names. Go compiles packages of others along, but not on their own."""
        text = self._data.joinpath("go.mod").read_text()
        return frozenset(re.findall(r"^(?:require )?\s*(\S+) v\S+(?: // indirect)?$", text, re.MULTILINE))


def pinned_module(product: Product, version: str) -> PinnedModule | None:
    """The pinned module of this version, if there is one."""
    tagged = _TAGGED.get((product, version))
    return None if tagged is None else PinnedModule(product, version, tagged)


def pinned_versions(product: Product) -> list[str]:
    """The versions that can be built here."""
    return [version for known, version in _TAGGED if known == product]
