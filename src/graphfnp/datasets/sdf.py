"""SDF files as tables: every record a row, its properties the columns."""

import re
from dataclasses import replace
from pathlib import Path

from graphfnp.chemistry.reading import smiles_of_records
from graphfnp.datasets.table_files import TextTable, decoded, file_content, text_table
from graphfnp.errors import InvalidGraphs
from graphfnp.graphs.problem import Problem

STRUCTURE, TITLE = "SMILES of the record", "title"
_END = re.compile(r"^\$\$\$\$.*\n?", re.MULTILINE)
_PROPERTY = re.compile(r"^>.*?<([^>\n]+)>.*\n(.*)$", re.MULTILINE)  # its name, and its first line


def read_sdf(path: Path, encoding: str | None = None) -> TextTable:
    """SMILES and properties of every record; a record RDKit refuses is a row with RDKit's reason."""
    text, notes = decoded(file_content(path)[0], encoding)
    records = [record for record in _END.split(re.sub("\r\n?", "\n", text)) if record.strip()]
    if not records:
        raise InvalidGraphs(f"the empty file {path.name}", "SDF records", "check the file")
    properties = [dict(_PROPERTY.findall(record)) for record in records]
    names = list(dict.fromkeys(name for some in properties for name in some))
    titles = [record.partition("\n")[0].strip() for record in records]
    has_titles = any(titles)
    rows, refused = [], {}
    for row, ((smiles, reason), some) in enumerate(zip(smiles_of_records(records), properties, strict=True)):
        if reason:
            refused[row] = Problem(row, titles[row], reason)
        rows.append([smiles, *([titles[row]] if has_titles else []), *(some.get(name, "") for name in names)])
    header = [STRUCTURE, *([TITLE] if has_titles else []), *names]
    return replace(text_table(header, rows, notes), smiles=STRUCTURE, refused=refused)
