"""Measures: pure functions of values, and ``evaluate``, which takes all of them of a model."""

PUBLIC = {  # what other packages may use, by module
    "calibration_error": "reliability_bins",
    "evaluation": "evaluate evaluate_part rationale_scores",
    "explanation": "edge_roc_auc label_fidelity precision_at_k probability_fidelity sparsity stability",
    "links": "link_scores",
    "rationale_f1": "rationale_f1",
    "scores": "all_scores conformal_scores negative_log_likelihood risk_coverage",
}
