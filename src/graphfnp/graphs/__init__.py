"""Graphs as flat tensors, small graphs as plain numbers, and what can be done to both whatever they mean."""

PUBLIC = {  # what other packages may use, by module
    "descriptors": "RDKIT RDKIT_NAMES check_columns columns_in descriptor_list row_values table_values "
    "width_of with_values",
    "edges": "DEGREE_SIZE Integers TidyEdges degree_feature edge_pairs global_edges neighbours_once pair_mean "
    "tidy_edges",
    "fingerprints": "Fingerprints batch_fingerprints fingerprints",
    "labels": "label_numbers",
    "matching": "matching",
    "networkx_graphs": "from_networkx is_networkx",
    "packed": "UNLABELLED Batch Origin PackedGraphs Schema concatenate rows_of",
    "pointers": "owners ranges pointer_array pointers position_within rank_within",
    "problem": "Problem Read",
    "pyg": "from_data_list is_batch is_data is_dataset to_data_list",
    "storage": "load_graphs save_graphs",
    "structure": "Adjacency Pattern Structure adjacency as_networkx core_numbers largest_piece motif_name substructure",
    "subgraphs": "beside_subgraphs edges_both_ways induced_subgraphs random_connected_nodes",
}
