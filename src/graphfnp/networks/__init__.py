"""Parts that know tensors and batches, not methods: backbones, layers, distributions, draws."""

PUBLIC = {  # what other packages may use, by module
    "backbone": "Backbone BackboneConfig ModuleBackbone make_backbone",
    "bernoulli": "hard_bernoulli log_one_minus_exp relaxed_bernoulli",
    "convolutions": "GCNLayer",
    "draws": "DrawKind normal_draws uniform_draws",
    "edge_pairs": "pair_mean pair_numbers",
    "features": "NodeInput",
    "gaussian": "Gaussian kl_divergence",
    "graph_network": "GraphNetwork WeightVector",
    "k_means": "k_means",
    "mean_state": "mean_state",
    "mlp": "mlp",
    "neighbourhood": "mean_pool",
    "normalisation": "normalised running_statistics",
}
