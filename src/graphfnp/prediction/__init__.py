"""Trained models and what they say: probabilities, their calibration, conformal sets, domain and label mix; records."""

PUBLIC = {  # what other packages may use, by module
    "arrow": "column",
    "calibrate": "calibrate labelled checked_kind cross_fitted fit_held_out held_back",
    "calibration": "Calibration Kind fit_calibration",
    "conformal": "LEVEL Conformal",
    "domain": "EDGE UNLIKE VERDICTS Domain",
    "label_mix": "ESTIMATE TRAINING label_shares mix_told mix_words read_mix",
    "label_shift": "FEWEST_GRAPHS as_trained assumed_mix estimated_mix for_mix label_shift moved_to_mix",
    "predict": "BATCH_SIZE NODE_BUDGET NUM_DRAWS RawPredictions TrainedModel collect conformal_sets fit_domain "
    "graphs_of predict",
    "predictions": "Predictions",
    "provenance": "Provenance data_hash",
    "saving": "DOMAIN FORMAT MODEL_RECORD MODEL_TENSORS save_model",
    "records": "FAILED OK as_text prediction_records record_schema record_table text_schema",
}
