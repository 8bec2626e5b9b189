"""The steps, and the script among them: it is run here with stand-ins for the programs that would change a system."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from nagaya.bootstrap.installation import FromImage, FromPackages, steps
from nagaya.bootstrap.installation.steps import SCRIPT, script
from nagaya.bootstrap.refusal import Refused
from nagaya.bootstrap.yaml_text import TEMPLATE_TAG

CHANGING = ("apt-get", "apt-mark", "curl", "modprobe", "sysctl", "swapoff", "systemctl", "chmod", "install")
CONFIGURATION = '    SystemdCgroup = false\n    bin_dir = "/usr/lib/cni"\n'
FSTAB = """\
UUID=1 / ext4 defaults 0 1
/swap.img none swap sw 0 0
# /old none swap sw 0 0
UUID=2	none	swap	sw	0	0
UUID=3 /swap ext4 defaults 0 2
"""


def test_an_image_that_has_everything_needs_nothing() -> None:
    assert steps(FromImage(), "v1.36.3", "cloud-config") == steps(FromImage(), "anything", "ignition")
    assert not steps(FromImage(), "v1.36.3", "cloud-config").commands


def test_the_exact_version_is_asked_for_word_by_word() -> None:
    found = steps(FromPackages("https://mirror.test/k8s"), "v1.36.3", "cloud-config")
    assert found.commands == ((SCRIPT, "1.36.3", "https://mirror.test/k8s"),)
    assert SCRIPT in {each.path for each in found.files}


@pytest.mark.parametrize("version", ["v1.36.3-rc.1", "v1.36.3+vendor.1", "v1.36", "", "v1.36.3; reboot"])
def test_only_releases_have_packages(version: str) -> None:
    with pytest.raises(Refused, match=r"spec\.version: there are packages of releases only"):
        steps(FromPackages(), version, "cloud-config")


def test_systems_without_packages_are_refused() -> None:
    with pytest.raises(Refused, match=r"have no packages to install\. Use an image"):
        steps(FromPackages(), "v1.36.3", "ignition")


def test_the_script_is_no_template_and_readable() -> None:
    assert not TEMPLATE_TAG.search(script().decode())
    assert script().startswith(b"#!/bin/sh\n")


class System:
    """A folder that stands for the root of a machine, and programs that only say that they were called."""

    def __init__(self, root: Path, containerd: str = "containerd github.com/containerd/containerd v1.7.24 abc") -> None:
        self.root = root
        self.calls = root / "calls"
        self.calls.touch()
        for folder in ("etc/apt/sources.list.d", "etc/apt/keyrings", "etc/containerd", "etc/yum.repos.d", "bin"):
            (root / folder).mkdir(parents=True)
        (root / "etc/fstab").write_text(FSTAB)
        for name in CHANGING:
            self.program(name, "exit 0")
        self.program("sleep", "exit 0")
        self.program(
            "containerd", f"[ \"$1\" = --version ] && echo '{containerd}' && exit\nprintf '%s' '{CONFIGURATION}'"
        )
        for name in ("sed", "mv", "cat"):
            (root / "bin" / name).symlink_to(str(shutil.which(name)))

    def program(self, name: str, body: str) -> None:
        """Put a program there that notes its arguments and does what `body` says."""
        path = self.root / "bin" / name
        path.write_text(f'#!/bin/sh\necho "{name} $*" >> {self.calls}\n{body}\n')
        path.chmod(0o755)

    def run(self, version: str = "1.36.3") -> subprocess.CompletedProcess[str]:
        """Run the script, with its paths moved below the root."""
        moved = self.root / "script"
        moved.write_text(script().decode().replace(" /etc/", f" {self.root}/etc/"))
        return subprocess.run(
            ["/bin/sh", moved, version, "https://mirror.test"],
            env={**os.environ, "PATH": str(self.root / "bin")},
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    def called(self, program: str) -> list[str]:
        """How a program was called."""
        lines = (line for line in self.calls.read_text().splitlines() if line.startswith(f"{program} "))
        return [line.removeprefix(f"{program} ") for line in lines]

    def file(self, path: str) -> str:
        """What is in a file."""
        return (self.root / path).read_text()


def test_the_script_installs_exactly_one_version_with_apt_and_holds_it(tmp_path: Path) -> None:
    system = System(tmp_path)
    done = system.run()
    assert done.returncode == 0, done.stderr
    installed = [call for call in system.called("apt-get") if "install" in call]
    assert installed[-1].endswith("kubelet=1.36.3-* kubeadm=1.36.3-* kubectl=1.36.3-*")
    assert system.called("apt-mark") == ["hold kubelet kubeadm kubectl"]
    assert system.called("curl")[0].endswith(" https://mirror.test/core:/stable:/v1.36/deb/Release.key")
    assert "https://mirror.test/core:/stable:/v1.36/deb/ /\n" in system.file("etc/apt/sources.list.d/kubernetes.list")
    assert system.file("etc/containerd/config.toml") == '    SystemdCgroup = true\n    bin_dir = "/opt/cni/bin"\n'
    assert system.called("systemctl")[-1] == "restart containerd"


def test_the_script_turns_swap_off_for_good(tmp_path: Path) -> None:
    system = System(tmp_path)
    assert system.run().returncode == 0
    assert system.called("swapoff") == ["-a"]
    assert "mask swap.target" in system.called("systemctl")
    assert system.file("etc/fstab").splitlines() == [
        "UUID=1 / ext4 defaults 0 1",
        "# /swap.img none swap sw 0 0",
        "# /old none swap sw 0 0",
        "# UUID=2	none	swap	sw	0	0",
        "UUID=3 /swap ext4 defaults 0 2",
    ]


def test_running_the_script_again_changes_nothing(tmp_path: Path) -> None:
    system = System(tmp_path)
    system.run()
    paths = ("etc/fstab", "etc/containerd/config.toml", "etc/apt/sources.list.d/kubernetes.list")
    before = [system.file(path) for path in paths]
    assert system.run().returncode == 0
    assert [system.file(path) for path in paths] == before


def test_a_configuration_of_containerd_that_is_there_stays(tmp_path: Path) -> None:
    system = System(tmp_path)
    (tmp_path / "etc/containerd/config.toml").write_text("mine")
    assert system.run().returncode == 0
    assert system.file("etc/containerd/config.toml") == "mine"


def test_the_script_works_with_dnf_too(tmp_path: Path) -> None:
    system = System(tmp_path)
    for name in ("apt-get", "containerd"):
        (tmp_path / "bin" / name).unlink()
    system.program("dnf", f'[ "$3" = containerd ] && cp {tmp_path}/later {tmp_path}/bin/containerd; exit 0')
    system.program("cp", '/bin/cp "$@"')
    later = tmp_path / "later"
    later.write_text("#!/bin/sh\n[ \"$1\" = --version ] && echo 'containerd x 2.1.0' || echo 'SystemdCgroup = false'\n")
    later.chmod(0o755)
    done = system.run()
    assert done.returncode == 0, done.stderr
    assert system.called("dnf")[-1].endswith("kubelet-1.36.3 kubeadm-1.36.3 kubectl-1.36.3")
    repository = system.file("etc/yum.repos.d/kubernetes.repo")
    assert "baseurl=https://mirror.test/core:/stable:/v1.36/rpm/\n" in repository
    assert "gpgcheck=1\n" in repository


def test_a_runtime_that_is_too_old_is_told_before_kubeadm_runs(tmp_path: Path) -> None:
    system = System(tmp_path)
    assert system.run("1.36.9").returncode == 0
    done = system.run("1.37.0")
    assert done.returncode == 1
    assert "Kubernetes 1.37.0 needs containerd 2 and this system has containerd 1" in done.stderr


def test_a_passing_fault_is_tried_again_and_a_lasting_one_ends_it(tmp_path: Path) -> None:
    system = System(tmp_path)
    system.program("curl", f"[ $(/usr/bin/grep -c ^curl {system.calls}) -ge 3 ]")
    assert system.run().returncode == 0
    system.program("curl", "exit 22")
    done = system.run()
    assert done.returncode == 1
    assert "gave up: curl" in done.stderr


def test_a_system_without_packages_is_told_what_to_do(tmp_path: Path) -> None:
    system = System(tmp_path)
    (tmp_path / "bin/apt-get").unlink()
    done = system.run()
    assert done.returncode == 1
    assert "neither apt-get nor dnf. Use an image" in done.stderr
