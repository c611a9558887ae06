"""Raw files to a Dataset: the catalogue, where files come from, one reader a format, and splits."""

PUBLIC = {  # what other packages may use, by module
    "catalogue": "CATALOGUE",
    "columns": "molecule_share name_column smiles_column",
    "csv_rows": "QuoteNotes csv_rows",
    "dataset": "PARTS Dataset Split",
    "duplicates": "seen_before",
    "inputs": "described graphs_from_inputs",
    "load": "fetch is_name load",
    "split": "random_split",
    "table_files": "cell_text check_no_workbook check_parquet delimiter_of text_table",
    "tables": "summary",
}
