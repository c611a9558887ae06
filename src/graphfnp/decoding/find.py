"""Decode every rationale: the best of many candidates, then without what its evidence does not need."""

from dataclasses import replace
from itertools import islice

import torch
from torch import Tensor

from graphfnp.datasets.atoms import read_token
from graphfnp.datasets.structures import structure_to_mol
from graphfnp.decoding.candidates import Candidates, drawn_candidates, nearest_parts
from graphfnp.decoding.choice import SPEAKING, Finalists, chosen, in_data
from graphfnp.decoding.config import DecodingConfig, decoding_for
from graphfnp.decoding.correlations import correlations
from graphfnp.decoding.evidence import evidence
from graphfnp.decoding.pruning import pruned
from graphfnp.decoding.representative import Representatives
from graphfnp.decoding.support import Support
from graphfnp.decoding.tokens import with_known_features, with_usual_features
from graphfnp.graphs import PackedGraphs, Schema
from graphfnp.prediction import TrainedModel
from graphfnp.randomness import stream
from graphfnp.rationales import Rationales, Structure


@torch.no_grad()
def find_rationales(
    model: TrainedModel, config: DecodingConfig | None = None, seed: int = 0, graphs: PackedGraphs | None = None
) -> Rationales | None:
    """A structure for each rationale; None if the method has none.

    With ``graphs``, the training graphs, parts of them are candidates too (``config.training_graphs``), and where
    structures occur in them has a say in ranking and pruning. Without, all is left to decoder and classifier.
    """
    classifier = model.classifier
    rationales = classifier.rationales()
    if rationales is None:
        return None
    classifier.eval()
    config = config or decoding_for(classifier.schema)
    generator = stream(seed, "decoding")
    candidates = Candidates()
    if config.candidates or config.beam:
        candidates = drawn_candidates(model, rationales, config, generator)
        if classifier.schema.is_continuous and graphs is not None:
            candidates.structures = with_known_features(candidates.structures, graphs)
    if config.training_graphs and graphs is not None:
        near = correlations(model, graphs, num_draws=8)
        assert near is not None
        candidates = candidates + nearest_parts(rationales, near, graphs, config, generator)
    if classifier.schema.is_continuous and graphs is not None:
        candidates.structures = with_usual_features(candidates.structures, graphs)
    support = None if graphs is None or classifier.schema.is_continuous else Support.of(graphs)
    return _best(model, rationales, candidates.distinct(classifier.schema), config, support)


def _best(
    model: TrainedModel,
    rationales: Rationales,
    candidates: Candidates,
    config: DecodingConfig,
    support: Support | None,
) -> Rationales:
    schema, owner = model.classifier.schema, torch.tensor(candidates.owner)
    first = evidence(model, candidates.structures, owner)
    score = first.score(config) + SPEAKING * (first.log_odds > 0)
    pools = [(torch.where(owner == r)[0], label) for r, label in enumerate(rationales.label.tolist())]
    kept = torch.cat([_finalists(candidates, score, mine, label, schema, config, support) for mine, label in pools])
    owner = owner[kept]
    smaller = pruned(model, [candidates.structures[k] for k in kept.tolist()], owner, config, support)
    speaking = evidence(model, smaller, owner).log_odds > 0
    if support is not None:
        representative = Representatives(support, config.largest)
        smaller = [representative(one) for one in smaller]
    found = evidence(model, smaller, owner)
    sound = torch.tensor([is_sound(one, schema) for one in smaller])
    finalists = Finalists(smaller, owner, rationales.label[owner], found.score(config), speaking, sound)
    best = chosen(finalists, support, config)
    return replace(
        rationales,
        structures=tuple(smaller[k] for k in best),
        class_probability=found.probability[best],
        similarity=found.log_kernel[best].exp(),
        log_odds=found.log_odds[best],
        source=tuple(candidates.source[k] for k in kept[best].tolist()),
    )


def _finalists(
    candidates: Candidates,
    score: Tensor,
    mine: Tensor,
    label: int,
    schema: Schema,
    config: DecodingConfig,
    support: Support | None,
) -> Tensor:
    """The best sound ones of ``mine``, with what the data says of them; if none is sound, the best of all."""
    order = mine[score[mine].argsort(descending=True)].tolist()
    sound = list(islice((k for k in order if is_sound(candidates.structures[k], schema)), config.looked_up))
    if not sound:
        return torch.tensor(order[:1])
    if support is not None:
        judged = {k: float(score[k]) + in_data(candidates.structures[k], label, support, config) for k in sound}
        sound = sorted(sound, key=lambda k: -judged[k])
    return torch.tensor(sound[: config.finalists])


def is_sound(structure: Structure, schema: Schema) -> bool:
    """A molecule where it should be one; where names carry no charges, one whose restored charges cancel."""
    if schema.kind != "molecule":
        return True
    molecule = structure_to_mol(structure, schema)
    if molecule is None:
        return False
    charged = any(read_token(name)[1] for name in schema.node_types)
    return charged or sum(atom.GetFormalCharge() for atom in molecule.GetAtoms()) == 0
