"""Methods: the contract all of them keep, the registry of their names, GraphFNP and the baselines."""

PUBLIC = {  # what other packages may use, by module
    "contract": "Encoding GraphClassifier LossTerms Phase RationaleModel check_partition with_rationales",
    "graphfnp.decoder.sampling": "PartialGraphs",
    "rationales": "NOTHING UNREACHED Rationales Source",
    "registry": "CLASSIFIERS make_classifier make_config",
}
