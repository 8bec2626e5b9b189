from __future__ import annotations

import hashlib
import io
import os
import random
import socket
import threading
from pathlib import Path

import pytest

from nagaya.binaries.download import Digest, Downloader, Patience
from nagaya.binaries.errors import CacheUnusable, SourceFailed
from nagaya.binaries.progress import PlainReporter, Silent
from support.fake_site import Site

CONTENTS = random.Random(1).randbytes(1_000_000)
DIGEST = Digest.parse(hashlib.sha256(CONTENTS).hexdigest())


@pytest.fixture
def naps() -> list[float]:
    """How long the downloader would have slept."""
    return []


@pytest.fixture
def downloader(naps: list[float]) -> Downloader:
    return Downloader(Patience(first_answer=2, stall=2, retries=3), sleep=naps.append)


def fetch(downloader: Downloader, site: Site, folder: Path, digest: Digest = DIGEST, path: str = "/big") -> Path:
    with Silent().activity("x", "bytes") as activity:
        return downloader.file(site.url + path, folder, digest, activity)


def part(folder: Path, contents: bytes, digest: Digest = DIGEST) -> Path:
    path = folder / f"big.{digest.value[:16]}.part"
    path.write_bytes(contents)
    return path


def test_a_file_is_fetched_whole(downloader: Downloader, site: Site, tmp_path: Path) -> None:
    site.files["/big"] = CONTENTS
    assert fetch(downloader, site, tmp_path).read_bytes() == CONTENTS
    assert site.visits("/big") == [None]


def test_progress_tells_how_much_there_is(
    downloader: Downloader, site: Site, tmp_path: Path, reporter: PlainReporter, said: io.StringIO
) -> None:
    site.files["/big"] = CONTENTS
    with reporter.activity("Downloading", "bytes") as activity:
        downloader.file(site.url + "/big", tmp_path, DIGEST, activity)
    assert said.getvalue().splitlines()[-1] == "Downloading: 1.0 MB in 0 s"


def test_sha512_is_understood_by_its_length(downloader: Downloader, site: Site, tmp_path: Path) -> None:
    site.files["/big"] = CONTENTS
    digest = Digest.parse(hashlib.sha512(CONTENTS).hexdigest().upper())
    assert digest.algorithm == "sha512"
    assert fetch(downloader, site, tmp_path, digest).read_bytes() == CONTENTS


@pytest.mark.parametrize("wrong", ["", "abc", "g" * 64, "<html>"])
def test_what_is_not_a_checksum_is_refused(wrong: str) -> None:
    with pytest.raises(SourceFailed, match="the published checksum is not one"):
        Digest.parse(wrong)


def test_a_cut_connection_is_taken_up_where_it_ended(downloader: Downloader, site: Site, tmp_path: Path) -> None:
    site.files["/big"] = CONTENTS
    site.cuts["/big"] = [300_000, 200_000]
    assert fetch(downloader, site, tmp_path).read_bytes() == CONTENTS
    assert site.visits("/big") == [None, "bytes=300000-", "bytes=500000-"]


def test_an_earlier_call_is_continued(downloader: Downloader, site: Site, tmp_path: Path) -> None:
    site.files["/big"] = CONTENTS
    part(tmp_path, CONTENTS[:700_000])
    assert fetch(downloader, site, tmp_path).read_bytes() == CONTENTS
    assert site.visits("/big") == ["bytes=700000-"]


def test_what_was_fetched_whole_before_is_only_checked(downloader: Downloader, site: Site, tmp_path: Path) -> None:
    site.files["/big"] = CONTENTS
    part(tmp_path, CONTENTS)
    assert fetch(downloader, site, tmp_path).read_bytes() == CONTENTS
    assert site.visits("/big") == ["bytes=1000000-"]


def test_another_version_of_the_file_is_not_continued(downloader: Downloader, site: Site, tmp_path: Path) -> None:
    site.files["/big"] = CONTENTS
    part(tmp_path, b"other", Digest.parse("0" * 64))
    assert fetch(downloader, site, tmp_path).read_bytes() == CONTENTS
    assert site.visits("/big") == [None]


@pytest.mark.parametrize("size", [700_000, 1_000_000, 1_500_000])
def test_a_damaged_beginning_is_thrown_away_and_fetched_again(
    downloader: Downloader, site: Site, tmp_path: Path, size: int
) -> None:
    site.files["/big"] = CONTENTS
    part(tmp_path, bytes(size))
    assert fetch(downloader, site, tmp_path).read_bytes() == CONTENTS
    assert site.visits("/big") == [f"bytes={size}-", None]


def test_a_site_that_knows_no_ranges_sends_it_all_again(downloader: Downloader, site: Site, tmp_path: Path) -> None:
    site.files["/big"] = CONTENTS
    site.knows_ranges = False
    site.cuts["/big"] = [300_000]
    assert fetch(downloader, site, tmp_path).read_bytes() == CONTENTS
    assert site.visits("/big") == [None, "bytes=300000-"]


