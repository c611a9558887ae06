"""Parts that know tensors and batches, not methods: backbones, layers, distributions, draws."""

PUBLIC = {  # what other packages may use, by module
    "backbone": "Backbone BackboneConfig ModuleBackbone make_backbone",
    "convolutions": "GCNLayer",
    "descriptors": "beside_columns descriptor_scaler fit_descriptors",
    "distributions": "DrawKind Gaussian hard_bernoulli kl_divergence "
    "log_one_minus_exp normal_draws relaxed_bernoulli uniform_draws",
    "features": "NodeInput",
    "graph_network": "GraphNetwork WeightVector",
    "k_means": "k_means",
    "mean_state": "mean_state",
    "mlp": "mlp normalised running_statistics",
    "neighbourhood": "mean_pool",
    "variational_process": "VariationalProcess",
}
