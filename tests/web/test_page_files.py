"""The files that every page loads: small, served, and free of what the policy of the page forbids."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import httpx2
import pytest
from tests.plugins.serving import Site

import corrobora.faces.web

WEB = Path(corrobora.faces.web.__file__).parent


@pytest.mark.parametrize(("ending", "most"), [("js", 30_000), ("css", 20_000)])
def test_scripts_and_styles_are_small(ending: str, most: int) -> None:
    files = sorted((WEB / "static").glob(f"*.{ending}"))
    assert files
    assert sum(len(gzip.compress(file.read_bytes())) for file in files) <= most


def test_no_template_has_an_inline_style_or_handler_or_marks_text_as_safe() -> None:
    for file in (WEB / "templates").rglob("*.html"):
        text = file.read_text()
        assert not re.search(r"\sstyle=|\son[a-z]+=|<style|<script(?! type=\"module\" src=\"/static/)", text), file.name


def test_a_form_of_another_site_changes_nothing(site: Site) -> None:
    answer = httpx2.post(f"{site.url}/runs", data={"question": "When was the bridge opened?", "csrf": "0"})
    assert answer.status_code == 422
    assert answer.json()["code"] == "form_stale"
    stale = httpx2.post(f"{site.url}/runs/{site.run}/remove", data={})
    assert stale.json()["code"] == "form_stale"
    assert httpx2.get(f"{site.url}/api/v1/runs/{site.run}").status_code == 200
