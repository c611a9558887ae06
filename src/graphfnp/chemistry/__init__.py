"""All that knows RDKit: molecules read, standardised and featurised; their fragments, alerts, patterns and valences."""

PUBLIC = {  # what other packages may use, by module
    "alerts": "ALERTS alerts_in",
    "atoms": "read_token",
    "attachments": "fragment_of fragment_smiles",
    "fragments": "fragments units",
    "molecule_arrays": "Arrays featurise joined",
    "patterns": "SubstructureIndex smarts_of",
    "read_rows": "Target molecule_of target_from",
    "read_smiles": "read_molecule",
    "reading": "MODULES READ are_molecules read_molecules reading_pool smiles_of_records target_of",
    "repair": "repaired",
    "sketches": "structure_to_mol",
    "smiles": "graphs_from_smiles molecule_schema packed",
    "structures": "graphs_from_structures structure_to_smiles structures_from_graphs",
    "typed_smiles": "graphs_in_schema reads_smiles",
    "valence": "valence_rules",
}
