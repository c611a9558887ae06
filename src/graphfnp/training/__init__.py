"""Training: the only loop, its recipe, its state on disk, class weights and averaged weights."""

PUBLIC = {  # what other packages may use, by module
    "class_balance": "check_labels resampled",
    "config": "TrainingConfig enough_epochs",
    "start": "backbone_settings start_from",
    "state": "STATE_FILE",
    "train": "Event Training leave_processes one_process train",
}
