"""The documentation as a site, and the links in it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from docs.page import PAGES, ROOT
from docs.terminal import BIN

_LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_FENCED = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
_FETCHED = re.compile(
    r'<(?:script|img|iframe)[^>]*\bsrc="(?:https?:)?//|<link[^>]*rel="(?!canonical)[^"]*"[^>]*href="https?://'
)
_CODE = re.compile(r"`[^`\n]+`")
_HOUSES = ("api", "core", "addons", "infrastructure", "simulators", "apiserver")
_LINKED_PAGES = [*PAGES, ROOT / "CHANGELOG.md"]


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", _FENCED.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).strip().replace(" ", "-") for each in headings}


@pytest.mark.parametrize("page", _LINKED_PAGES, ids=[str(page.relative_to(ROOT)) for page in _LINKED_PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    for target in _LINK.findall(_CODE.sub("`code`", _FENCED.sub("", page.read_text()))):
        if re.match(r"https?://", target):
            continue
        path, _, anchor = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        assert found.exists(), f"{page.name} links to {target}"
        assert not anchor or anchor in _anchors(found), f"{page.name} links to {target}"


@pytest.mark.long("renders every page")
def test_the_site_builds_without_a_warning_and_needs_no_network(tmp_path: Path) -> None:
    command = [BIN / "mkdocs", "build", "--strict", "--quiet", "--site-dir", tmp_path]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)

    assert built.returncode == 0, built.stdout + built.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) >= len(PAGES) - 1
    for page in pages:
        assert not _FETCHED.search(page.read_text()), f"{page.name} fetches something from elsewhere"


def test_the_architecture_mirrors_the_folders() -> None:
    text = (ROOT / "docs/architecture.md").read_text()
    source = ROOT / "src/nagaya"
    rooms = [path.parent for path in source.glob("*/__init__.py")]
    rooms += [path.parent for each in _HOUSES for path in (source / each).glob("*/__init__.py")]
    rooms += [path for path in source.glob("*.py") if path.name != "__init__.py"]
    missing = [path.relative_to(source).as_posix() for path in rooms if not _named(path, text)]

    assert missing == []


def _named(path: Path, text: str) -> bool:
    name = path.name if path.suffix else f"{path.name}/"
    return re.search(rf"(?:^|[\s/]){re.escape(name)}", text, re.MULTILINE) is not None
