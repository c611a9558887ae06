"""A model behind HTTP, and the page in front of it."""

PUBLIC = {  # what other packages may use, by module
    "app": "make_app",
    "config": "LOOPBACK ServiceConfig",
    "engine": "Engine",
    "panel": "make_panel",
    "server": "listen open_to_all serve",
}
