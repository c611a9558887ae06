"""Ten rationales with a hundred candidates each: all drawn together against one graph at a time.

Seconds are processor time of one thread, so that a busy machine does not count. ``--json`` writes them too.
"""

import time
from dataclasses import replace

import torch

from graphfnp.datasets.ba2motifs import SCHEMA
from graphfnp.datasets.mutagenicity import ATOMS
from graphfnp.datasets.smiles import molecule_schema
from graphfnp.decoding.candidates import drawn_candidates
from graphfnp.decoding.config import decoding_for
from graphfnp.decoding.find import find_rationales
from graphfnp.decoding.valence import valence_rules
from graphfnp.graphs import Schema
from graphfnp.methods import make_classifier
from graphfnp.prediction import TrainedModel
from side_by_side import alternate, options, record

EXPLICIT = Schema(
    ("mutagen", "nonmutagen"), "molecule", (len(ATOMS),), edge_sizes=(3,), node_types=ATOMS,
    edge_types=("single", "double", "triple"), features="types",
)  # fmt: skip
KINDS = {"plain graphs": SCHEMA, "molecules": molecule_schema(), "molecules with hydrogens": EXPLICIT}
CANDIDATES, ALONE, BEAM = 100, 10, 8


def processor_seconds(function) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def main() -> None:
    chosen = options(__doc__, rounds=3).parse_args()
    torch.set_num_threads(1)
    ratios, seconds = {}, {}
    for kind, schema in KINDS.items():
        torch.manual_seed(0)
        model = TrainedModel(make_classifier("graphfnp", schema).eval())  # untrained: its decisions cost the same
        rationales = model.classifier.rationales()
        assert rationales is not None
        config = decoding_for(schema)
        config = replace(config, candidates=CANDIDATES, training_graphs=0)
        rules, sizes = valence_rules(schema), torch.full((1,), config.largest)

        def together(model=model, rationales=rationales, config=config) -> None:
            drawn_candidates(model, rationales, config, torch.Generator().manual_seed(0))

        def alone(model=model, rationales=rationales, rules=rules, sizes=sizes) -> None:
            generator = torch.Generator().manual_seed(0)
            for _ in range(ALONE):
                model.classifier.decode(rationales.embedding[:1], sizes, 0.8, generator, rules)

        timings = alternate({"together": together, "alone": alone}, chosen.rounds)
        each = timings["together"].median / (CANDIDATES * len(rationales))
        ratios[f"one graph at a time to all together, {kind}"] = timings["alone"].median / ALONE / each
        seconds[f"drawing, {kind}"] = processor_seconds(together)
        beam = replace(config, beam=BEAM)
        seconds[f"beam of {BEAM} for each size, {kind}"] = processor_seconds(lambda b=beam: together(config=b))
        seconds[f"drawing, ranking and pruning, {kind}"] = processor_seconds(
            lambda m=model, c=config: find_rationales(m, c)
        )
    for name, value in ratios.items():
        print(f"ratio {value:.1f}: {name}")
    for name, value in seconds.items():
        print(f"{value:.1f} s: 10 rationales x {CANDIDATES} candidates, {name}")
    if chosen.json:
        record(
            "decoding",
            ratios,
            rounds=chosen.rounds,
            threads=1,
            processor_seconds={k: round(v, 2) for k, v in seconds.items()},
        )


if __name__ == "__main__":
    main()
