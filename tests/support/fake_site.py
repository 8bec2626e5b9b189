"""A release site on loopback, with the faults that real ones have, and programs that are scripts to put on it."""

from __future__ import annotations

import hashlib
import io
import stat
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Site:
    """A web site whose files, faults and visitors a test can set and see."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.statuses: dict[str, list[int]] = {}
        """Codes to answer with before the file, one per request."""
        self.cuts: dict[str, list[int]] = {}
        """After how many bytes the connection is cut, one per request."""
        self.knows_ranges = True
        self.requests: list[tuple[str, str | None]] = []
        """Path and Range header of each request."""
        self.hang = threading.Event()
        """While it is set nothing is answered."""
        self.released = threading.Event()
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site._answer(self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def publish(self, path: str, contents: bytes, *, algorithm: str = "sha256") -> None:
        """A file and its checksum beside it."""
        self.files[path] = contents
        self.files[f"{path}.sha256"] = hashlib.new(algorithm, contents).hexdigest().encode()

    def visits(self, path: str) -> list[str | None]:
        """The Range headers of the requests for one path."""
        return [ranged for visited, ranged in self.requests if visited == path]

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        wanted = request.headers.get("Range")
        self.requests.append((request.path, wanted))
        if self.hang.is_set():
            self.released.wait()
            return
        codes = self.statuses.get(request.path)
        contents = self.files.get(request.path)
        code = codes.pop(0) if codes else 200 if contents is not None else 404
        if code != 200 or contents is None:
            request.send_error(code)
            return
        first = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and self.knows_ranges else 0
        if first >= len(contents) > 0:
            request.send_error(416)
            return
        body = contents[first:]
        request.send_response(206 if first else 200)
        if first:
            request.send_header("Content-Range", f"bytes {first}-{len(contents) - 1}/{len(contents)}")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        cuts = self.cuts.get(request.path)
        request.wfile.write(body[: cuts.pop(0)] if cuts else body)


def script(text: str) -> bytes:
    """A program that is a shell script."""
    return f"#!/bin/sh\n{text}\n".encode()


def program_telling(version: str) -> bytes:
    """A program that tells its version, whatever it is asked."""
    return script(f"echo Kubernetes {version}")


def put_program(path: Path, contents: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(contents)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def archive_of(member: str, contents: bytes) -> bytes:
    """A .tar.gz with one file."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        entry = tarfile.TarInfo(member)
        entry.size = len(contents)
        archive.addfile(entry, io.BytesIO(contents))
    return out.getvalue()
