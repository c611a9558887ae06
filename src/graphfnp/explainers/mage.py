"""MAGE (Yu and Gao 2025): graphs that a model is sure of, built of the motifs that it goes by; model-level."""

from collections import Counter, defaultdict
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import normalize

from graphfnp.chemistry.structures import graphs_from_structures, structures_from_graphs
from graphfnp.errors import InvalidConfig
from graphfnp.explainers.centroids import PER_CLASS
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.graphs.structure import Structure, as_networkx, substructure
from graphfnp.kinds.kind_of import kind_of
from graphfnp.kinds.plain import PlainGraphs
from graphfnp.methods.contract import GraphClassifier
from graphfnp.methods.rationales import Rationales
from graphfnp.prediction.predict import collect
from graphfnp.randomness import stream
from graphfnp.rationales.candidates import refined_colours, refined_hash

LARGEST = 20  # nodes (heavy atoms) of a motif, and of what is built
FREQUENT = 2  # graphs that hold a motif of a class, if enough motifs are in so many
STEPS, RATE = 200, 0.05  # of the attention's training


@dataclass(frozen=True)
class MAGEConfig:
    """How much is tried."""

    motifs: int = 20  # of each class: those of highest score
    attached: int = 4  # motifs, to the first one
    beam: int = 4  # graphs that are kept in each step
    extensions: int = 40  # tried of each of them


Site = tuple[int, int]  # a motif, and the colour of a node in it: nodes of one colour are alike


@dataclass(frozen=True, eq=False)
class Motifs:
    """What graphs are made of: motifs, which graph holds which, and how motifs are joined."""

    structures: list[Structure]
    held: Tensor  # [2, pairs]: a graph and a motif that it holds, each pair once
    junctions: dict[Site, list[tuple[int, Site]]]  # of each site: edge types and sites that it was seen joined to


@dataclass(frozen=True, eq=False)
class Built:
    """A graph made of motifs, and the site that each of its nodes is."""

    structure: Structure
    sites: tuple[Site, ...]


def mage_rationales(
    classifier: GraphClassifier,
    graphs: PackedGraphs,
    config: MAGEConfig | None = None,
    per_class: int = PER_CLASS,
    seed: int = 0,
) -> Rationales:
    """``per_class`` graphs for each class, each grown from one of the class's motifs into what the model is surest of.

    Motifs are cut out of the graphs (:func:`motif_nodes`) and scored for each class (:func:`motif_scores`). To each of
    the best ones further motifs of the class, and single nodes between them, are attached along edges that join such
    motifs in the graphs: a beam search for p(class), where the paper trains a generator. What is no molecule is left
    out.
    """
    config, schema = config or MAGEConfig(), classifier.schema
    if schema.needs_x:
        raise InvalidConfig(
            "graphs whose node features do not follow from their node types",
            "nodes of a few discrete types: this explainer builds graphs of motifs",
            "choose an explainer of single graphs, e.g. gnn-explainer",
        )
    motifs = find_motifs(graphs)
    ranked = _ranked(motif_scores(classifier, graphs, motifs), motifs, config.motifs)  # [motifs, classes]
    label = torch.arange(schema.num_classes).repeat_interleave(per_class)
    structures = _grown(classifier, motifs, ranked[:, label].T.tolist(), label, config, stream(seed, "mage"))
    seen = collect(classifier, graphs_from_structures(structures, schema))
    probability = seen.logits.softmax(-1).mean(0)[torch.arange(len(label)), label]
    return Rationales(seen.embedding, label, tuple(structures), probability)


# ---------------------------------------------------------------- motifs


