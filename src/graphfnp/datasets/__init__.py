"""Raw files to a Dataset: the catalogue, where files come from, one reader a format, and splits."""

PUBLIC = {  # what other packages may use, by module
    "archives": "unpack",
    "catalogue": "CATALOGUE",
    "columns": "molecule_share row_names smiles_column",
    "dataset": "PARTS Dataset Split read_split",
    "inputs": "described graphs_from_inputs label_column",
    "load": "check_table_options fetch is_name load",
    "sources": "cache_folder",
    "split": "random_split seen_before",
    "table_files": "QuoteNotes START cell_text check_no_workbook check_parquet csv_rows delimiter_of encoding_of "
    "text_table undeclared",
    "tables": "standard_notes summary",
}
