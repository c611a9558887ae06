"""Molecules that RDKit cannot search in reasonable time, told from their edges before it is asked. Imports no torch."""

from collections.abc import Sequence

MOST_NEIGHBOURS = 24  # of an atom; chemistry knows 16, and RDKit counts valences in bytes
MOST_RINGS = 100  # independent rings of one ring system: C60 has 31
MOST_CYCLES = (
    4096  # smallest rings that RDKit lists: chains of para-linked rings bent to a circle double them each time
)


def too_complex(num_atoms: int, edges: Sequence[tuple[int, int]]) -> str | None:
    """Why RDKit is not asked, or None: an atom's degree, or edges - atoms + 1 of a ring system, is beyond sense."""
    neighbours: list[list[int]] = [[] for _ in range(num_atoms)]
    for a, b in edges:
        neighbours[a].append(b)
        neighbours[b].append(a)
    most = max(map(len, neighbours), default=0)
    if most > MOST_NEIGHBOURS:
        return f"an atom with {most} neighbours, more than the limit of {MOST_NEIGHBOURS}"
    rings = most_rings(neighbours) if len(edges) > MOST_RINGS else 0
    return f"a ring system of {rings} rings, more than the limit of {MOST_RINGS}" if rings > MOST_RINGS else None


def most_rings(neighbours: Sequence[Sequence[int]]) -> int:
    """The most independent rings, edges - atoms + 1, of a block (biconnected component, by Tarjan)."""
    count, best, clock = len(neighbours), 0, 0
    found, low, position = [0] * count, [0] * count, [0] * count
    edges: list[tuple[int, int]] = []
    for root in range(count):
        if found[root]:
            continue
        clock += 1
        found[root] = low[root] = clock
        path = [(root, -1)]
        while path:
            node, parent = path[-1]
            if position[node] < len(neighbours[node]):
                other = neighbours[node][position[node]]
                position[node] += 1
                if not found[other]:
                    clock += 1
                    found[other] = low[other] = clock
                    edges.append((node, other))
                    path.append((other, node))
                elif other != parent and found[other] < found[node]:
                    edges.append((node, other))
                    low[node] = min(low[node], found[other])
                continue
            path.pop()
            if parent >= 0:
                low[parent] = min(low[parent], low[node])
                if low[node] >= found[parent]:  # a block ends here
                    block: list[tuple[int, int]] = []
                    while not block or block[-1] != (parent, node):
                        block.append(edges.pop())
                    best = max(best, len(block) - len({end for edge in block for end in edge}) + 1)
    return best
