"""Pictures of real pages for docs/images, by a headless Chromium: ``python docs/take_pictures.py FOLDER``.

FOLDER is where the commands of the pages were run: it holds ``runs/``.
"""

import argparse
import subprocess
from pathlib import Path

IMAGES = Path(__file__).parent / "images"
PICTURES = {  # picture -> page, width, height
    "report-molecules": ("runs/molecules-graphfnp-0/report.html", 1180, 1000),
    "explanation": ("runs/bbbp/explanation/explanation.html", 600, 1010),
    "gallery": ("runs/bbbp/rationales/gallery.html", 1100, 1400),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", action="append", help="this picture only; repeatable")
    options = parser.parse_args()
    for name, (page, width, height) in PICTURES.items():
        path = (options.folder / page).resolve()
        if (options.only and name not in options.only) or not path.is_file():
            continue
        command = ["chromium", "--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={width},{height}"]
        subprocess.run([*command, f"--screenshot={IMAGES / name}.png", path.as_uri()], check=True, capture_output=True)
        print(IMAGES / f"{name}.png")


if __name__ == "__main__":
    main()
