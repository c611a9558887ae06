"""Run folders: what one training was made of and left behind; models in them, bundled models, model cards."""

PUBLIC = {  # what other packages may use, by module
    "bundles": "FOLDER is_bundled load_model open_run own_folder",
    "bundling": "PLANS bundle",
    "card": "card_text model_card",
    "checkpoint": "METRICS load_model",
    "decoded": "decoded_of_run",
    "panel": "check_ending endpoint_folders export is_panel load_panel open_panel write_panel",
    "run": "CONFIG EPOCHS PAGE SPLIT Plan Run Start check_new execute library_versions",
}
