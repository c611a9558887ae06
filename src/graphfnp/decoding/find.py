"""Decode every rationale: the best of many candidates, then without what its evidence does not need."""

from dataclasses import replace
from itertools import islice

import torch
from torch import Tensor

from graphfnp.datasets.atoms import read_token
from graphfnp.datasets.structures import structure_to_mol
from graphfnp.decoding.candidates import Candidates, drawn_candidates, nearest_parts
from graphfnp.decoding.config import DecodingConfig, decoding_for
from graphfnp.decoding.correlations import correlations
from graphfnp.decoding.evidence import evidence
from graphfnp.decoding.pruning import pruned
from graphfnp.decoding.support import Support
from graphfnp.decoding.tokens import with_known_features
from graphfnp.graphs import PackedGraphs, Schema
from graphfnp.prediction import TrainedModel
from graphfnp.randomness import stream
from graphfnp.rationales import Rationales, Structure

INVALID = 1e6  # what a structure that is no molecule loses: it is shown only where there is no other


@torch.no_grad()
def find_rationales(
    model: TrainedModel, config: DecodingConfig | None = None, seed: int = 0, graphs: PackedGraphs | None = None
) -> Rationales | None:
    """A structure for each rationale; None if the method has none.

    With ``graphs``, the training graphs, parts of them are candidates too (``config.training_graphs``) and pruning may
    look at where structures occur. Without, decoding is left to the decoder alone.
    """
    classifier = model.classifier
    rationales = classifier.rationales()
    if rationales is None:
        return None
    classifier.eval()
    config = config or decoding_for(classifier.schema)
    generator = stream(seed, "decoding")
    candidates = Candidates()
    if config.candidates:
        candidates = drawn_candidates(model, rationales, config, generator)
        if classifier.schema.is_continuous and graphs is not None:
            candidates.structures = with_known_features(candidates.structures, graphs)
    if config.training_graphs and graphs is not None:
        near = correlations(model, graphs, num_draws=8)
        assert near is not None
        candidates = candidates + nearest_parts(rationales, near, graphs, config, generator)
    return _best(model, rationales, candidates.distinct(), config, graphs)


def _best(
    model: TrainedModel,
    rationales: Rationales,
    candidates: Candidates,
    config: DecodingConfig,
    graphs: PackedGraphs | None,
) -> Rationales:
    schema, owner = model.classifier.schema, torch.tensor(candidates.owner)
    score = evidence(model, candidates.structures, owner).score(config)
    beam = torch.cat([_sound_first(candidates, score, owner == r, schema, config.beam) for r in range(len(rationales))])
    support = None if graphs is None or schema.is_continuous else Support.of(graphs)
    smaller = pruned(model, [candidates.structures[k] for k in beam.tolist()], owner[beam], config, support)
    found = evidence(model, smaller, owner[beam])
    final = found.score(config) - INVALID * torch.tensor([not is_sound(one, schema) for one in smaller])
    if support is not None and config.data_weight:
        label = rationales.label[owner[beam]].tolist()
        ratios = [support.log_odds_ratio(one, own) for one, own in zip(smaller, label, strict=True)]
        final = final + config.data_weight * torch.tensor(ratios)
    best = torch.stack([torch.where(owner[beam] == r, final, -torch.inf).argmax() for r in range(len(rationales))])
    return replace(
        rationales,
        structures=tuple(smaller[k] for k in best.tolist()),
        class_probability=found.probability[best],
        similarity=found.log_kernel[best].exp(),
        log_odds=found.log_odds[best],
        source=tuple(candidates.source[k] for k in beam[best].tolist()),
    )


def _sound_first(candidates: Candidates, score: Tensor, mine: Tensor, schema: Schema, count: int) -> Tensor:
    """The best sound candidates; where there is none, the best of all."""
    order = torch.where(mine, score, -torch.inf).argsort(descending=True)[: int(mine.sum())]
    sound = islice((k for k in order.tolist() if is_sound(candidates.structures[k], schema)), count)
    return torch.tensor(list(sound) or order[:1].tolist())


def is_sound(structure: Structure, schema: Schema) -> bool:
    """A molecule where it should be one; where names carry no charges, one whose restored charges cancel."""
    if schema.kind != "molecule":
        return True
    molecule = structure_to_mol(structure, schema)
    if molecule is None:
        return False
    charged = any(read_token(name)[1] for name in schema.node_types)
    return charged or sum(atom.GetFormalCharge() for atom in molecule.GetAtoms()) == 0
