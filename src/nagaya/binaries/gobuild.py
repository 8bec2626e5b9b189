"""Builds the programs with Go from the module proxy, for machines that cannot reach the release sites.

A build is stamped like an official one (kubeadm and kubelet compare versions), with two intended differences: the
commit is empty, because the module proxy does not publish it, and the build date is the date of the tag, so that the
same version yields the same bytes. A build never changes `go.sum` (`-mod=readonly`): nothing that is not pinned is
compiled.

Build time decides the design. All programs of a module come from one `go build`, which compiles each package once and
links one program while it compiles the next. Debug information is left out at compile time and not only when linking.
Compilers collect no garbage below a memory limit, and on a small machine each uses one processor. While one product is
compiled, the modules of the next are downloaded, and its packages are compiled with what is left of the processors
(linkers and large packages use only one). Go's build cache lives in Nagaya's cache: an interrupted build
continues, and a second Kubernetes version compiles only the packages that differ.

A manifest is not compiled but copied out of the same module, checked by the same `go.sum`, into one file.

One product is one activity of the progress report. `go list` reports which packages are missing from the build cache,
and `go build -v` names each package that it compiles; the bar counts them.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path, PurePosixPath

from nagaya.binaries.cache import writing
from nagaya.binaries.child import Child, ChildFailed
from nagaya.binaries.errors import SourceFailed
from nagaya.binaries.pinned import PinnedModule, pinned_module, pinned_versions
from nagaya.binaries.programs import Product, Program
from nagaya.binaries.progress import Activity, Reporter
from nagaya.binaries.releases import Platform, triple
from nagaya.binaries.source import Staged, Workplace

_FLAGS = ("-mod=readonly", "-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false")
"""For `go list` as well as for builds: with other flags Go would report other packages as stale."""
_MOST_MEMORY = 1536
"""MiB. Compilers are short-lived and collect garbage for nothing: without that a build takes a sixth less time. Few
packages reach the limit, from which on the compiler or linker collects after all."""
_LEAST_MEMORY = 512
"""MiB. With a lower limit they would do little else than collect garbage: Go's default is better then."""
_CGROUPS = {"": "sys/fs/cgroup{}/memory.max", "memory": "sys/fs/cgroup/memory{}/memory.limit_in_bytes"}
"""Where the memory limit of a cgroup is, by the controllers in `/proc/self/cgroup`; version 2 names none there."""
_PROCESSORS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
_FEW_PROCESSORS = 2
"""With so few, two compilers with one thread each take 7 % less time than two with two threads each. With more, and
where the user sets GOMAXPROCS, Go decides."""
_USUAL_PLACE = Path("/usr/local/go/bin/go")
_SEPARATOR = "---\n"
_STAMPED: dict[Product, tuple[str, ...]] = {
    "kubernetes": ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version"),
    "etcd": (),
    "cluster-api": ("sigs.k8s.io/cluster-api/version",),
    "kine": (),
    "konnectivity": (),
}
"""The packages that hold a product's version as Kubernetes does; etcd's is a constant, Konnectivity has none."""
_STAMPED_ALONE: dict[Product, str] = {"kine": "github.com/k3s-io/kine/pkg/version.Version"}
"""The variable that holds a product's version and nothing else."""
NEEDS_C: dict[Product, dict[str, str]] = {"kine": {"CGO_CFLAGS": "-O2 -DSQLITE_ENABLE_DBSTAT_VTAB=1"}}
"""What is partly C, and the settings of its compiler. kine brings SQLite; without its table of sizes kine cannot tell
the size of the database, and a kube-apiserver's watch lists fail."""
C_COMPILER_HELP = "Debian: apt install gcc libc6-dev"
_STALE = "{{if .Stale}}{{.Name}} {{.ImportPath}} {{with .Module}}{{.Path}}{{end}}{{end}}"


