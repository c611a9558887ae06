"""Score a file: the one function behind ``graphfnp predict RUN in.csv -o out.parquet``, whatever the engine."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from graphfnp.chemistry.standardise import told
from graphfnp.errors import InvalidConfig, InvalidGraphs, InvalidRun
from graphfnp.prediction.conformal import Conformal
from graphfnp.prediction.predict import TrainedModel
from graphfnp.scoring.engines import scored_by_ray, scored_locally
from graphfnp.scoring.object_storage import fetched, sent
from graphfnp.scoring.parts import Counts, Parts
from graphfnp.scoring.record_files import as_cells, beside, check_target, column_notes, write_record_file
from graphfnp.scoring.rows import CHUNK, Chunk, MoleculeFile
from graphfnp.scoring.scorer import ALONE, Scorer, Settings, about

Engine = Literal["local", "ray"]
ENGINES = ("local", "ray")
Watch = Callable[[int, int, int], None]  # rows done, of them done before, rows in all (a guess until the end)


@dataclass(frozen=True)
class Execution:
    """Where the work is done; nothing here changes a byte of the result."""

    engine: Engine = "local"
    workers: int = 0  # processes that read ahead of the model (local), or that hold a model each (ray)
    address: str | None = None  # of a Ray cluster; None: one of this machine's own

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise InvalidConfig(f"--engine {self.engine}", " or ".join(ENGINES), "choose one of these")
        if self.address is not None and self.engine != "ray":
            raise InvalidConfig(f"--address {self.address}", "an address with --engine ray", "add --engine ray")


def score_file(
    model: TrainedModel | Mapping[str, TrainedModel],
    source: Path | str,
    target: Path | str,
    smiles: str | None = None,
    settings: Settings | None = None,
    execution: Execution | None = None,
    restart: bool = False,
    watch: Watch | None = None,
    raw: bool = False,
    keep_columns: bool = True,
) -> Counts:
    """A record in ``target`` for every row of ``source``, in its order; memory does not grow with the rows.

    Finished chunks are kept in ``TARGET.parts`` until the output is whole: the same call goes on with them after a
    kill, and ends with the same bytes. ``restart`` throws them away. ``raw`` leaves text cells of a CSV that a
    spreadsheet would take for formulas as they are. The columns of ``source`` stand before the records' own, unless
    ``keep_columns`` is False. Several models by name are asked in one pass, the columns of each called after it. Both
    files may be addresses of object storage, such as s3://bucket/molecules.csv.
    """
    settings, execution = settings or Settings(), execution or Execution()
    with fetched(source) as here, sent(target, source) as written:
        check_target(written, here)
        Conformal(()).thresholds(settings.level)  # a level that is none should fail before the work
        is_csv = written.suffix == ".csv"
        scorer = Scorer({ALONE: model} if isinstance(model, TrainedModel) else model, settings, is_csv)
        file, parts = MoleculeFile(Path(here), smiles, scorer.columns), Parts(written)
        manifest = {
            "input": {"sha256": file.sha256, "column": file.column, "header": file.header},
            "model": scorer.id,
            "settings": settings.to_json(),
            "format": written.suffix,
            "chunk": CHUNK,
            "versions": {name: version(name) for name in ("graphfnp", "torch", "rdkit")},
        }
        with parts.opened(manifest, restart):
            counts, total = _score_missing(scorer, file, parts, execution, watch or (lambda done, before, rows: None))
            _check_unchanged(file, parts)
            names = next(parts.tables(total)).column_names
            notes = [*(file.assumed if keep_columns else ()), *file.notes.sentences()]
            notes += [told(counts.changes, counts.rows - counts.failed)] if "changes" in names else []
            notes += column_notes(file.schema.names, names) if keep_columns else []
            known: dict[str, Any] = {"settings": settings.to_json(), "input_sha256": file.sha256}
            known |= {"rows": counts.rows, "failed": counts.failed, "notes": notes}
            tables = parts.tables(total)
            if keep_columns:
                tables = _beside_their_rows(tables, file, parts, is_csv)
            write_record_file(written, tables, {**about(scorer.models), **known}, raw, parts.folder)
            parts.remove()
    return replace(counts, notes=tuple(notes))


def _beside_their_rows(
    tables: Iterator[pa.Table], file: MoleculeFile, parts: Parts, is_csv: bool
) -> Iterator[pa.Table]:
    """The records of each chunk beside the columns of its rows, which are read once more: they are in no part."""
    try:
        for columns, records in zip(file.columns(), tables, strict=True):
            yield beside(as_cells(columns) if is_csv else columns, records)
    except (ValueError, InvalidGraphs):  # other rows than there are records
        _check_unchanged(file, parts)
        raise
    _check_unchanged(file, parts)


def _check_unchanged(file: MoleculeFile, parts: Parts) -> None:
    """InvalidRun, and no part is kept, if the records may be of other rows than the file had."""
    if file.is_changed():
        parts.remove()
        raise InvalidRun(
            f"{file.path}, which was changed while it was scored",
            "a file that stays as it is until its records are written",
            "run the command again",
        )


def _score_missing(
    scorer: Scorer, file: MoleculeFile, parts: Parts, execution: Execution, watch: Watch
) -> tuple[Counts, int]:
    """Score every chunk that has no part yet; counts of all, and the number of chunks."""
    found: dict[int, Counts] = {}
    done = before = 0

    def missing() -> Iterator[Chunk]:
        nonlocal done, before
        for chunk in file.chunks():
            if (known := parts.found(chunk.number, chunk.start, len(chunk.texts))) is not None:
                found[chunk.number] = known
                done, before = done + len(chunk.texts), before + len(chunk.texts)
            else:
                yield chunk

    for chunk, table in _scored(scorer, missing(), execution):
        found[chunk.number] = parts.write(chunk.number, chunk.start, table)
        done += len(chunk.texts)
        watch(done, before, max(file.num_rows, done))
    watch(done, before, done)
    return sum((found[number] for number in sorted(found)), Counts()), len(found)


def _scored(scorer: Scorer, chunks: Iterator[Chunk], execution: Execution) -> Iterator[tuple[Chunk, pa.Table]]:
    if execution.engine == "ray":
        return scored_by_ray(scorer, chunks, max(execution.workers, 1), execution.address)
    return scored_locally(scorer, chunks, execution.workers)
