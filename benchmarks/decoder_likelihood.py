"""The decoder's likelihood in one vectorised pass against the plain definition, one node and one edge at a time.

python benchmarks/decoder_likelihood.py [--json]      prints both likelihoods and the ratio of times for both forms
"""

import torch
from torch import Tensor

from graphfnp.datasets.ba2motifs import generate_ba2motifs
from graphfnp.graphs.packed import Batch
from graphfnp.methods.graphfnp.decoder.breadth_first import FAR, breadth_first_order, decisions_in_order
from graphfnp.methods.graphfnp.decoder.graph_decoder import GraphDecoder, GraphDecoderConfig, gaussian_log_density
from graphfnp.methods.graphfnp.decoder.layers import pair_feature


def stepwise_log_likelihood(decoder: GraphDecoder, batch: Batch, order: Tensor, z: Tensor) -> Tensor:
    """[graphs]: log p(G | z), one graph, one node and one edge at a time."""
    values = []
    for graph in range(batch.num_graphs):
        nodes = order[batch.ptr[graph] : batch.ptr[graph + 1]].tolist()
        place = {node: t for t, node in enumerate(nodes)}
        edge_type: dict[tuple[int, int], int] = {}
        for number, (a, b) in enumerate(batch.edge_index.T.tolist()):
            if a in place and b in place and a != b:
                edge_type[place[a], place[b]] = 0 if batch.edge_attr is None else int(batch.edge_attr[number, 0])
        kinds = torch.zeros(len(nodes), dtype=torch.long) if batch.node_type is None else batch.node_type[nodes]
        x = batch.x[nodes] if batch.x.is_floating_point() else None
        values.append(_one_graph(decoder, kinds, x, edge_type, z[graph : graph + 1]))
    return torch.stack(values)


def _one_graph(
    decoder: GraphDecoder, kinds: Tensor, x: Tensor | None, edges: dict[tuple[int, int], int], z: Tensor
) -> Tensor:
    size, width, causal = len(kinds), decoder.config.width, decoder.config.form == "causal"
    inputs = decoder.node_input(kinds, x)
    parent = [min([j for j in range(t) if (t, j) in edges], default=t) for t in range(size)]
    zero, total = torch.zeros(1, dtype=torch.long), torch.zeros(())
    finished: list[list[Tensor]] = []  # causal: states of each earlier node at every depth
    for t in range(size + 1):
        if t == size and decoder.config.size_condition:
            break
        seen = finished if causal else _prefix_states(decoder, inputs, edges, t)
        last = seen[-1][-1] if t else torch.zeros(1, width)
        mean = torch.stack([states[-1] for states in seen]).mean(0) if t else torch.zeros(1, width)
        step, sizes = torch.tensor([t]), torch.tensor([size])
        inside = [(a, b) for a, b in edges if b < a < t]
        cycles = torch.tensor([len(inside) - len({a for a, _ in inside})])

        hidden = decoder.node_head.hidden(last, decoder.node_head.context(mean, z, zero, step, cycles, sizes))
        log_kind = decoder.mask_stop(decoder.node_head.kind(hidden), step).log_softmax(-1)[0]
        if t == size:
            total = total + log_kind[-1]
            break
        total = total + log_kind[kinds[t]]
        if x is not None:
            total = total + gaussian_log_density(x[t], *decoder.node_head.gaussian(hidden))[0]

        accepted: list[tuple[int, int]] = []
        for j in range(parent[t - 1] if t else 0, t):
            state = _new_state(decoder, inputs[t : t + 1], seen, accepted)[-1]
            degree = sum((j, i) in edges for i in range(t))
            distance = _tree_distance(parent, j, accepted[0][0]) if accepted else 0
            feature = pair_feature(torch.tensor(degree), torch.tensor(t - j), torch.tensor(distance))
            head = decoder.edge_head
            context = head.context(mean, z, zero, step, cycles, sizes)
            logits = head.logits(head.new(state) + context, head.old(seen[j][-1]), head.pair_terms()[feature])
            total = total + logits.log_softmax(-1)[0, edges.get((t, j), -1) + 1]
            if (t, j) in edges:
                accepted.append((j, edges[t, j]))
        finished.append(_new_state(decoder, inputs[t : t + 1], seen, accepted))
    return total


