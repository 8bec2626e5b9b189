"""Provides programs: looks where they may be, asks the sources in order, and puts what they give into the cache.

The common case is that everything is there: it costs a few `stat` calls, no lock and no network. Otherwise one
process does the work while others wait, and each looks again once it holds the lock, because the one before may have
done it all. A source is asked for whatever is still missing of all products, so that it knows what it is going to be
asked for; what one source has given stays when it fails later.
"""

from __future__ import annotations

import math
import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from nagaya.binaries.cache import Record, Shelf, cache_folder, writing
from nagaya.binaries.errors import Attempt, BinariesUnavailable, SourceFailed
from nagaya.binaries.gobuild import C_COMPILER_HELP, NEEDS_C, GoBuild
from nagaya.binaries.lock import exclusive
from nagaya.binaries.official import OfficialReleases
from nagaya.binaries.pinned import pinned_module
from nagaya.binaries.programs import STANDARD, Product, Program, programs_named
from nagaya.binaries.progress import Reporter, Silent
from nagaya.binaries.provided import VARIABLE, provided_programs
from nagaya.binaries.releases import DEFAULT_VERSION, Platform, Release
from nagaya.binaries.source import Source, Workplace
from nagaya.binaries.version_check import expect_version
from nagaya.world import World

_PRODUCTS: tuple[Product, ...] = ("etcd", "kubernetes", "kine", "konnectivity", "cluster-api")

_PATIENCE_WITHOUT_BUILDING = 5.0
"""Seconds to wait for another process: long enough for a small download, and a build is not waited for."""

# The others have none: `official.py` says why.
_SITES: dict[Product, str] = {"etcd": "https://github.com (etcd's releases)", "kubernetes": "https://dl.k8s.io"}


@dataclass(frozen=True, slots=True)
class Binary:
    """A program that can be run."""

    name: str
    version: str
    path: Path
    source: str
    """Where it came from, in words."""


@dataclass(frozen=True, slots=True)
class Binaries:
    """The programs of one release."""

    release: Release
    programs: Mapping[str, Binary]

    def path(self, name: str) -> Path:
        """Where a program is; asking for one that was not asked of the installer is a mistake of the caller."""
        return self.programs[name].path


