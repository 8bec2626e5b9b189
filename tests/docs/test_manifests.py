"""Manifests that a page gives people to begin with, but does not apply, are ones that the management API takes."""

from __future__ import annotations

import pytest
import yaml

from docs.page import ROOT, blocks
from unit.api.proxmox.manifests import problems


@pytest.mark.parametrize("page", ["docs/from-ansible.md"])
def test_files_of_a_page_are_accepted(page: str) -> None:
    files = [each.text for each in blocks(ROOT / page) if each.language == "yaml" and each.title]
    objects = [each for text in files for each in yaml.safe_load_all(text)]

    assert objects
    assert [problem for each in objects for problem in problems(each)] == []