def _new_state(
    decoder: GraphDecoder, h: Tensor, seen: list[list[Tensor]], accepted: list[tuple[int, int]]
) -> list[Tensor]:
    """States of the new node at every depth, given the edges accepted so far."""
    states = [h]
    for depth, layer in enumerate(decoder.message_layers):
        received = torch.zeros_like(h)
        for j, kind in accepted:
            received = received + layer.messages(seen[j][depth], torch.tensor([0]), torch.tensor([kind]))
        states.append(layer(states[-1], received))
    return states


def _prefix_states(
    decoder: GraphDecoder, inputs: Tensor, edges: dict[tuple[int, int], int], t: int
) -> list[list[Tensor]]:
    """States of the first t nodes at every depth, messages going both ways."""
    states = [[inputs[v : v + 1]] for v in range(t)]
    for depth, layer in enumerate(decoder.message_layers):
        received = [torch.zeros_like(inputs[:1]) for _ in range(t)]
        for (a, b), kind in edges.items():
            if a < t and b < t:
                received[b] = received[b] + layer.messages(states[a][depth], torch.tensor([0]), torch.tensor([kind]))
        for v in range(t):
            states[v].append(layer(states[v][depth], received[v]))
    return states


def _tree_distance(parent: list[int], a: int, b: int) -> int:
    def ancestors(node: int) -> list[int]:
        chain = [node]
        while parent[chain[-1]] != chain[-1]:
            chain.append(parent[chain[-1]])
        return chain

    above_a, above_b = ancestors(a), ancestors(b)
    meetings = [above_a.index(node) + above_b.index(node) for node in above_a if node in above_b]
    return min([*meetings, FAR])


def main() -> None:
    # Here, because a test imports the definition above from elsewhere.
    from side_by_side import alternate, options, record, row

    parser = options(__doc__, rounds=3)
    parser.add_argument("--graphs", type=int, default=16)
    parser.add_argument("--dims", type=int, default=64)
    chosen = parser.parse_args()
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    graphs = generate_ba2motifs(chosen.graphs)
    batch, z = graphs.batch(), torch.randn(chosen.graphs, chosen.dims, generator=generator)
    order, ratios = breadth_first_order(batch, generator), {}
    for form in ("causal", "prefix"):
        decoder = GraphDecoder(graphs.schema, chosen.dims, GraphDecoderConfig(form=form))
        value: dict[str, float] = {}

        def vectorised(decoder: GraphDecoder = decoder, value: dict[str, float] = value) -> None:
            likelihood = decoder.log_likelihood(decisions_in_order(batch, order), z).sum()
            likelihood.backward()
            value["vectorised"] = likelihood.item()

        def stepwise(decoder: GraphDecoder = decoder, value: dict[str, float] = value) -> None:
            likelihood = stepwise_log_likelihood(decoder, batch, order, z).sum()
            likelihood.backward()
            value["stepwise"] = likelihood.item()

        timings = alternate({"vectorised": vectorised, "stepwise": stepwise}, chosen.rounds)
        ratios[f"step by step to vectorised, {form}"] = timings["stepwise"].median / timings["vectorised"].median
        print(
            f"{form}: log-likelihood {value['vectorised']:.3f} against {value['stepwise']:.3f} step by step; "
            f"{timings['vectorised']} against {timings['stepwise']} with gradients, "
            f"ratio {ratios[f'step by step to vectorised, {form}']:.0f}"
        )
    if chosen.json:
        (first, *_) = ratios.values()
        table = [row("the decoder's likelihood and gradients", "one pass", "node by node", first, "times faster")]
        record("decoder_likelihood", ratios, table, rounds=chosen.rounds, graphs=chosen.graphs)


if __name__ == "__main__":
    main()
