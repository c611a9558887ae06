"""The paper's tables as data: cells that are trained once, kept, and rendered beside the published numbers."""

PUBLIC = {  # what other packages may use, by module
    "claims": "claims",
    "document": "documents page_name",
    "fill": "CellProgress Outcome fill fill_cluster",
    "outstanding": "outstanding",
    "overview": "claim_parts render_outstanding",
    "render": "Part missing parts",
    "results": "Results",
    "summary": "costs summaries",
    "tables": "TABLES Table",
}
