"""Run the commands that pages show, and write down what they print: ``python docs/rerun_commands.py FOLDER PAGE ...``.

A console block with output is one command after ``$`` and what it said. Commands run in FOLDER, in order, with the
tables of docs/ beside them; blocks without output are left alone. Pictures of what was written there: take_pictures.py.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parent
BLOCK = re.compile(r"^```console\n\$ (?P<command>[^\n]*)\n(?P<output>(?!\$ ).+?)^```$", re.DOTALL | re.MULTILINE)
WIDTH = "100"  # columns of the imagined terminal


def rerun(page: Path, folder: Path) -> list[str]:
    """Replace the output of each block of the page by what its command prints now; the commands that failed."""
    failed: list[str] = []
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "COLUMNS": WIDTH, "NO_COLOR": "1", "PATH": path}

    def fresh(block: re.Match[str]) -> str:
        print(f"{page.name}: {block['command']}", flush=True)
        script = f"set -o pipefail; {{ {block['command']}; }} 2>&1"
        done = subprocess.run(["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True)
        if done.returncode:
            failed.append(block["command"])
            return block[0]
        lines = [line.rstrip() for line in done.stdout.splitlines()]
        shown = "\n".join(line for line in lines if line)
        return f"```console\n$ {block['command']}\n{shown}\n```"

    page.write_text(BLOCK.sub(fresh, page.read_text()))
    return failed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("pages", nargs="+", type=Path)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for table in DOCS.glob("*.csv"):
        shutil.copy(table, options.folder)
    failed = [f"{page.name}: {command}" for page in options.pages for command in rerun(page, options.folder)]
    sys.exit("\n".join(["these failed, and their blocks are as they were:", *failed]) if failed else 0)


if __name__ == "__main__":
    main()
