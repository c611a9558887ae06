"""Pictures of real pages for docs/images, by Chromium: ``python docs/take_pictures.py FOLDER [NAME ...]``.

FOLDER is where the commands of the pages were run (rerun_commands.py), so it holds ``runs/``. For pictures of the
service it is started. Needs a Chromium.
"""

import argparse
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

IMAGES = Path(__file__).parent / "images"
MARGIN, TALLEST = 16, 1500
PICTURES = {  # picture -> page, width of the window, from the top of the first to the bottom of the last of these
    "report": ("runs/ba2motifs/report.html", 1140, ("#map", "#rationales")),
    "report-molecules": ("runs/molecules-graphfnp-0/report.html", 1180, ("body", "#numbers")),
    "explanation": ("runs/bbbp/explanation/explanation.html", 760, ("article", "article")),
    "gallery": ("runs/bbbp/rationales/gallery.html", 1100, ("article", "article")),
}
ROWS = """CC(=O)Oc1ccccc1C(=O)O aspirin
Cn1c(=O)c2c(ncn2C)n(C)c1=O caffeine
C1CC broken
CN1C(=O)CN=C(c2ccccc2)c2cc(Cl)ccc21 diazepam
OCC1OC(O)C(O)C(O)C1O glucose
FC(F)(F)C(F)(F)C(F)(F)C(F)(F)C(F)(F)C(F)(F)C(F)(F)C(F)(F)F perfluorooctane"""
DIAZEPAM = ROWS.splitlines()[3]
PENICILLIN = "CC1(C)SC2C(NC(=O)Cc3ccccc3)C(=O)N2C1C(=O)O benzylpenicillin"
SERVICE = {  # the same of the service: what is asked, width, light or dark, the elements, the height at most
    "answer": (PENICILLIN, 1180, "light", ("#result", "#result"), TALLEST),
    "page": (DIAZEPAM, 1180, "light", ("body", "#result"), 1620),
    "page-phone": (DIAZEPAM, 390, "light", ("body", "#result"), 1480),
    "page-table": (ROWS, 1180, "dark", ("#many", "#many"), TALLEST),
}


def take(tab: Page, name: str, first: str, last: str, tallest: int = TALLEST) -> None:
    """The part of a page between two elements, over the whole width."""
    top, bottom = (tab.locator(element).first.bounding_box() for element in (first, last))
    size, up = tab.viewport_size, tab.evaluate("window.scrollY")
    assert top is not None and bottom is not None and size is not None  # noqa: PT018
    start = max(0, top["y"] + up - MARGIN)
    height = min(tallest, bottom["y"] + up + bottom["height"] + MARGIN - start)
    clip = {"x": 0, "y": start, "width": size["width"], "height": height}
    tab.screenshot(path=IMAGES / f"{name}.png", full_page=True, clip=clip)
    print(IMAGES / f"{name}.png")


@contextmanager
def service() -> Iterator[str]:
    """The address of the service with the bundled model."""
    process = subprocess.Popen(["graphfnp", "serve", "bbbp", "--port", "0"], stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        yield next(line.split(" at ")[1].strip() for line in process.stderr if " at http" in line)
    finally:
        process.terminate()
        process.wait(120)


def take_service(browser: Browser, name: str, address: str) -> None:
    """An answer of the service, as a person sees it."""
    asked, width, scheme, (first, last), tallest = SERVICE[name]
    tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    tab.goto(address)
    tab.fill("#rows", asked)
    tab.click("#go")
    seen = "Headings sort" if first == "#many" else "Linked rationales"
    tab.get_by_text(seen).wait_for(timeout=300_000)
    tab.wait_for_load_state("networkidle", timeout=300_000)
    take(tab, name, first, last, tallest)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", help="only these pictures", default=[*PICTURES, *SERVICE])
    options = parser.parse_args()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"))
        if served := [name for name in options.names if name in SERVICE]:
            with service() as address:
                for name in served:
                    take_service(browser, name, address)
        for name in [name for name in options.names if name in PICTURES]:
            page, width, (first, last) = PICTURES[name]
            tab = browser.new_page(viewport={"width": width, "height": 900})
            tab.goto((options.folder / page).resolve().as_uri())
            take(tab, name, first, last)


if __name__ == "__main__":
    main()
