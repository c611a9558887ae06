"""A file of molecules to a file of records, as a stream that can be interrupted."""

PUBLIC = {  # what other packages may use, by module
    "object_storage": "address_of fetched sent",
    "parts": "SHOWN_PROBLEMS Counts",
    "record_files": "ENDINGS beside check_target column_notes write_record_file",
    "rows": "can_stream",
    "score_file": "Execution Watch score_file",
    "scorer": "ALONE SHARED Settings about side_by_side together",
}
