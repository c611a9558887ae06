"""Load test of the service on loopback: throughput, p99 and errors for one molecule a request, and for many.

python benchmarks/service.py [--model bbbp] [--seconds 20] [--clients 16]

Clients share the machine with the service, so requests a second are a floor; the service's own processor time a
molecule says what a free core could do. Written to benchmarks/results/service.json.
"""

import argparse
import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import psutil

RESULT = Path(__file__).parent / "results" / "service.json"
MOLECULES = (
    "CC(=O)Oc1ccccc1C(=O)O", "Cn1c(=O)c2c(ncn2C)n(C)c1=O", "CN1C(=O)CN=C(c2ccccc2)c2cc(Cl)ccc21", "NCCc1ccc(O)c(O)c1",
    "CC(C)Cc1ccc(cc1)C(C)C(=O)O", "OCC1OC(O)C(O)C(O)C1O", "CN1CCC[C@H]1c1cccnc1", "COc1ccc2[nH]cc(CCNC(C)=O)c2c1",
)  # fmt: skip


def start(model: str) -> tuple[subprocess.Popen, str]:
    command = [sys.executable, "-m", "graphfnp.cli.app", "serve", model, "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(r"http://\S+", line):
            return process, found[0]
    raise SystemExit("the service did not start")


async def load(address: str, service: psutil.Process, clients: int, rows: int, seconds: float) -> dict[str, float]:
    """Every client asks again as soon as it is answered."""
    times: list[float] = []
    errors = 0

    async def one_client(number: int, client: httpx.AsyncClient, until: float) -> None:
        nonlocal errors
        while True:
            smiles = [MOLECULES[(number + k) % len(MOLECULES)] for k in range(rows)]
            began = time.perf_counter()
            try:
                answer = await client.post(f"{address}/predict", json={"smiles": smiles})
                errors += answer.status_code != 200 or len(answer.json()["records"]) != rows
            except httpx.HTTPError as error:
                print(repr(error), file=sys.stderr)
                errors += 1
            times.append(time.perf_counter() - began)
            if time.perf_counter() >= until:
                return

    limits = httpx.Limits(max_connections=clients, max_keepalive_connections=clients)
    async with httpx.AsyncClient(timeout=300, limits=limits) as client:  # one pool: a connection for each client
        before, began = sum(service.cpu_times()[:2]), time.perf_counter()
        await asyncio.gather(*(one_client(k, client, began + seconds) for k in range(clients)))
        took, used = time.perf_counter() - began, sum(service.cpu_times()[:2]) - before
    times.sort()
    return {
        "clients": clients, "rows_a_request": rows, "requests": len(times), "errors": errors,
        "requests_a_second": round(len(times) / took, 1), "molecules_a_second": round(rows * len(times) / took, 1),
        "service_ms_a_molecule": round(1000 * used / (rows * len(times)), 2),
        "p50_ms": round(1000 * times[len(times) // 2], 1), "p99_ms": round(1000 * times[int(0.99 * len(times))], 1),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", default="bbbp")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--out", type=Path, default=RESULT)
    asked = parser.parse_args()
    process, address = start(asked.model)
    service = psutil.Process(process.pid)
    try:
        asyncio.run(load(address, service, 2, 8, 3.0))  # warm up
        runs = [
            asyncio.run(load(address, service, clients, rows, asked.seconds))
            for clients, rows in ((1, 1), (asked.clients, 1), (50, 1), (4, 200))
        ]
    finally:
        process.send_signal(signal.SIGTERM)
        code = process.wait(120)
    result = {
        "command": f"python benchmarks/service.py --model {asked.model} --seconds {asked.seconds:g}",
        "cores": os.cpu_count(),
        "load_average": [round(one, 1) for one in os.getloadavg()],
        "exit_code_after_sigterm": code,
        "runs": runs,
    }
    asked.out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
