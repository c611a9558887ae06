"""The documentation site builds without a warning, holds every page, and asks nothing of the network to be read."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("material", reason="needs graphfnp[docs]")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr, done.stderr
    return folder


def test_every_page_is_built_and_once_in_the_navigation(site: Path) -> None:
    listed = re.findall(r"[\w-]+\.md", (ROOT / "mkdocs.yml").read_text())
    assert len(listed) == len(set(listed))
    navigation = (site / "index.html").read_text()
    for page in (ROOT / "docs").glob("*.md"):
        assert (site / f"{page.stem}.html").is_file(), page.name
        assert page.stem == "index" or f'href="{page.stem}.html"' in navigation, (
            f"{page.name} is not in mkdocs.yml's nav"
        )


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    loaded = r"""<(?:script|img|iframe)[^>]+src=["']?https?://|<link[^>]+rel="?stylesheet"?[^>]+href="?https?://"""
    for page in site.glob("*.html"):
        assert not re.findall(loaded, page.read_text()), page.name
    for sheet in site.rglob("*.css"):
        assert not re.findall(r"url\(['\"]?https?://|@import ['\"]?https?://", sheet.read_text()), sheet.name


def test_the_reference_holds_every_public_name(site: Path) -> None:
    import graphfnp

    reference = (site / "api.html").read_text()
    for name in set(graphfnp.__all__) - {"__version__"}:
        assert re.search(rf'id="graphfnp\.[\w.]*\b{name}"', reference), f"{name} is not in docs/api.md"


def test_pictures_say_what_they_show(site: Path) -> None:
    for page in (ROOT / "docs").glob("*.md"):
        for text, target in re.findall(r"!\[(.*?)\]\((.*?)\)", page.read_text()):
            assert text, f"{page.name}: {target} has no words for those who cannot see it"
