"""Fetches one big file over HTTP: streamed, checked, and taken up again where a cut connection or Ctrl-C left it.

The unfinished file carries the first digits of the published checksum in its name, so what is continued is always
the same contents; whether it is right is decided by the whole checksum at the end and by nothing else.

A machine without a route to the site must learn so in seconds. Time-outs of sockets do not bound that (name
servers and lists of addresses each take their own), so the first small request runs in a thread with one deadline.
"""

from __future__ import annotations

import hashlib
import http.client
import re
import socket
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from nagaya import __version__
from nagaya.binaries.cache import writing
from nagaya.binaries.errors import SourceFailed
from nagaya.binaries.progress import Activity

_HEADERS = {"User-Agent": f"nagaya/{__version__}", "Accept-Encoding": "identity"}
_CHUNK = 1 << 18
_SMALL = 1 << 20
_LENGTH = re.compile("[0-9]{1,9}")  # up to a gigabyte; programs have a tenth of that
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")
_TRANSIENT = frozenset({408, 429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Digest:
    """A checksum that a release site published."""

    algorithm: str
    value: str

    @classmethod
    def parse(cls, value: str) -> Digest:
        """A checksum in hexadecimal; its length tells the algorithm."""
        algorithm = {64: "sha256", 128: "sha512"}.get(len(value))
        if algorithm is None or not all(digit in "0123456789abcdef" for digit in value.lower()):
            raise SourceFailed(f"the published checksum is not one: {value[:80]!r}")
        return cls(algorithm, value.lower())


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for a site, in seconds."""

    first_answer: float = 6.0
    stall: float = 30.0
    retries: int = 5
    """Attempts in a row that brought not one byte."""
    pause: float = 0.5


class _Hash(Protocol):
    def update(self, data: bytes, /) -> None: ...

    def hexdigest(self) -> str: ...


@dataclass(slots=True)
class Downloader:
    """Fetches small texts and big files; proxies are taken from the environment as every tool does."""

    patience: Patience = field(default_factory=Patience)
    sleep: Callable[[float], None] = time.sleep

    def text(self, url: str) -> str:
        """A small text; SourceFailed within the time for a first answer if the site cannot be reached."""
        for attempt in range(self.patience.retries):
            try:
                return self._text(url)
            except _Busy:
                self.sleep(self.patience.pause * 2**attempt)
        return self._text(url)

    def _text(self, url: str) -> str:
        outcome: list[bytes | Exception] = []

        def fetch() -> None:
            try:
                with _open(url, self.patience.first_answer) as response:
                    outcome.append(response.read(_SMALL))
            except Exception as error:
                # Whatever it is belongs to the thread that waits for it.
                outcome.append(error)

        thread = threading.Thread(target=fetch, name=f"fetch {url}", daemon=True)
        thread.start()
        thread.join(self.patience.first_answer)
        if not outcome:
            raise SourceFailed(f"{_host(url)} gave no answer within {self.patience.first_answer:.0f} s")
        answer = outcome[0]
        if isinstance(answer, bytes):
            return answer.decode(errors="replace")
        if isinstance(answer, OSError | http.client.HTTPException):
            busy = isinstance(answer, urllib.error.HTTPError) and answer.code in _TRANSIENT
            raise (_Busy if busy else SourceFailed)(_why(url, answer)) from answer
        raise answer

    def file(self, url: str, folder: Path, digest: Digest, activity: Activity) -> Path:
        """The file at this address, whole and checked, under a name of ours in the folder."""
        name = urllib.parse.urlsplit(url).path.rpartition("/")[2]
        part = folder / f"{name}.{digest.value[:16]}.part"
        for left_over in (True, False):
            if left_over and not part.exists():
                continue
            transfer = _Transfer(url, part, digest.algorithm, activity)
            self._finish(transfer)
            if transfer.digest() == digest.value:
                return part
            part.unlink()
        raise SourceFailed(
            f"{url} has the {digest.algorithm} {transfer.digest()}, but {digest.value} is published for it: "
            "it was changed on its way, and is not used"
        )

    def _finish(self, transfer: _Transfer) -> None:
        fruitless = 0
        while True:
            before = transfer.have
            try:
                transfer.attempt(self.patience.stall)
                evidence = f"the connection ended after {transfer.have} of {transfer.size} bytes"
            except (OSError, http.client.HTTPException) as error:
                if isinstance(error, urllib.error.HTTPError) and error.code not in _TRANSIENT:
                    raise SourceFailed(_why(transfer.url, error)) from error
                evidence = _why(transfer.url, error)
            if transfer.complete:
                return
            fruitless = 0 if transfer.have > before else fruitless + 1
            if fruitless >= self.patience.retries:
                raise SourceFailed(f"{evidence}; gave up after {fruitless} attempts that brought nothing")
            self.sleep(self.patience.pause * 2**fruitless)


class _Busy(SourceFailed):
    """The site is there and says that a later attempt may succeed."""


class _Transfer:
    """One file on its way, across as many connections as it takes."""

    def __init__(self, url: str, part: Path, algorithm: str, activity: Activity) -> None:
        self.url = url
        self.size: int | None = None
        self._part = part
        self._algorithm = algorithm
        self._activity = activity
        self._hash: _Hash = hashlib.new(algorithm)
        self.have = 0
        if part.exists():
            with part.open("rb") as file:
                while chunk := file.read(_CHUNK):
                    self._count(chunk)

    @property
    def complete(self) -> bool:
        return self.size is not None and self.have >= self.size

    def digest(self) -> str:
        return self._hash.hexdigest()

    def attempt(self, stall: float) -> None:
        """Read until the file or the connection ends. Raises what the network raises."""
        try:
            response = _open(self.url, stall, first=self.have)
        except urllib.error.HTTPError as error:
            if error.code == 416 and self.have:
                # Nothing lies behind what we have: it is whole, or it never was a beginning of this file.
                # The checksum tells.
                error.close()
                self.size = self.have
                return
            raise
        with response:
            self._begin(response)
            with writing(self._part), self._part.open("ab") as file:
                while chunk := _read(response):
                    file.write(chunk)
                    self._count(chunk)

    def _begin(self, response: http.client.HTTPResponse) -> None:
        continued = _RANGE.fullmatch(response.headers.get("Content-Range", "")) if response.status == 206 else None
        length = response.headers.get("Content-Length")
        if continued is None or int(continued[1]) != self.have:
            # The site sends the file from its beginning.
            with writing(self._part):
                self._part.write_bytes(b"")
            self._hash = hashlib.new(self._algorithm)
            self.have = 0
        if length is None:
            raise http.client.HTTPException("the answer does not say how long the file is")
        if not _LENGTH.fullmatch(length):
            raise SourceFailed(f"{self.url} is no program: its length would be {length[:40]} bytes")
        self.size = self.have + int(length)
        self._activity.total(self.size)
        self._activity.reached(self.have)

    def _count(self, chunk: bytes) -> None:
        self._hash.update(chunk)
        self.have += len(chunk)
        self._activity.reached(self.have)


class _Interrupted(http.client.HTTPException):
    """The network failed while a file was being read; kept apart from failures to write it."""


def _read(response: http.client.HTTPResponse) -> bytes:
    try:
        return response.read(_CHUNK)
    except OSError as error:
        raise _Interrupted(str(error) or type(error).__name__) from error


def _open(url: str, timeout: float, first: int = 0) -> http.client.HTTPResponse:
    if not url.startswith(("https://", "http://")):
        raise SourceFailed(f"{url} is not a web address")
    headers = {**_HEADERS, "Range": f"bytes={first}-"} if first else dict(_HEADERS)
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 -- the scheme was checked above
    response = urllib.request.urlopen(request, timeout=timeout)  # noqa: S310 -- same
    assert isinstance(response, http.client.HTTPResponse)
    return response


def _host(url: str) -> str:
    return urllib.parse.urlsplit(url).netloc


def _why(url: str, error: Exception) -> str:
    """A failure of the network in one line."""
    if isinstance(error, urllib.error.HTTPError):
        error.close()
        if error.code == 404:
            return f"{url} is not there (404)"
        return f"{url} was answered with {error.code} {error.reason}"
    if isinstance(error, urllib.error.URLError):
        reason = error.reason
        if isinstance(reason, socket.gaierror):
            return f"{_host(url)} has no address here ({reason.strerror})"
        return f"{_host(url)} cannot be reached ({getattr(reason, 'strerror', None) or reason})"
    if isinstance(error, TimeoutError):
        return f"{_host(url)} stopped answering"
    return f"{_host(url)}: {error or type(error).__name__}"