@dataclass(slots=True)
class GoBuild:
    """Compiles what the pinned modules fix."""

    platform: Platform
    reporter: Reporter
    environment: Mapping[str, str]
    usual_place: Path = _USUAL_PLACE
    machine: Path = Path("/")
    name: str = "Go module proxy"

    def provide(
        self, product: Product, version: str, programs: Sequence[Program], work: Workplace
    ) -> Generator[Staged, None, None]:
        """Build the programs of one product; each is yielded as soon as its `go build` has ended."""
        module = pinned_module(product, version)
        if module is None:
            known = ", ".join(pinned_versions(product))
            raise SourceFailed(f"{product} {version} is not among the versions that are pinned for building ({known})")
        go = self._go()
        if product in NEEDS_C:
            self._expect_c_compiler(product)
        environment = self._go_environment(product, work)
        folder = work.staging / f"module-{product}"
        module.write_to(folder)
        build = _Build(go, module, folder, environment, work)
        toolchain = build.toolchain()
        with self.reporter.activity(f"Building {product} {version} with {toolchain}", "packages") as activity:
            build.survey(programs, activity)
            for program in programs:
                if program.is_manifest:
                    origin = f"copied from {program.package}@{version}"
                    yield Staged(program, build.copy_manifest(program), origin)
            with self._preparing_next(product, go, work):
                for program, path in build.compile(programs, activity):
                    yield Staged(program, path, f"built by {toolchain} from {program.package}@{version}")

    @contextmanager
    def _preparing_next(self, product: Product, go: str, work: Workplace) -> Iterator[None]:
        """Download the modules of the next product and begin to compile its packages meanwhile, at low priority. If
        that fails, its own turn tells why."""
        following = next((after for (this, *_), after in pairwise(work.planned) if this == product), None)
        module = pinned_module(*following[:2]) if following else None
        if following is None or module is None:
            yield
            return
        folder = work.staging / f"next-{following[0]}"
        module.write_to(folder)
        packages = [program.package for program in following[2] if not program.is_test_binary]
        environment = {**self._go_environment(following[0], work), "GOMAXPROCS": "1"}
        # Like a build, but without linking.
        command = [go, "list", "-export", "-p=1", *_FLAGS, "-deps", *packages]
        with Child(command, folder, environment, work.lock).run_beside():
            yield

    def _go(self) -> str:
        found = shutil.which("go", path=self.environment.get("PATH", os.defpath))
        if found is None and os.access(self.usual_place, os.X_OK):
            found = os.fspath(self.usual_place)
        if found is None:
            raise SourceFailed("Go is not installed: no `go` in PATH")
        return found

    def _go_environment(self, product: Product, work: Workplace) -> dict[str, str]:
        """The user's settings for proxies stay; what would change the result or look outside our module goes."""
        compiler = {"CGO_ENABLED": "1", **NEEDS_C[product]} if product in NEEDS_C else {"CGO_ENABLED": "0"}
        one_thread = _PROCESSORS <= _FEW_PROCESSORS and "GOMAXPROCS" not in self.environment
        return {
            **self._memory(),
            **({"GOMAXPROCS": "1"} if one_thread else {}),
            **self.environment,
            **compiler,
            "GOOS": self.platform.system,
            "GOARCH": self.platform.architecture,
            "GOFLAGS": f"-p={_PROCESSORS}" if one_thread else "",
            "GOWORK": "off",
            "GOCACHE": os.fspath(work.build_cache),
            "GOTMPDIR": os.fspath(work.staging),
        }

    def _memory(self) -> dict[str, str]:
        """The memory of each compiler or linker: every processor may have one, the next product one more, and a quarter
        of what is available is left to others."""
        amounts = [int(kib) << 10 for kib in re.findall(r"MemAvailable:\s+(\d+)", self._read("proc/meminfo"))]
        for line in self._read("proc/self/cgroup").splitlines():
            _, controllers, path = line.split(":", 2)
            # A group above may have the lowest limit; in a container only the root may be there.
            for group in (PurePosixPath(path), *PurePosixPath(path).parents) if controllers in _CGROUPS else ():
                amounts += map(int, re.findall(r"^\d+$", self._read(_CGROUPS[controllers].format(group)), re.MULTILINE))
        limit = min([_MOST_MEMORY, *((amount * 3 // 4 // (_PROCESSORS + 1)) >> 20 for amount in amounts)])
        return {"GOGC": "off", "GOMEMLIMIT": f"{limit}MiB"} if limit >= _LEAST_MEMORY else {}

    def _read(self, path: str) -> str:
        try:
            return (self.machine / path).read_text(errors="replace")
        except OSError:
            return ""

    def _expect_c_compiler(self, product: Product) -> None:
        """Said before the modules are fetched, and in plainer words than Go's."""
        compiler = (self.environment.get("CC") or "gcc").split()[0]
        if shutil.which(compiler, path=self.environment.get("PATH", os.defpath)) is None:
            raise SourceFailed(f"{product} is partly C, and there is no {compiler} in PATH ({C_COMPILER_HELP})")


@dataclass(slots=True)
class _Build:
    """One module being built."""

    go: str
    module: PinnedModule
    folder: Path
    environment: Mapping[str, str]
    work: Workplace
    _stale: set[str] = field(default_factory=set)
    _stale_for_tests: list[str] = field(default_factory=list)
    _compiled: int = 0

    def toolchain(self) -> str:
        """The name of the Go that will build, such as `go1.26.8`; an old one may fetch a newer one for itself."""
        try:
            return self._run("env", "GOVERSION").strip() or "go"
        except ChildFailed as failure:
            raise SourceFailed(f"{self.go} cannot build it: {failure.last_line}") from failure

    def survey(self, programs: Sequence[Program], activity: Activity) -> None:
        """Find out what is to be compiled; modules that are missing are downloaded on the way."""
        activity.note("fetching modules")
        plain = [program.package for program in programs if not (program.is_test_binary or program.is_manifest)]
        tests = [program.package for program in programs if program.is_test_binary]
        if plain:
            self._stale.update(self._stale_of(plain, activity))
        if tests:
            # Variants that exist for the test alone are made when it is linked, and cannot be named.
            stale = self._stale_of(["-test", *tests], activity)
            self._stale_for_tests = [path for path in stale if not path.endswith((".test", "]"))]
            self._stale.update(self._stale_for_tests)
        activity.total(len(self._stale))

    def _stale_of(self, packages: Sequence[str], activity: Activity) -> list[str]:
        """Packages that can be built by their names."""
        listed = self._run("list", *_FLAGS, "-deps", "-f", _STALE, *packages, activity=activity)
        rows = (line.rsplit(" ", 1) for line in listed.splitlines() if " " in line)
        required = self.module.required
        names = (name.split(" ", 1) for name, module in rows if not module or module in required)
        return [path for kind, path in names if kind != "main"]

    def compile(self, programs: Sequence[Program], activity: Activity) -> Iterator[tuple[Program, Path]]:
        """Compile and link the programs, with as few runs of Go as their names allow."""
        for batch in _batches([program for program in programs if not program.is_manifest]):
            folder = Path(tempfile.mkdtemp(dir=self.work.staging))
            activity.note(", ".join(program.name for program in batch))
            flags = [*_FLAGS, f"-ldflags={self._stamps()}", "-o", f"{folder}{os.sep}"]
            packages = [program.package for program in batch]
            if batch[0].is_test_binary:
                # `go test -c` does not name the packages that it compiles: compile them first, where they are counted.
                if self._stale_for_tests:
                    self._run("build", "-v", *_FLAGS, *self._stale_for_tests, activity=activity)
                activity.note(f"{batch[0].name}: linking")
                self._run("test", "-c", *flags, *packages, activity=activity)
            else:
                self._run("build", "-v", *flags, *packages, activity=activity)
            for program in batch:
                path = folder / _file_name(program)
                if not path.is_file():
                    raise SourceFailed(f"`go build` succeeded, but {program.package} is not among its results")
                yield program, path

    def copy_manifest(self, program: Program) -> Path:
        """Put the files of a manifest into one file whose first line states the version."""
        target = self.work.staging / program.name
        folder = Path(self._run("list", *_FLAGS, "-f", "{{.Dir}}", program.package).strip())
        documents = [f"# {program.package} {self.module.version}\n"]
        for pattern in program.manifests:
            files = sorted(folder.glob(pattern))
            if not files:
                raise SourceFailed(f"{program.package}@{self.module.version} has no {pattern}")
            documents += [f"{_SEPARATOR}{file.read_text().removeprefix(_SEPARATOR).rstrip()}\n" for file in files]
        with writing(target):
            target.write_text("".join(documents))
        return target

    def _stamps(self) -> str:
        alone = _STAMPED_ALONE.get(self.module.product)
        if alone is not None:
            return f"-s -w -X {alone}={self.module.version}"
        packages = _STAMPED[self.module.product]
        if not packages:
            return "-s -w"
        major, minor, _ = triple(self.module.version)
        stamps = {
            "gitVersion": self.module.version,
            "gitMajor": str(major),
            "gitMinor": str(minor),
            "gitTreeState": "clean",
            "gitCommit": "",
            "buildDate": self.module.tagged,
        }
        return "-s -w " + " ".join(
            f"-X {package}.{name}={value}" for package in packages for name, value in stamps.items()
        )

    def _run(self, *arguments: str, activity: Activity | None = None) -> str:
        child = Child([self.go, *arguments], self.folder, self.environment, self.work.lock)

        def heard(line: str) -> None:
            if activity is None:
                return
            if line.startswith("go: downloading "):
                activity.note(line.removeprefix("go: "))
            elif line in self._stale:
                self._stale.discard(line)
                self._compiled += 1
                activity.reached(self._compiled)
                if not self._stale:
                    activity.note("linking")

        try:
            return child.run(heard, tick=activity.tick if activity else None)
        except ChildFailed as failure:
            if arguments[0] == "env":
                raise
            raise SourceFailed(f"`go {arguments[0]}` failed: {failure.last_line}{self._keep(failure)}") from failure

    def _keep(self, failure: ChildFailed) -> str:
        log = self.work.logs / f"{self.module.product}-{self.module.version}-build.log"
        with writing(log):
            log.parent.mkdir(exist_ok=True)
            log.write_text(f"{failure}\n{failure.words}\n")
        return f" (all of it: {log})"


def _file_name(program: Program) -> str:
    """The name that Go gives to the result: the last element of the package's path, without a major version."""
    if program.is_test_binary:
        return f"{PurePosixPath(program.package).name}.test"
    *_, parent, last = program.package.split("/")
    return parent if re.fullmatch(r"v\d+", last) else last


def _batches(programs: Sequence[Program]) -> list[list[Program]]:
    """Split the programs so that no two in a batch get the same file name; each test binary is a batch of its own."""
    batches: list[list[Program]] = []
    for program in programs:
        for batch in batches:
            if not program.is_test_binary and _file_name(program) not in map(_file_name, batch):
                batch.append(program)
                break
        else:
            batches.append([program])
    return sorted(batches, key=lambda batch: batch[0].is_test_binary)
