"""Explainers for any PyG classifier, one algorithm a file, and their scores."""

PUBLIC = {  # what other packages may use, by module
    "edge_masks": "nodes_of_edges",
    "explain": "EXPLAINERS explain",
    "explanations": "Explanations",
    "records": "explanation_records",
    "scores": "GENERATORS explainer_rationale_f1 explanation_scores judged subset with_known_reasons",
}
