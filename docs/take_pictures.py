"""Pictures of real pages for docs/images, by Chromium: ``python docs/take_pictures.py FOLDER [NAME ...]``.

FOLDER is where the commands of the pages were run (rerun_commands.py), so it holds ``runs/``. The picture
``answer`` is of the service, which is started for it. Needs a Chromium.
"""

import argparse
import shutil
import subprocess
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
ANSWER, ASKED = "answer", "CC1(C)SC2C(NC(=O)Cc3ccccc3)C(=O)N2C1C(=O)O benzylpenicillin"


def take(tab: Page, name: str, first: str, last: str) -> None:
    """The part of a page between two elements, over the whole width."""
    top, bottom = (tab.locator(element).first.bounding_box() for element in (first, last))
    size, up = tab.viewport_size, tab.evaluate("window.scrollY")
    assert top is not None and bottom is not None and size is not None  # noqa: PT018
    start = max(0, top["y"] + up - MARGIN)
    height = min(TALLEST, bottom["y"] + up + bottom["height"] + MARGIN - start)
    clip = {"x": 0, "y": start, "width": size["width"], "height": height}
    tab.screenshot(path=IMAGES / f"{name}.png", full_page=True, clip=clip)
    print(IMAGES / f"{name}.png")


def take_answer(browser: Browser) -> None:
    """An answer of the service, as a person sees it."""
    service = subprocess.Popen(["graphfnp", "serve", "bbbp", "--port", "0"], stderr=subprocess.PIPE, text=True)
    try:
        assert service.stderr is not None
        address = next(line.split(" at ")[1].strip() for line in service.stderr if " at http" in line)
        tab = browser.new_page(viewport={"width": 1180, "height": 900})
        tab.goto(address)
        tab.fill("#rows", ASKED)
        tab.click("#go")
        tab.get_by_text("What the answer leans on").wait_for(timeout=300_000)
        tab.wait_for_load_state("networkidle", timeout=300_000)
        take(tab, ANSWER, "#result", "#result")
    finally:
        service.terminate()
        service.wait(120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", help="only these pictures", default=[*PICTURES, ANSWER])
    options = parser.parse_args()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"))
        for name in options.names:
            if name == ANSWER:
                take_answer(browser)
                continue
            page, width, (first, last) = PICTURES[name]
            tab = browser.new_page(viewport={"width": width, "height": 900})
            tab.goto((options.folder / page).resolve().as_uri())
            take(tab, name, first, last)


if __name__ == "__main__":
    main()
