"""Find the small graph with the highest kernel for each rationale."""

from dataclasses import replace

import torch
from torch import Tensor

from graphfnp.chemistry.structures import graphs_from_structures
from graphfnp.graphs.matching import matching
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.graphs.structure import Structure
from graphfnp.kinds.kind_of import kind_of
from graphfnp.kinds.plain import PlainGraphs
from graphfnp.methods.contract import with_rationales
from graphfnp.methods.rationales import Rationales, Source
from graphfnp.prediction.predict import TrainedModel, check_model, collect
from graphfnp.randomness import stream
from graphfnp.rationales.candidates import (
    Candidates,
    drawn_candidates,
    nearest_parts,
    with_known_features,
    with_usual_features,
)
from graphfnp.rationales.config import DecodingConfig, decoding_for
from graphfnp.rationales.kernels import correlations, specific_kernel, structure_kernels
from graphfnp.rationales.pruning import pruned

REACHED = 0.5  # a structure of a lower kernel is not what the rationale means, and is not shown
MADE_UP = 4  # nodes by which a structure that only the decoder has counts as larger
NEARLY = 0.9  # of the best kernel: the smallest structure that has so much is shown


@torch.no_grad()
def find_rationales(
    model: TrainedModel, config: DecodingConfig | None = None, seed: int = 0, graphs: PackedGraphs | None = None
) -> Rationales:
    """A structure for each rationale, or None if no small one reaches a kernel of .5.

    Candidates are drawn from the decoder (Eq. 7 and 8) and, with ``graphs``, the training graphs, cut out of those
    nearest to a rationale. Each is encoded alone and ranked by the kernel: kappa to the rationale, times 1 - the
    largest kappa to the other class. Of those within 90 % of the best the smallest is taken; a structure that only
    the decoder proposed counts as ``MADE_UP`` nodes larger.
    """
    check_model(model)
    classifier = with_rationales(model.classifier).eval()
    graphs = None if graphs is None else matching(graphs, classifier.schema)
    rationales = classifier.rationales()
    config = config or decoding_for(classifier.schema)
    candidates = _candidates(model, rationales, config, seed, graphs).distinct(classifier.schema)
    kind = kind_of(classifier.schema)
    valid = [k for k, one in enumerate(candidates.structures) if kind.is_valid(one)]
    nothing = torch.zeros(len(rationales))
    if not valid:
        return replace(rationales, structures=(None,) * len(rationales), similarity=nothing, source=())
    structures, source = [candidates.structures[k] for k in valid], [candidates.source[k] for k in valid]
    score = specific_kernel(structure_kernels(model, structures), rationales)
    chosen = _smallest_of_the_best(score, structures, source, kind)
    owner = torch.arange(len(rationales))
    floor = NEARLY * score.amax(0)
    small = pruned(model, rationales, [structures[k] for k in chosen], owner, floor, config)
    small = _shared(model, rationales, small, floor)
    kernel = structure_kernels(model, small).diagonal()
    logits = collect(classifier, graphs_from_structures(small, classifier.schema), num_draws=16).logits
    probability = logits.softmax(-1).mean(0)
    own = probability.gather(1, rationales.label[:, None])[:, 0].clamp(1e-6, 1 - 1e-6)
    return replace(
        rationales,
        structures=tuple(one if kernel[j] >= REACHED else None for j, one in enumerate(small)),
        class_probability=own,
        similarity=kernel,
        log_odds=own.logit(),
        source=tuple(source[k] for k in chosen),
    )


def _candidates(
    model: TrainedModel, rationales: Rationales, config: DecodingConfig, seed: int, graphs: PackedGraphs | None
) -> Candidates:
    generator, schema = stream(seed, "decoding"), model.classifier.schema
    continuous = schema.is_continuous
    candidates = Candidates()
    if config.candidates and (continuous or not schema.needs_x):  # no decoder draws categories that are not types
        candidates = drawn_candidates(model, rationales, config, generator)
        if continuous and graphs is not None:
            candidates.structures = with_known_features(candidates.structures, graphs)
    if config.training_graphs and graphs is not None:
        near = correlations(model, graphs, num_draws=8)
        candidates = candidates + nearest_parts(rationales, near, graphs, config, generator)
    if continuous and graphs is not None:
        candidates.structures = with_usual_features(candidates.structures, graphs)
    return candidates


def _smallest_of_the_best(
    score: Tensor, structures: list[Structure], source: list[Source], kind: PlainGraphs
) -> list[int]:
    """For each rationale the smallest structure within 90 % of the best score, the better of equals."""
    size = torch.tensor([kind.size(one) for one in structures], dtype=torch.double)
    made_up = torch.tensor([one == "decoder" for one in source], dtype=torch.double)
    order = (MADE_UP * made_up + size)[:, None] - score.double()  # a score is below one
    return order.masked_fill(score < NEARLY * score.amax(0), torch.inf).argmin(0).tolist()


def _shared(model: TrainedModel, rationales: Rationales, small: list[Structure], floor: Tensor) -> list[Structure]:
    """Rationales of a class that answer to the structure of another as well as to their own share it.

    The best answered structure comes first; a rationale keeps its own where none before it has its floor.
    """
    score = specific_kernel(structure_kernels(model, small), rationales)  # [structures, rationales]
    result = list(small)
    taken: list[int] = []
    for j in score.diagonal().argsort(descending=True).tolist():
        same = [k for k in taken if rationales.label[k] == rationales.label[j] and score[k, j] >= floor[j]]
        if same:
            result[j] = result[max(same, key=lambda k: float(score[k, j]))]
        else:
            taken.append(j)
    return result
