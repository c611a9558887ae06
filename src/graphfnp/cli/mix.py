"""The label mix a user names with ``--mix``, and what the probabilities assume, in words."""

from graphfnp.graphs.packed import PackedGraphs
from graphfnp.prediction.label_mix import ESTIMATE, assumed_mix, estimated_mix, for_mix, mix_words, read_mix
from graphfnp.prediction.predict import TrainedModel, predict


def model_for_mix(model: TrainedModel, mix: str | None, graphs: PackedGraphs | None = None) -> TrainedModel:
    """The model for the label mix a user asks for; ``graphs`` are those whose mix may be estimated."""
    if mix is None:
        return model
    names, usual = model.classifier.schema.class_names, assumed_mix(model)
    if mix == ESTIMATE and graphs is not None:
        return for_mix(model, estimated_mix(model, predict(model, graphs)))
    return for_mix(model, read_mix(mix, names, usual or [1 / len(names)] * len(names)))


def mix_line(model: TrainedModel) -> str:
    """What the probabilities assume, with the names of the classes."""
    return f"probabilities are for this label mix: {mix_words(assumed_mix(model), model.classifier.schema.class_names)}"