def test_a_wrong_checksum_is_refused_and_nothing_is_left(downloader: Downloader, site: Site, tmp_path: Path) -> None:
    site.files["/big"] = CONTENTS[:-1] + b"!"
    with pytest.raises(SourceFailed, match=f"but {DIGEST.value} is published for it: it was changed on its way"):
        fetch(downloader, site, tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert site.visits("/big") == [None]


def test_a_missing_file_is_told_at_once(downloader: Downloader, site: Site, tmp_path: Path, naps: list[float]) -> None:
    with pytest.raises(SourceFailed, match=r"/big is not there \(404\)"):
        fetch(downloader, site, tmp_path)
    assert naps == []


def test_a_site_that_is_busy_is_asked_again_after_longer_and_longer_pauses(
    downloader: Downloader, site: Site, tmp_path: Path, naps: list[float]
) -> None:
    site.files["/big"] = CONTENTS
    site.statuses["/big"] = [503, 429]
    assert fetch(downloader, site, tmp_path).read_bytes() == CONTENTS
    assert naps == [1.0, 2.0]


def test_a_site_that_stays_busy_is_given_up(downloader: Downloader, site: Site, tmp_path: Path) -> None:
    site.statuses["/big"] = [503] * 9
    with pytest.raises(SourceFailed, match=r"answered with 503 .*; gave up after 3 attempts that brought nothing"):
        fetch(downloader, site, tmp_path)
    assert len(site.visits("/big")) == 3


def test_a_connection_that_is_cut_again_and_again_but_brings_something_is_not_given_up(
    downloader: Downloader, site: Site, tmp_path: Path
) -> None:
    site.files["/big"] = CONTENTS
    site.cuts["/big"] = [50_000] * 15
    assert fetch(downloader, site, tmp_path).read_bytes() == CONTENTS
    assert len(site.visits("/big")) == 16


def test_a_connection_that_is_always_cut_before_the_first_byte_is_given_up_and_kept_for_later(
    downloader: Downloader, site: Site, tmp_path: Path
) -> None:
    site.files["/big"] = CONTENTS
    site.cuts["/big"] = [300_000, 0, 0, 0]
    with pytest.raises(SourceFailed, match="the connection ended after 300000 of 1000000 bytes; gave up"):
        fetch(downloader, site, tmp_path)
    assert fetch(downloader, site, tmp_path).read_bytes() == CONTENTS


def test_a_full_disk_is_not_taken_for_a_bad_connection(
    downloader: Downloader, site: Site, tmp_path: Path, naps: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    site.files["/big"] = CONTENTS
    monkeypatch.setattr(Path, "exists", lambda self: False)
    os.symlink("/dev/full", tmp_path / f"big.{DIGEST.value[:16]}.part")
    with pytest.raises(CacheUnusable, match="No space left on device"):
        fetch(downloader, site, tmp_path)
    assert naps == []


def test_a_small_text_is_fetched(downloader: Downloader, site: Site) -> None:
    site.files["/sum"] = b"abc\n"
    assert downloader.text(f"{site.url}/sum") == "abc\n"


def test_a_text_from_a_busy_site_is_asked_for_again(downloader: Downloader, site: Site, naps: list[float]) -> None:
    site.files["/sum"] = b"abc"
    site.statuses["/sum"] = [503]
    assert downloader.text(f"{site.url}/sum") == "abc"
    assert naps == [0.5]


def test_a_missing_text_is_told(downloader: Downloader, site: Site) -> None:
    with pytest.raises(SourceFailed, match=r"/sum is not there \(404\)"):
        downloader.text(f"{site.url}/sum")


def test_a_site_that_refuses_is_told_at_once(downloader: Downloader) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(SourceFailed, match=f"127.0.0.1:{port} cannot be reached \\(Connection refused\\)"):
            downloader.text(f"http://127.0.0.1:{port}/sum")


def test_a_site_without_an_address_is_told(downloader: Downloader, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*args: object, **named: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr("socket.getaddrinfo", unknown)
    with pytest.raises(SourceFailed, match=r"nowhere\.invalid has no address here \(Name or service not known\)"):
        downloader.text("http://nowhere.invalid/sum")


def test_a_site_that_accepts_and_says_nothing_is_given_up_in_time(site: Site) -> None:
    site.hang.set()
    with pytest.raises(SourceFailed, match=r"gave no answer within|stopped answering"):
        Downloader(Patience(first_answer=0.3)).text(f"{site.url}/sum")
    assert site.hang.is_set()


def test_a_name_server_that_says_nothing_is_given_up_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    given_up = threading.Event()

    def slow(*args: object, **named: object) -> list[object]:
        given_up.wait()
        return []

    monkeypatch.setattr("socket.getaddrinfo", slow)
    try:
        with pytest.raises(SourceFailed, match=r"dl\.k8s\.io gave no answer within"):
            Downloader(Patience(first_answer=0.2)).text("https://dl.k8s.io/sum")
    finally:
        given_up.set()


def test_only_web_addresses_are_fetched(downloader: Downloader) -> None:
    with pytest.raises(SourceFailed, match="is not a web address"):
        downloader.text("file:///etc/passwd")