def find_motifs(graphs: PackedGraphs) -> Motifs:
    """Motifs that can be by themselves; of those that message passing cannot tell apart the first."""
    kind, number = kind_of(graphs.schema), dict[object, int]()
    structures: list[Structure] = []
    held, junctions = set[tuple[int, int]](), defaultdict[Site, set[tuple[int, Site]]](set)
    for g, graph in enumerate(structures_from_graphs(graphs)):
        site: dict[int, Site] = {}
        pieces = motif_nodes(graph, kind)
        for nodes in pieces:
            motif = substructure(graph, nodes)
            key = refined_hash(motif)
            if key not in number:
                is_usable = kind.size(motif) <= LARGEST and kind.is_valid(motif)
                number[key] = len(structures) if is_usable else -1
                structures += [Structure(motif.node_type, motif.edges)] if is_usable else []
            if (m := number[key]) >= 0:
                held.add((g, m))
                site |= zip(sorted(nodes), ((m, colour) for colour in refined_colours(motif)), strict=True)
        owner = {node: piece for piece, nodes in enumerate(pieces) for node in nodes}
        for i, j, edge in graph.edges:
            if owner[i] != owner[j] and i in site and j in site:
                junctions[site[i]].add((edge, site[j]))
                junctions[site[j]].add((edge, site[i]))
    return Motifs(
        structures, torch.tensor(sorted(held)).view(-1, 2).T, {one: sorted(at) for one, at in junctions.items()}
    )


def motif_nodes(structure: Structure, kind: PlainGraphs) -> list[frozenset[int]]:
    """Every node in one motif: what is left when edges in no cycle are cut, but for those inside a unit of the kind.

    Of molecules ring systems and functional groups, of other graphs cycles that share edges, and single nodes. From
    what is larger than a motif may be, short cycles are taken out one by one.
    """
    import networkx as nx  # slow to import, and only explanations need it

    unit = {node: number for number, nodes in enumerate(kind.units(structure)) for node in nodes}
    graph, found = as_networkx(structure), list[frozenset[int]]()
    while len(graph):
        graph.remove_edges_from([(i, j) for i, j in nx.bridges(graph) if unit[i] != unit[j]])
        for nodes in list(nx.connected_components(graph)):
            piece, cycle = graph.subgraph(nodes), frozenset(nodes)
            bridges = set(nx.bridges(piece))
            inner = next((edge for edge in piece.edges if edge not in bridges and edge[::-1] not in bridges), None)
            if len(nodes) > LARGEST * kind.nodes_per_size and inner is not None:
                rest = nx.restricted_view(piece, [], [inner])
                cycle = frozenset(nx.shortest_path(rest, *inner))
            found.append(cycle)
            graph.remove_nodes_from(cycle)
    return found


def motif_scores(classifier: GraphClassifier, graphs: PackedGraphs, motifs: Motifs) -> Tensor:
    """[motifs, classes]: sum_G a_Gm p(class | G) / number of graphs that hold m.

    The attention a_Gm = softmax_m(z_G W z_m) over the motifs of a graph is learned so that their log-probabilities,
    weighted by it, say of the graph what the model says; z are the model's embeddings. (The paper mixes embeddings and
    passes them to the classifier's last layers, which is the same where these are linear, and needs to know them.)
    """
    whole, alone = (
        collect(classifier, graphs),
        collect(classifier, graphs_from_structures(motifs.structures, graphs.schema)),
    )
    graph, motif = motifs.held
    said = whole.logits.softmax(-1).mean(0)
    words = alone.logits.softmax(-1).mean(0).clamp(min=1e-6).log()
    z, h = normalize(whole.embedding, dim=-1)[graph], normalize(alone.embedding, dim=-1)[motif]
    weight = torch.zeros(z.shape[1], z.shape[1], requires_grad=True)  # all motifs alike, to begin with

    def attention() -> Tensor:
        score = ((z @ weight) * h).sum(-1)
        most = torch.full((len(graphs),), -torch.inf).scatter_reduce(0, graph, score.detach(), "amax")
        share = (score - most[graph]).exp()
        return share / torch.zeros(len(graphs)).index_add(0, graph, share)[graph]

    optimiser = torch.optim.Adam([weight], lr=RATE)
    with torch.enable_grad():
        for _ in range(STEPS):
            mixed = torch.zeros_like(said).index_add(0, graph, attention()[:, None] * words[motif])
            optimiser.zero_grad()
            (-(said * mixed.log_softmax(-1)).sum(-1).mean()).backward()
            optimiser.step()
    total = torch.zeros(len(words), said.shape[1]).index_add(0, motif, attention().detach()[:, None] * said[graph])
    return total / torch.bincount(motif, minlength=len(words))[:, None]


