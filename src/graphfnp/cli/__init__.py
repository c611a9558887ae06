"""The command line: its subcommands are the verbs."""

PUBLIC = {  # what other packages may use, by module
    "app": "main",
}
