"""Load test of the service on loopback: throughput, p99 and errors for one molecule a request, and for many.

python benchmarks/service.py [--model bbbp] [--seconds 20] [--clients 16]

Clients share the machine with the service, so requests a second are a floor; the service's own processor time a
molecule says what a free core could do.
"""

import argparse
import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

import psutil

from side_by_side import record, row

HOST = "127.0.0.1"
MOLECULES = (
    "CC(=O)Oc1ccccc1C(=O)O", "Cn1c(=O)c2c(ncn2C)n(C)c1=O", "CN1C(=O)CN=C(c2ccccc2)c2cc(Cl)ccc21", "NCCc1ccc(O)c(O)c1",
    "CC(C)Cc1ccc(cc1)C(C)C(=O)O", "OCC1OC(O)C(O)C(O)C1O", "CN1CCC[C@H]1c1cccnc1", "COc1ccc2[nH]cc(CCNC(C)=O)c2c1",
)  # fmt: skip


def start(model: str) -> tuple[subprocess.Popen, int, float]:
    """The service, its port, and the seconds until it says so."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "graphfnp.cli.app", "serve", model, "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(r"http://\S+:(\d+)", line):
            ready = time.perf_counter() - began
            threading.Thread(target=process.stderr.read, daemon=True).start()  # unread, it stops its writer
            return process, int(found[1]), ready
    raise SystemExit("the service did not start")


async def one_client(port: int, smiles: list[str], until: float, times: list[float]) -> int:
    """Asks again as soon as it is answered; the number of wrong answers.

    Bytes written by hand: a library for HTTP takes as long for an answer as the service does, and both share a core.
    """
    body = json.dumps({"smiles": smiles}).encode()
    head = f"POST /predict HTTP/1.1\r\nhost: {HOST}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
    reader, writer = await asyncio.open_connection(HOST, port)
    errors = 0
    while True:
        began = time.perf_counter()
        writer.write(head.encode() + b"\r\n\r\n" + body)
        said = await reader.readuntil(b"\r\n\r\n")
        answer = await reader.readexactly(int(re.search(rb"content-length: (\d+)", said)[1]))
        times.append(time.perf_counter() - began)
        errors += b" 200 " not in said[:20] or answer.count(b'"status":"ok"') != len(smiles)
        if time.perf_counter() >= until:
            writer.close()
            return errors


async def load(port: int, service: psutil.Process, clients: int, rows: int, seconds: float) -> dict[str, float]:
    times: list[float] = []
    before, own, began = _used(service), time.process_time(), time.perf_counter()
    texts = [[MOLECULES[(number + k) % len(MOLECULES)] for k in range(rows)] for number in range(clients)]
    errors = sum(await asyncio.gather(*(one_client(port, some, began + seconds, times) for some in texts)))
    took, after, own = time.perf_counter() - began, _used(service), time.process_time() - own
    times.sort()
    each = 1000 / (rows * len(times))
    return {
        "clients": clients, "rows_a_request": rows, "requests": len(times), "errors": errors,
        "requests_a_second": round(len(times) / took, 1), "molecules_a_second": round(rows * len(times) / took, 1),
        "service_ms_a_molecule": round(each * (after[0] - before[0]), 2),
        "readers_ms_a_molecule": round(each * (after[1] - before[1]), 2),
        "clients_ms_a_molecule": round(each * own, 2),
        "p50_ms": round(1000 * times[len(times) // 2], 1), "p99_ms": round(1000 * times[int(0.99 * len(times))], 1),
    }  # fmt: skip


def _used(service: psutil.Process) -> tuple[float, float]:
    """Seconds of processors: of the service, and of the processes that read for it."""
    readers = [one.cpu_times() for one in service.children(recursive=True)]
    return sum(service.cpu_times()[:2]), sum(times.user + times.system for times in readers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", default="bbbp")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--json", action="store_true", help="also write benchmarks/results/service.json")
    asked = parser.parse_args()
    process, port, ready = start(asked.model)
    service = psutil.Process(process.pid)
    try:
        asyncio.run(load(port, service, 2, 8, 3.0))  # warm up
        runs = [
            asyncio.run(load(port, service, clients, rows, asked.seconds))
            for clients, rows in ((1, 1), (asked.clients, 1), (50, 1), (4, 200))
        ]
    finally:
        process.send_signal(signal.SIGTERM)
        code = process.wait(120)
    for run in runs:
        print(json.dumps(run))
    print(f"ready after {ready:.2f} s; exit code after SIGTERM {code}")
    if asked.json:
        facts = {"seconds_until_ready": round(ready, 2), "exit_code_after_sigterm": code, "runs": runs}
        record("service", {}, table_rows(runs), **facts)


def table_rows(runs: list[dict[str, float]]) -> list[dict]:
    one, some, many, long = runs
    lone = one["service_ms_a_molecule"] + one["readers_ms_a_molecule"]
    return [
        row("service: a lone molecule", f"{lone:.1f} ms of processors, p50 {one['p50_ms']} ms", aim="below 4 ms"),
        row(f"service: {some['clients']} clients", f"{some['requests_a_second']:.0f} requests a second", aim="600"),
        row(
            f"service: {many['clients']} clients",
            f"{many['requests_a_second']:.0f} requests a second, p99 {many['p99_ms']:.0f} ms",
            aim="p99 below 250 ms",
        ),
        row(
            "service: requests of 200 rows",
            f"{long['molecules_a_second']:,.0f} molecules a second",
            aim=".8 of a file's",
        ),
    ]


if __name__ == "__main__":
    main()
