"""Explainers for any PyG classifier, one algorithm a file, and their scores."""

PUBLIC = {  # what other packages may use, by module
    "explain": "EXPLAINERS explain",
    "explanations": "Explanations explanation_records nodes_of_edges",
    "scores": "GENERATORS explainer_rationale_f1 explanation_scores judged subset with_known_reasons",
}
