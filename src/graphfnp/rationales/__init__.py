"""What the model looks for, decoded into small graphs and ranked by its own evidence; explanations by it."""

PUBLIC = {  # what other packages may use, by module
    "candidates": "refined_colours refined_hash",
    "config": "DecodingConfig decoding_for",
    "explain": "SMALLEST_CORRELATION RationaleExplanations explain_by_rationales",
    "find": "find_rationales",
    "kernels": "correlations",
    "measures": "rationale_measures",
    "records": "rationale_records",
    "store": "DECODED REVISION DecodedRationales decode kept_key load_decoded save_decoded",
}