class Installer:
    """Provides the programs of Kubernetes, etcd, kine, Konnectivity and Cluster API on this machine."""

    def __init__(
        self,
        *,
        environment: Mapping[str, str] | None = None,
        reporter: Reporter | None = None,
        world: World | None = None,
        platform: Platform | None = None,
        sources: Sequence[Source] | None = None,
        build: bool = True,
    ) -> None:
        """Without `build` nothing is compiled: what cannot be downloaded is unavailable, and another process that
        builds is not waited for."""
        self._environment = dict(os.environ if environment is None else environment)
        self._reporter = reporter or Silent()
        self._clock = (world or World()).clock
        self._platform = platform or Platform.here()
        self._cache = cache_folder(self._environment)
        self._build = build
        self._sources: Sequence[Source] = sources or (
            OfficialReleases(self._platform, self._reporter),
            *([GoBuild(self._platform, self._reporter, self._environment)] if build else []),
        )

    def ensure(
        self, version: str = DEFAULT_VERSION, programs: Iterable[str] = STANDARD, *, thorough: bool = False
    ) -> Binaries:
        """Provide the programs, downloading or building what is missing.

        `thorough` hashes what is in the cache instead of trusting its size and date. Raises BinariesError.
        """
        release = Release.parse(version)
        wanted = programs_named(programs)
        found = self._provided(release, wanted)
        absent = [program for program in wanted if program.name not in found]
        if found and absent:
            names = ", ".join(program.name for program in absent)
            self._reporter.say(f"{self._environment[VARIABLE]} has no {names}: looking elsewhere.")
        if not thorough:
            found |= self._at_hand(release, absent)
        missing = [program for program in wanted if program.name not in found]
        if missing:
            found |= self._install(release, missing)
        return Binaries(release, {program.name: found[program.name] for program in wanted})

    def find(self, version: str = DEFAULT_VERSION, programs: Iterable[str] = STANDARD) -> tuple[Binaries, list[str]]:
        """What is there already, and the names of what is not. Takes no lock and touches no network."""
        release = Release.parse(version)
        wanted = programs_named(programs)
        found = self._provided(release, wanted)
        found |= self._at_hand(release, [program for program in wanted if program.name not in found])
        return Binaries(release, found), [program.name for program in wanted if program.name not in found]

    def _provided(self, release: Release, wanted: Sequence[Program]) -> dict[str, Binary]:
        folder = self._environment.get(VARIABLE)
        if not folder:
            return {}
        found = provided_programs(Path(folder).absolute(), release, wanted)
        return {name: Binary(name, told, path, f"the folder in {VARIABLE}") for name, (path, told) in found.items()}

    def _at_hand(self, release: Release, wanted: Sequence[Program]) -> dict[str, Binary]:
        found = {}
        for program in wanted:
            record = self._shelf(release, program.product).untouched(program.name)
            if record is not None:
                found[program.name] = self._binary(release, program, record)
        return found

    def _shelf(self, release: Release, product: Product) -> Shelf:
        return Shelf.of(self._cache, product, release.of(product), self._platform)

    def _binary(self, release: Release, program: Program, record: Record) -> Binary:
        path = self._shelf(release, program.product).path(program.name)
        return Binary(program.name, release.of(program.product), path, record.source)

    def _install(self, release: Release, missing: Sequence[Program]) -> dict[str, Binary]:
        found: dict[str, Binary] = {}
        purpose = f"installing Kubernetes {release.kubernetes}"
        patience = math.inf if self._build else _PATIENCE_WITHOUT_BUILDING
        with exclusive(self._cache / "install.lock", purpose, self._reporter, self._clock, patience) as lock:
            for program in missing:
                record = self._recheck(release, program)
                if record is not None:
                    found[program.name] = self._binary(release, program, record)
            absent = {program.name: program for program in missing if program.name not in found}
            with self._workplace(lock) as work:
                return found | self._obtain(release, absent, work)

    def _recheck(self, release: Release, program: Program) -> Record | None:
        shelf = self._shelf(release, program.product)
        record = shelf.verified(program.name)
        if record is None and shelf.recorded(program.name) is not None and shelf.path(program.name).exists():
            self._reporter.say(f"{shelf.path(program.name)} is not what was recorded: replacing it.")
        return record

    @contextmanager
    def _workplace(self, lock: int) -> Iterator[Workplace]:
        """Folders to work in; unfinished downloads stay when an error leaves it."""
        scratch = self._cache / "scratch"
        downloads = self._cache / "downloads"
        with writing(self._cache):
            # Whoever made what lies here is dead, or we would not hold the lock; a side job of his may still write.
            shutil.rmtree(scratch, ignore_errors=True)
            scratch.mkdir(parents=True, exist_ok=True)
            downloads.mkdir(exist_ok=True)
            staging = Path(tempfile.mkdtemp(dir=scratch))
        try:
            yield Workplace(
                staging=staging,
                downloads=downloads,
                logs=self._cache / "logs",
                build_cache=self._cache / "go-build",
                lock=lock,
            )
            shutil.rmtree(downloads, ignore_errors=True)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
            # Refuses as long as there is something to continue, which is what is wanted.
            with suppress(OSError):
                downloads.rmdir()

    def _obtain(self, release: Release, remaining: dict[str, Program], work: Workplace) -> dict[str, Binary]:
        """Ask one source after the other for all that none before it could give."""
        found: dict[str, Binary] = {}
        attempts: dict[Product, list[Attempt]] = defaultdict(list)
        for source in self._sources:
            planned = _planned(release, remaining)
            for product, version, programs in planned:
                shelf = self._shelf(release, product)
                try:
                    with closing(source.provide(product, version, programs, replace(work, planned=planned))) as stream:
                        for staged in stream:
                            mode = 0o644 if staged.program.is_manifest else 0o755
                            with writing(staged.path):
                                staged.path.chmod(mode)
                            expect_version(staged.program, staged.path, version)
                            date = self._clock.now().isoformat(timespec="seconds")
                            record = shelf.adopt(staged.program.name, staged.path, staged.origin, date, mode=mode)
                            found[staged.program.name] = self._binary(release, staged.program, record)
                            del remaining[staged.program.name]
                except SourceFailed as failure:
                    # It may have other products, and what is installed now is not missing next time.
                    attempts[product].append(Attempt(source.name, str(failure)))
                    self._reporter.say(f"{product} {version}, {source.name}: {failure}")
        unavailable = [
            BinariesUnavailable(
                f"{', '.join(program.name for program in programs)} ({product} {version})",
                attempts[product],
                _remedies(product, version, build=self._build),
            )
            for product, version, programs in _planned(release, remaining)
        ]
        if unavailable:
            raise BinariesUnavailable.combine(unavailable)
        return found


def _planned(release: Release, remaining: Mapping[str, Program]) -> list[tuple[Product, str, Sequence[Program]]]:
    """The programs by product, in the order in which the products are asked for."""
    return [
        (product, release.of(product), [program for program in remaining.values() if program.product == product])
        for product in _PRODUCTS
        if any(program.product == product for program in remaining.values())
    ]


def _remedies(product: Product, version: str, *, build: bool) -> list[str]:
    remedies = []
    if product in _SITES:
        remedies.append(f"give this machine a route to {_SITES[product]}; HTTPS_PROXY is respected")
    module = pinned_module(product, version)
    if module is not None and not build:
        remedies.append("allow a build with Go: leave out --no-build")
    elif module is not None:
        remedies.append(
            f"install Go {module.go} or newer (https://go.dev/doc/install, unpacked into /usr/local/go it is found) "
            "and give it a route to its module proxy (GOPROXY)"
        )
    if product in NEEDS_C and build:
        remedies.append(f"install a C compiler ({C_COMPILER_HELP})")
    remedies.append(f"put the programs into a folder and let {VARIABLE} name it")
    return remedies
