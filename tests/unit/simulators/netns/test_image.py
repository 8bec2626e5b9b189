from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import signal
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from nagaya.simulators.netns.image import PAUSE, image, image_of, pause
from nagaya.simulators.netns.program import ARCHITECTURES, UnknownArchitecture, architecture, program


@pytest.mark.skipif(platform.machine() not in ARCHITECTURES, reason=f"there is no program for {platform.machine()}")
def test_the_program_speaks_waits_and_ends_when_asked_to(tmp_path: Path) -> None:
    file = tmp_path / "program"
    file.write_bytes(program("Here I am.\n", architecture=architecture()))
    file.chmod(0o755)
    with subprocess.Popen([file], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"Here I am.\n"
        os.kill(process.pid, signal.SIGWINCH)
        assert process.poll() is None
        process.terminate()
        assert process.wait(10) == 0


def test_there_is_a_program_for_each_architecture() -> None:
    machines = {name: program(architecture=name)[18] for name in ARCHITECTURES.values()}
    assert machines == {"amd64": 62, "arm64": 183}
    with pytest.raises(ValueError, match="too long"):
        program("x" * 70_000, architecture="arm64")


def test_an_architecture_without_a_program_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "vax")
    with pytest.raises(UnknownArchitecture, match="vax"):
        architecture()


def test_an_image_is_an_oci_layout_whose_digests_are_right() -> None:
    files = contents(image("localhost/example:1", "hello"))
    index = json.loads(files["index.json"])
    (entry,) = index["manifests"]
    assert entry["annotations"]["io.containerd.image.name"] == "localhost/example:1"
    manifest = json.loads(blob(files, entry))
    config = json.loads(blob(files, manifest["config"]))
    (layer,) = manifest["layers"]
    assert config["rootfs"]["diff_ids"] == [layer["digest"]]
    inside = contents(blob(files, layer))
    assert inside == {"program": program("hello", architecture=architecture())}


def test_equal_images_are_equal_archives() -> None:
    assert pause() == image(PAUSE) != image(PAUSE, "x")


def test_an_image_may_be_of_any_program() -> None:
    files = contents(image_of("localhost/example:1", b"ELF", "agent"))
    (entry,) = json.loads(files["index.json"])["manifests"]
    manifest = json.loads(blob(files, entry))
    assert json.loads(blob(files, manifest["config"]))["config"]["Entrypoint"] == ["/agent"]
    assert contents(blob(files, manifest["layers"][0])) == {"agent": b"ELF"}


def contents(archive: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        return {each.name: opened.extractfile(each).read() for each in opened}  # type: ignore[union-attr]  # all are files


def blob(files: dict[str, bytes], entry: dict[str, Any]) -> bytes:
    content = files["blobs/sha256/" + entry["digest"].removeprefix("sha256:")]
    assert entry["digest"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
    assert entry["size"] == len(content)
    return content
