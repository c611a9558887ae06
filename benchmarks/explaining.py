"""Rationale explanations beside plain scoring, and the decoding of all rationales: ``python benchmarks/explaining.py``.

One thread, in turns, from SMILES of BBBP to records; an explanation holds the prediction. Decoding draws candidates,
measures them and gathers the evidence in the data, as ``graphfnp rationales`` does.
"""

import time
from pathlib import Path

import torch

from graphfnp.chemistry.read_rows import read_rows
from graphfnp.chemistry.reading import target_of
from graphfnp.chemistry.smiles import packed
from graphfnp.datasets.load import load
from graphfnp.graphs.packed import UNLABELLED, PackedGraphs
from graphfnp.prediction.predict import predict
from graphfnp.prediction.records import record_table
from graphfnp.rationales.config import decoding_for
from graphfnp.rationales.explain import explain_by_rationales
from graphfnp.rationales.store import decode
from graphfnp.report.explanation_page import explanation_records
from graphfnp.runs.bundles import open_run
from graphfnp.runs.decoded import decoded_of_run
from side_by_side import alternate, options, record, row

ROWS = 512


def main() -> None:
    chosen = options(__doc__, rounds=5).parse_args()
    torch.set_num_threads(1)
    run, dataset = open_run(Path("bbbp")), load("bbbp")
    model, rationales = run.model, decoded_of_run(run).rationales
    schema, texts = model.classifier.schema, list(dataset.graphs.text or ())[:ROWS]

    def read() -> PackedGraphs:
        _, arrays = read_rows(texts, target_of(schema), lambda row: True)
        return packed(arrays, torch.full((ROWS,), UNLABELLED), schema, texts)

    def score() -> None:
        graphs = read()
        record_table(model, predict(model, graphs), graphs, range(ROWS), [])

    def explain() -> None:
        graphs = read()
        found = explain_by_rationales(model, rationales, graphs)
        record_table(model, found.predictions, graphs, range(ROWS), [])
        explanation_records(found, rationales)

    timings = alternate({"scored": score, "explained": explain}, chosen.rounds)
    each = {name: 1e6 * timing.median / ROWS for name, timing in timings.items()}
    began = time.process_time()
    found = decode(run.model, dataset, decoding_for(run.model.classifier.schema), 0)
    decoding = time.process_time() - began
    ratios = {"scored to explained": each["scored"] / each["explained"]}
    print(", ".join(f"{name}: {value:.0f} us a row" for name, value in each.items()), ratios)
    print(f"{len(found.records)} rationales decoded with evidence: {decoding:.1f} s of the processor")
    if chosen.json:
        ours = f"{1e6 / each['explained']:,.0f} a second and core"
        plain = f"records alone: {1e6 / each['scored']:,.0f}"
        table = [
            row("rationale explanations of every row", ours, plain, ratios["scored to explained"], "at least .5"),
            row(f"{len(found.records)} rationales of BBBP with evidence", f"{decoding:.1f} s", aim="below 5 s"),
        ]
        record("explaining", ratios, table, microseconds_a_row=each, decoding_seconds=decoding, rounds=chosen.rounds)


if __name__ == "__main__":
    main()
