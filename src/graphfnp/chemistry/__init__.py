"""All that knows RDKit: molecules read, standardised and featurised; their fragments, alerts, patterns and valences."""

PUBLIC = {  # what other packages may use, by module
    "alerts": "ALERTS alerts_in",
    "atoms": "read_token",
    "fragments": "fragment_of fragment_smiles fragments units",
    "molecule_arrays": "Arrays featurise joined",
    "patterns": "SubstructureIndex smarts_of",
    "read_rows": "Target molecule_of target_from",
    "read_smiles": "read_molecule",
    "reading": "MODULES READ are_molecules read_molecules reading_pool smiles_of_records target_of",
    "sketches": "structure_to_mol",
    "smiles": "graphs_from_smiles molecule_schema packed reads_smiles",
    "standardise": "counted told",
    "structures": "graphs_from_structures repaired structure_to_smiles structures_from_graphs words_of",
    "valence": "valence_rules",
}
