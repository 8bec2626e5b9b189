"""The release sites of Kubernetes and etcd, and what they publish under which name.

Each file comes with a checksum that the project publishes; one that does not match is never used. The checksum is
asked for first: it is small, so a site that cannot be reached is known as such before anything big is begun.
"""

from __future__ import annotations

import shutil
import tarfile
import zlib
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nagaya.binaries.cache import writing
from nagaya.binaries.download import Digest, Downloader
from nagaya.binaries.errors import SourceFailed
from nagaya.binaries.programs import Product, Program
from nagaya.binaries.progress import Reporter
from nagaya.binaries.releases import Platform
from nagaya.binaries.source import Staged, Workplace

KUBERNETES_SITE = "https://dl.k8s.io/release"
ETCD_SITE = "https://github.com/etcd-io/etcd/releases/download"

_PUBLISHED = frozenset({"amd64", "arm64", "ppc64le", "s390x"})

_ELSEWHERE: dict[Product, str] = {
    "cluster-api": "Cluster API's managers are published as container images only",
    "kine": "kine is built with options of its own, which its releases need not have",
    "konnectivity": "Konnectivity is published as container images only",
}
"""What is not taken from a release site, and why."""


@dataclass(frozen=True, slots=True)
class _Publication:
    """Where a program is published: an address, and the member's name if that is an archive."""

    url: str
    checksum_url: str
    member: str | None = None


@dataclass(slots=True)
class OfficialReleases:
    """Downloads what the projects themselves have built."""

    platform: Platform
    reporter: Reporter
    kubernetes_site: str = KUBERNETES_SITE
    etcd_site: str = ETCD_SITE
    downloader: Downloader = field(default_factory=Downloader)
    name: str = "official release site"

    def provide(
        self, product: Product, version: str, programs: Sequence[Program], work: Workplace
    ) -> Generator[Staged, None, None]:
        """One program after the other; SourceFailed at the first that cannot be had."""
        if self.platform.system != "linux" or self.platform.architecture not in _PUBLISHED:
            raise SourceFailed(f"nothing is published for {self.platform}")
        if product in _ELSEWHERE:
            raise SourceFailed(_ELSEWHERE[product])
        for program in programs:
            publication = self._publication(program, version)
            digest = self._digest(publication)
            with self.reporter.activity(f"Downloading {program.name} {version}", "bytes") as activity:
                file = self.downloader.file(publication.url, work.downloads, digest, activity)
            try:
                yield Staged(program, self._unpacked(file, publication, work), publication.url)
            finally:
                file.unlink(missing_ok=True)

    def _publication(self, program: Program, version: str) -> _Publication:
        platform = self.platform
        if program.product == "etcd":
            archive = f"etcd-{version}-{platform}"
            base = f"{self.etcd_site}/{version}"
            return _Publication(f"{base}/{archive}.tar.gz", f"{base}/SHA256SUMS", f"{archive}/etcd")
        base = f"{self.kubernetes_site}/{version}"
        if program.is_test_binary:
            url = f"{base}/kubernetes-test-{platform}.tar.gz"
            return _Publication(url, f"{url}.sha256", f"kubernetes/test/bin/{program.name}")
        url = f"{base}/bin/{platform.system}/{platform.architecture}/{program.name}"
        return _Publication(url, f"{url}.sha256")

    def _digest(self, publication: _Publication) -> Digest:
        """The checksum, from a file that holds nothing else or from a list with one `checksum  name` per line."""
        text = self.downloader.text(publication.checksum_url)
        name = publication.url.rpartition("/")[2]
        for line in text.splitlines():
            match line.split():
                case [value] if len(text.split()) == 1:
                    return Digest.parse(value)
                case [value, named] if named.lstrip("*") == name:
                    return Digest.parse(value)
        raise SourceFailed(f"{publication.checksum_url} has no checksum for {name}")

    def _unpacked(self, file: Path, publication: _Publication, work: Workplace) -> Path:
        if publication.member is None:
            return file
        target = work.staging / publication.member.rpartition("/")[2]
        try:
            with tarfile.open(file) as archive:
                inside = archive.extractfile(publication.member)
                if inside is None:
                    raise SourceFailed(f"{publication.member} in {publication.url} is not a file")
                with writing(target), inside, target.open("wb") as out:
                    shutil.copyfileobj(inside, out, 1 << 20)
        except KeyError as error:
            raise SourceFailed(f"{publication.url} holds no {publication.member}") from error
        except (tarfile.TarError, EOFError, zlib.error) as error:
            raise SourceFailed(f"{publication.url} cannot be unpacked: {error}") from error
        return target
