"""Work on rows from outside in processes that can be killed: whatever a row does, it costs that row alone."""

PUBLIC = {  # what other packages may use, by module
    "pool": "Pool Rows shared_pool",
    "process": "Limits",
}
