"""Structures found for rationales: of the right kind and size, reached by the kernel, valid."""

from dataclasses import replace

import pytest
import torch
from torch_geometric.data import Data

from graphfnp.chemistry.sketches import structure_to_mol
from graphfnp.chemistry.structures import graphs_from_structures, structures_from_graphs
from graphfnp.errors import InvalidConfig
from graphfnp.graphs.packed import Schema
from graphfnp.graphs.pyg import from_data_list
from graphfnp.graphs.structure import Structure
from graphfnp.kinds.kind_of import kind_of
from graphfnp.methods.rationales import Rationales
from graphfnp.methods.registry import make_classifier
from graphfnp.prediction.predict import TrainedModel
from graphfnp.rationales.config import DecodingConfig, decoding_for
from graphfnp.rationales.explain import explain_by_rationales
from graphfnp.rationales.find import find_rationales
from graphfnp.rationales.records import same_as
from tiny_graphs import small

FEW = {"candidates": 12}


@pytest.mark.parametrize("training_graphs", [0, 3])
def test_rationales_of_molecules_are_molecules(untrained, molecules, training_graphs: int) -> None:
    config = replace(decoding_for(molecules.schema), training_graphs=training_graphs, largest=8, **FEW)
    found = find_rationales(untrained, config, 0, molecules)
    assert found is not None
    assert len(found.structures) == len(found.source) == len(found) == 4
    drawn = [structure for structure in found.structures if structure is not None]
    assert all(structure_to_mol(structure, molecules.schema) is not None for structure in drawn)
    reached = [structure is not None for structure in found.structures]
    assert reached == (found.similarity >= 0.5).tolist()  # what the kernel does not answer to is not shown
    if not training_graphs:
        assert set(found.source) == {"decoder"}
    again = find_rationales(untrained, config, 0, molecules)
    assert [s and s.edges for s in found.structures] == [s and s.edges for s in again.structures]


def test_parts_alone_can_be_candidates(untrained, molecules) -> None:
    config = replace(decoding_for(molecules.schema), candidates=0)
    found = find_rationales(untrained, config, 0, molecules)
    assert set(found.source) == {"training part"}
    with pytest.raises(InvalidConfig):
        DecodingConfig(candidates=0, training_graphs=0)


def test_nodes_of_several_categories_keep_them_in_rationales_which_are_parts_of_training_graphs() -> None:
    torch.manual_seed(0)
    edges = torch.tensor([[0, 1, 2, 3, 1, 2, 3, 0], [1, 2, 3, 0, 0, 1, 2, 3]])
    rows = [torch.randint(5, (4, 3)) + torch.tensor([2 * (k % 2), 0, 0]) for k in range(8)]
    graphs = from_data_list([Data(x=x, edge_index=edges, y=k % 2) for k, x in enumerate(rows)])
    again = graphs_from_structures(structures_from_graphs(graphs), graphs.schema)
    assert torch.equal(again.x, graphs.x)
    model = TrainedModel(make_classifier("graphfnp", graphs.schema, small("graphfnp")))
    model.classifier.start_epoch(9, 10, graphs)
    assert set(find_rationales(model, replace(decoding_for(graphs.schema), **FEW), 0, graphs).source) == {
        "training part"
    }
    assert find_rationales(model, None, 0).structures == (None,) * 4  # the decoder alone draws no such nodes
    assert explain_by_rationales(model, find_rationales(model), graphs).places == ({},) * 8


def test_two_parts_of_one_shape_are_the_same_only_with_the_same_features() -> None:
    x, edges = torch.tensor([[0, 1], [1, 1], [0, 0]]), ((0, 1, 0), (1, 2, 0))
    one, other = (Structure((0, 0, 0), edges, features) for features in (x, x.flip(0)))
    found = Rationales(torch.zeros(3, 2), torch.zeros(3, dtype=torch.long), (one, other, Structure((0,) * 3, edges, x)))
    assert [same_as(found, number) for number in range(3)] == [None, None, 1]


def test_restored_charges_must_cancel() -> None:
    schema = Schema(("a", "b"), "molecule", (3,), node_types=("C", "N", "O"), edge_types=("single", "double"))
    assert kind_of(schema).is_valid(Structure((0, 1, 2, 2), ((0, 1, 0), (1, 2, 1), (1, 3, 0))))
    assert not kind_of(schema).is_valid(Structure((0, 1, 0, 0, 0), ((0, 1, 0), (1, 2, 0), (1, 3, 0), (1, 4, 0))))
