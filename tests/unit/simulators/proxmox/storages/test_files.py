from __future__ import annotations

import io
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.simulators.proxmox.failure import Failure, ParameterFailure
from nagaya.simulators.proxmox.state.storage import Storage
from nagaya.simulators.proxmox.storages.files import brought, examine, folder, virtual_size
from nagaya.simulators.proxmox.tasks.runner import Silence


@given(st.text())
def test_a_name_keeps_nothing_that_leads_elsewhere(name: str) -> None:
    kept = brought("iso", f"{name}a.iso").name
    assert kept.endswith("a.iso")
    assert not set(kept) & set("/\\ \n:;'\"$")


@pytest.mark.parametrize(
    ("content", "name", "refusal"),
    [
        ("iso", "a.exe", "wrong file extension"),
        ("iso", ".iso", "wrong file extension"),
        ("vztmpl", "a.zip", "wrong file extension"),
        ("import", "a.iso", "invalid filename or wrong extension"),
    ],
)
def test_an_extension_that_does_not_fit_is_refused(content: str, name: str, refusal: str) -> None:
    with pytest.raises(ParameterFailure) as refused:
        brought(content, name)
    assert refused.value.errors == {"filename": refusal}


def test_formats_are_listed_as_pve_names_them() -> None:
    assert brought("vztmpl", "debian.tar.zst").format == "tzst"
    assert brought("iso", "a.img").format == "iso"
    assert brought("import", "a.qcow2").format == "qcow2"


def test_an_image_that_is_none_is_refused() -> None:
    file = brought("import", "a.qcow2")
    with pytest.raises(Failure, match="Image is not in qcow2 format"):
        examine(file, "/x", b"not an image", Silence())
    examine(file, "/x", b"QFI\xfb and more", Silence())
    examine(file, "/x", None, Silence())


def test_the_size_of_the_disk_stands_in_the_image() -> None:
    header = b"QFI\xfb".ljust(24, b"\0") + (5 << 30).to_bytes(8, "big")
    assert virtual_size(brought("import", "a.qcow2"), header, len(header)) == 5 << 30
    assert virtual_size(brought("import", "a.raw"), header, len(header)) == len(header)


def _archive(name: str) -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        archive.addfile(tarfile.TarInfo(name))
    return held.getvalue()


def test_an_archive_must_describe_a_machine() -> None:
    file = brought("import", "a.ova")
    examine(file, "/x", _archive("a.ovf"), Silence())
    with pytest.raises(Failure, match=r"ova archive has no \.ovf file inside"):
        examine(file, "/x", _archive("a.vmdk"), Silence())
    with pytest.raises(Failure, match="failed: exit code 2"):
        examine(file, "/x", b"nothing of the kind", Silence())


def test_folders_can_be_elsewhere() -> None:
    storage = Storage("a", "dir", {"path": "/srv", "content-dirs": "iso=discs,import=in"})
    assert folder(storage, "iso") == "/srv/discs"
    assert folder(storage, "vztmpl") == "/srv/template/cache"
