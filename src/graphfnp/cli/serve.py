"""``graphfnp serve``: a model behind HTTP, with a page."""

import os
from pathlib import Path
from typing import Annotated

import typer

from graphfnp.cli.options import DataFolder


def serve(
    run: Annotated[
        Path,
        typer.Argument(metavar="[RUN]", help="Run folder or bundled model; several with commas: bbbp,mutagenicity."),
    ] = Path("bbbp"),
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 lets other machines in.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.", min=0, max=65535)] = 8000,
    api_key: Annotated[
        str | None, typer.Option(envvar="GRAPHFNP_API_KEY", help="Key that every request must send.", show_envvar=True)
    ] = None,
    max_rows: Annotated[int, typer.Option(help="Maximum rows of a request.", min=1)] = 2000,
    max_bytes: Annotated[int, typer.Option(help="Maximum bytes of a request.", min=1)] = 4_000_000,
    max_nodes: Annotated[int, typer.Option(help="Maximum atoms or nodes of a row.", min=1)] = 400,
    seconds: Annotated[float, typer.Option(help="Time limit of a request.", min=0.1)] = 120.0,
    row_seconds: Annotated[
        float, typer.Option(help="Limit of processor time to read one row, in seconds.", min=0.001)
    ] = 0.5,
    row_megabytes: Annotated[int, typer.Option(help="Limit of memory to read one row, in MB.", min=64)] = 512,
    max_connections: Annotated[int, typer.Option(help="Maximum open connections.", min=1)] = 512,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="A name that a proxy on this machine sends as Host; may be repeated.")
    ] = None,
    threads: Annotated[int, typer.Option(help="Threads for the model.", min=1)] = 1,
    log_level: Annotated[
        str, typer.Option(help="debug, info (a line for each request, without its molecules), warning or error.")
    ] = "info",
    log_json: Annotated[bool, typer.Option("--log-json", help="Log a JSON object a line.")] = False,
    data: DataFolder = None,
) -> None:
    """Serve predictions, explanations and a page at http://HOST:PORT; ends well on SIGTERM and Ctrl-C."""

    from graphfnp.errors import InvalidConfig
    from graphfnp.service.config import LOOPBACK, ServiceConfig

    if api_key is None and os.environ.get("GRAPHFNP_API_KEY") is not None:
        api_key = ""  # set, but empty: whoever wrote it wanted a key
    config = ServiceConfig(
        host, port, api_key, most_bytes=max_bytes, most_rows=max_rows, most_nodes=max_nodes, seconds=seconds,
        row_seconds=row_seconds, row_megabytes=row_megabytes, most_connections=max_connections,
        allowed_hosts=tuple(allow_host or ()), log_level=log_level, log_json=log_json,
    )  # fmt: skip

    try:
        import fastapi  # noqa: F401
        import prometheus_client  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as missing:
        raise InvalidConfig(
            f"serve without {missing.name}", "the extra `service`", "pip install 'graphfnp[service]'"
        ) from None

    import torch

    from graphfnp.cli.console import err, note
    from graphfnp.rationales.store import DECODED
    from graphfnp.runs.decoded import decoded_of_run
    from graphfnp.runs.panel import open_panel
    from graphfnp.service.app import make_app
    from graphfnp.service.engine import Engine
    from graphfnp.service.panel import make_panel
    from graphfnp.service.server import listen, open_to_all
    from graphfnp.service.server import serve as run_server

    torch.set_num_threads(threads)
    listening = listen(host, port)  # before the model is read: a taken port should be heard of at once
    runs = open_panel(run)
    with err.status("loading the model"):
        engines = {}
        for name, one in runs.items():
            has_rationales = one.model.classifier.rationale_model is not None
            if has_rationales and not (one.folder / DECODED).is_file():
                note(f"{name} has no decoded rationales: decoding them takes a minute or more")
            engines[name] = Engine(one, decoded_of_run(one, data) if has_rationales else None, config)
        first, *others = engines.values()
        app = make_panel(engines, config) if others else make_app(first)
    open_to_all(listening)  # before the address is told: who asks at once should not be turned away
    shown = f"[{host}]" if ":" in host else host
    err.print(f"{', '.join(runs)} at http://{shown}:{listening.getsockname()[1]}", markup=False, soft_wrap=True)
    if host not in LOOPBACK and api_key is None:
        err.print("other machines can reach this service: consider --api-key", style="yellow")
    run_server(app, config, listening)
