"""Standard forms: what RDKit's steps give, whatever way a molecule was written, and wherever it is read."""

import pytest
import torch

from graphfnp.chemistry.read_rows import Target
from graphfnp.chemistry.reading import read_molecules
from graphfnp.chemistry.smiles import graphs_from_smiles, molecule_schema
from graphfnp.chemistry.standardise import TOO_MANY, counted, standard_form, told

SALT, ACID = "CC(=O)[O-].[Na+]", "CC(=O)O"
ENOL, KETONE = "CC(O)=CC", "CCC(C)=O"
PEPTIDE = "NC(CC(N)=O)C(=O)" + "NC(CC(N)=O)C(=O)" * 8 + "O"  # each amide has tautomers: more than anybody lists


@pytest.mark.parametrize(
    ("given", "standard", "changes"),
    [
        (SALT, ACID, ("fragment", "charge")),
        ("O=C1C=CC=CN1", "O=c1cccc[nH]1", ()),
        ("Oc1ccccn1", "O=c1cccc[nH]1", ("tautomer",)),
        (ENOL, KETONE, ("tautomer",)),
        ("CN(=O)=O", "C[N+](=O)[O-]", ()),
        ("CCO[Na]", "CCO", ("cleaned", "fragment", "charge")),
        ("C[N+](C)(C)C.[Cl-]", "C[N+](C)(C)C", ("fragment",)),
    ],
)
def test_the_standard_form_is_what_rdkits_steps_give(given: str, standard: str, changes: tuple[str, ...]) -> None:
    assert standard_form(given) == (standard, changes)


def test_a_molecule_of_too_many_tautomers_keeps_its_own_and_says_so() -> None:
    form = standard_form(PEPTIDE)
    assert not isinstance(form, str)
    assert form.changes == (TOO_MANY,)


def test_a_row_that_cannot_be_standardised_harms_no_other() -> None:
    arrays, refused = read_molecules([SALT, "C1CC", PEPTIDE, ""], Target(standardise=True))
    assert arrays["row"].tolist() == [0, 2]
    assert [row for row, _ in refused] == [1, 3]


def test_a_graph_is_that_of_its_standard_form_and_knows_what_was_given() -> None:
    schema = molecule_schema(standardise=True)
    graphs, _, problems = graphs_from_smiles([SALT, "bad(", ENOL], [1, 0, 0], schema)
    plain, _, _ = graphs_from_smiles([ACID, KETONE])
    assert graphs is not None
    assert plain is not None
    assert graphs.text == (ACID, KETONE)
    assert torch.equal(graphs.x, plain.x)
    assert [one.given for one in graphs.origin or ()] == [SALT, ENOL]
    assert problems[0].row == 1
    assert graphs.select([1]).origin == (graphs.origin or ())[1:]


def test_the_counts_are_told() -> None:
    assert counted(["fragment, charge", "", None, "charge"]) == {"fragment": 1, "charge": 2}
    assert "fragment 1, charge 2; 3 have too many" in told({"fragment": 1, "charge": 2, TOO_MANY: 3}, 9)
