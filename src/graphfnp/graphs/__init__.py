"""Graphs as flat tensors, small graphs as plain numbers, and what can be done to both whatever they mean."""

PUBLIC = {  # what other packages may use, by module
    "degrees": "DEGREE_SIZE degree_feature",
    "edge_pairs": "edge_pairs pair_mean",
    "edges": "Integers TidyEdges global_edges tidy_edges",
    "fingerprints": "Fingerprints batch_fingerprints fingerprints",
    "foreign": "is_data is_dataset is_networkx",
    "labels": "label_numbers",
    "matching": "matching",
    "motifs": "motif_name",
    "packed": "UNLABELLED Batch PackedGraphs Schema concatenate",
    "pointers": "owners ranges pointer_array pointers position_within rank_within",
    "problem": "Problem Read",
    "pyg": "from_data_list from_dataset from_networkx to_data_list",
    "structure": "Structure as_networkx substructure",
    "subgraph_search": "Adjacency Pattern adjacency core_numbers",
    "subgraphs": "beside_subgraphs edges_both_ways induced_subgraphs random_connected_nodes",
}
