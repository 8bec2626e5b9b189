"""Container images made from one program, as archives that containerd imports.

The form is an OCI layout in a tar file. Equal programs give equal archives, byte for byte.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from typing import Any, Final

from nagaya.simulators.netns.program import architecture, program

PAUSE: Final = "localhost/nagaya/pause:1"
_PROGRAM: Final = "program"


def pause() -> bytes:
    """The image of pod sandboxes."""
    return image(PAUSE)


def image(name: str, message: str = "") -> bytes:
    """An image, under a full name such as `localhost/example:1`, whose container says a sentence and waits."""
    return image_of(name, program(message, architecture=architecture()))


def image_of(name: str, content: bytes, file: str = _PROGRAM) -> bytes:
    """An image of one program, which must need nothing but the kernel. It is called `file`, in the root folder."""
    processor = architecture()
    layer = _tar({file: (content, 0o755)})
    blobs: dict[str, tuple[bytes, int]] = {}

    def blob(content: bytes, kind: str) -> dict[str, Any]:
        digest = hashlib.sha256(content).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = (content, 0o644)
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(content)}

    layered = blob(layer, "layer.v1.tar")
    config = {
        "architecture": processor,
        "os": "linux",
        "config": {"Entrypoint": [f"/{file}"], "User": "65535:65535"},
        "rootfs": {"type": "layers", "diff_ids": [layered["digest"]]},
    }
    parts = {"schemaVersion": 2, "config": blob(_json(config), "config.v1+json"), "layers": [layered]}
    manifest = blob(_json(parts), "manifest.v1+json")
    manifest["annotations"] = {"io.containerd.image.name": name}
    index = {"schemaVersion": 2, "manifests": [manifest]}
    layout = {"imageLayoutVersion": "1.0.0"}
    return _tar({**blobs, "oci-layout": (_json(layout), 0o644), "index.json": (_json(index), 0o644)})


def _json(content: dict[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()


def _tar(files: dict[str, tuple[bytes, int]]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, (content, mode) in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), mode
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()
