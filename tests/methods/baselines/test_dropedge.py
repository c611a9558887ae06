"""Known answers of DropEdge."""

import pytest
import torch
from checks import close, new

from graphfnp.graphs.packed import Batch, PackedGraphs
from graphfnp.methods.baselines.dropedge import without_some_edges as without_edges


def test_edges_go_in_both_directions_together_and_about_as_often_as_said(motifs: PackedGraphs) -> None:
    batch = motifs.batch()
    torch.manual_seed(0)
    fewer = without_edges(batch, 0.3)
    present = {(int(u), int(v)) for u, v in fewer.edge_index.T}
    assert present == {(v, u) for u, v in present}
    assert fewer.edge_index.shape[1] / batch.edge_index.shape[1] == pytest.approx(0.7, abs=0.05)
    assert torch.equal(fewer.x, batch.x)


def test_a_kept_edge_keeps_its_type(batch: Batch) -> None:
    torch.manual_seed(0)
    fewer = without_edges(batch, 0.5)

    def typed(part: Batch) -> set[tuple[int, ...]]:
        assert part.edge_attr is not None
        return {tuple(row) for row in torch.cat([part.edge_index.T, part.edge_attr], dim=1).tolist()}

    assert typed(fewer) < typed(batch)


def test_dropedge_drops_in_training_only(graphs: PackedGraphs, batch: Batch) -> None:
    classifier = new("dropedge", graphs, edge_dropout=0.5, **{"backbone.batch_norm": False})
    with torch.no_grad():
        training = [classifier.train().encode(batch).state for _ in range(2)]
        predicting = [classifier.eval().encode(batch).state for _ in range(2)]
    assert not torch.allclose(*training)
    assert torch.equal(*predicting)
    vanilla = new("vanilla", graphs, **{"backbone.batch_norm": False}).eval()
    vanilla.load_state_dict(classifier.state_dict())
    close(predicting[0], vanilla.encode(batch).state.detach())
