"""A hook of mkdocs: docs/notebook.ipynb as a page of the site, its outputs as they were kept."""

import base64
import json
import re
from pathlib import Path
from typing import Any

PAGE = "notebook.md"
BARE = r"<style.*?</style>|</?div>| (class|border|style)=\"[^\"]*\""  # the site has a style of its own for tables


def on_files(files: Any, config: Any) -> Any:
    """Called by mkdocs when it has found the files of the site."""
    from mkdocs.structure.files import File

    notebook = json.loads((Path(config.docs_dir) / "notebook.ipynb").read_text())
    files.append(File.generated(config, PAGE, content=markdown(notebook)))
    return files


def markdown(notebook: dict[str, Any]) -> str:
    """Text as it is, code in fences, and below each what it has shown."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        parts += [shown for output in cell["outputs"] if (shown := _shown(output))]
    title, *rest = parts
    return "\n\n".join([title, "[The notebook itself](notebook.ipynb)", *rest]) + "\n"


def _shown(output: dict[str, Any]) -> str:
    data = {kind: "".join(value) for kind, value in output.get("data", {}).items()}
    if "image/svg+xml" in data:
        picture = base64.b64encode(data["image/svg+xml"].encode()).decode()
        return f'<img alt="What the cell above draws" src="data:image/svg+xml;base64,{picture}">'
    if "text/html" in data:
        bare = re.sub(
            r"<style.*?</style>|</?div>| (class|border|style)=\"[^\"]*\"", "", data["text/html"], flags=re.DOTALL
        )
        return "\n".join(line.strip() for line in bare.splitlines() if line.strip())
    text = "".join(output.get("text", data.get("text/plain", ""))).rstrip()
    return f"```text\n{text}\n```" if text and output.get("name") != "stderr" else ""
