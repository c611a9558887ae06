"""The table of benchmarks/README.md from the result files: ``python benchmarks/table.py``."""

import json
import re
from pathlib import Path

from side_by_side import RESULTS

README = Path(__file__).parent / "README.md"
BEGIN, END = "<!-- table -->", "<!-- end of table -->"
ORDER = (
    "start_up", "whole_file", "growth", "service", "isolation", "featurising", "prediction", "prediction_bbbp",
    "batching", "epoch", "processes", "decoder_likelihood", "explaining", "explainers",
)  # fmt: skip


def lines() -> list[str]:
    found = [
        "| work | ours | fastest peer | ratio | aim | floor | date, load |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in ORDER:
        path = RESULTS / f"{name}.json"
        content = json.loads(path.read_text()) if path.is_file() else {}
        when = f"{content.get('date', '')}, {content['load'][0]}" if content.get("load") else ""
        for one in content.get("table", []):
            cells = [one[key] for key in ("work", "ours", "peer", "ratio", "aim", "floor")]
            found.append(f"| {' | '.join(cells)} | {when} (`{name}`) |")
    return found


def main() -> None:
    text = README.read_text()
    table = "\n".join([BEGIN, *lines(), END])
    README.write_text(re.sub(f"{BEGIN}.*{END}", lambda _: table, text, flags=re.S))


if __name__ == "__main__":
    main()
