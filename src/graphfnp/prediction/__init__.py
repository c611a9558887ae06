"""Trained models and what they say: probabilities, their calibration, conformal sets, domain and label mix; records."""

PUBLIC = {  # what other packages may use, by module
    "arrow": "column",
    "calibrate": "calibrate labelled checked_kind cross_fitted fit_held_out held_back",
    "calibration": "FEWEST_GRAPHS Calibration Kind can_tell fit_calibration",
    "conformal": "LEVEL Conformal",
    "decision": "Decision Rule fit_decision",
    "domain": "EDGE UNLIKE VERDICTS Domain Placement",
    "label_mix": "ESTIMATE EVEN FEWEST_GRAPHS TRAINING as_trained assumed_mix estimated_mix "
    "for_mix label_shares label_shift mix_told mix_words models_for moved_to_mix read_mix",
    "pick": "class_number pick",
    "predict": "BATCH_SIZE NODE_BUDGET NUM_DRAWS RawPredictions TrainedModel "
    "check_model collect conformal_sets fit_domain graphs_of predict",
    "predictions": "Predictions",
    "provenance": "Provenance data_hash",
    "records": "FAILED OK as_dictionaries as_text prediction_records record_schema record_table",
    "saving": "DOMAIN FORMAT HELD_OUT HELD_OUT_NEXT MODEL_FILES MODEL_RECORD MODEL_TENSORS replace_record "
    "save_held_out save_model settle_held_out",
    "shift": "weighted_for",
}