def _ranked(score: Tensor, motifs: Motifs, most: int) -> Tensor:
    """[motifs, classes]: the best for each class, of those in several graphs if there are enough."""
    count = torch.bincount(motifs.held[1], minlength=len(score))
    enough = count.sort(descending=True).values[:most][-1].clamp(max=FREQUENT)
    frequent = torch.where(count >= enough)[0]
    return frequent[score[frequent].argsort(dim=0, descending=True, stable=True)[:most]]


# ---------------------------------------------------------------- built of motifs


def _grown(
    classifier: GraphClassifier,
    motifs: Motifs,
    of_class: list[list[int]],
    label: Tensor,
    config: MAGEConfig,
    generator: torch.Generator,
) -> list[Structure]:
    """For each label the surest graph; the next graph of a class starts at its next motif, the best first."""
    kind, used, beams, among = kind_of(classifier.schema), Counter[int](), list[list[Built]](), list[set[int]]()
    is_small = [kind.size(one) < kind.smallest for one in motifs.structures]  # no explanation, but it may connect
    for own, c in zip(of_class, label.tolist(), strict=True):
        first = [number for number in own if not is_small[number]] or own
        beams.append([_motif(motifs, first[used[c] % len(first)])])
        among.append({*own, *(number for number, small in enumerate(is_small) if small)})
        used[c] += 1
    best = [(-1.0, beam[0].structure) for beam in beams]
    for step in range(1 + config.attached):
        if step:
            beams = [
                [more for one in beam for more in _extended(one, motifs, own, kind, config.extensions, generator)]
                for beam, own in zip(beams, among, strict=True)
            ]
        for k, (beam, p) in enumerate(zip(beams, _probability(classifier, beams, label), strict=True)):
            order = p.argsort(descending=True, stable=True).tolist()[: config.beam]
            beams[k] = [beam[place] for place in order]
            # What is too small counts only where there is nothing else.
            found = [(float(p[i]) - (kind.size(beam[i].structure) < kind.smallest), beam[i].structure) for i in order]
            best[k] = max([best[k], *found], key=lambda one: one[0])
    return [structure for _, structure in best]


def _motif(motifs: Motifs, number: int) -> Built:
    structure = motifs.structures[number]
    return Built(structure, tuple((number, colour) for colour in refined_colours(structure)))


def _extended(
    built: Built, motifs: Motifs, among: set[int], kind: PlainGraphs, most: int, generator: torch.Generator
) -> list[Built]:
    """A random choice of the graphs with one motif more, each once."""
    ways = [
        (node, edge, other)
        for node, site in enumerate(built.sites)
        for edge, other in motifs.junctions.get(site, ())
        if other[0] in among
    ]
    found: dict[object, Built] = {}
    for way in torch.randperm(len(ways), generator=generator).tolist():
        if len(found) == most:
            break
        node, edge, other = ways[way]
        more = joined(built, node, edge, _motif(motifs, other[0]), other)
        if kind.size(more.structure) <= LARGEST and kind.is_valid(more.structure):
            found.setdefault(refined_hash(more.structure), more)
    return list(found.values())


def joined(built: Built, node: int, edge: int, other: Built, site: Site) -> Built:
    """An edge between a node of one graph and the first of another that is such a site."""
    shift, one, two = built.structure.num_nodes, built.structure, other.structure
    moved = tuple((i + shift, j + shift, kind) for i, j, kind in two.edges)
    bond = (node, shift + other.sites.index(site), edge)
    structure = Structure(one.node_type + two.node_type, tuple(sorted((*one.edges, *moved, bond))))
    return Built(structure, built.sites + other.sites)


def _probability(classifier: GraphClassifier, beams: list[list[Built]], label: Tensor) -> list[Tensor]:
    """Of the class of each beam, for its graphs; all are shown to the model together."""
    structures = [one.structure for beam in beams for one in beam]
    sizes = [len(beam) for beam in beams]
    if not structures:
        return [torch.zeros(0)] * len(beams)
    seen = collect(classifier, graphs_from_structures(structures, classifier.schema)).logits.softmax(-1).mean(0)
    own = label.repeat_interleave(torch.tensor(sizes))
    return list(seen.gather(1, own[:, None])[:, 0].split(sizes))
