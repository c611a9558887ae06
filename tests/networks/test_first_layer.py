"""While a GCN learns, its first layer acts on the distinct rows of x: the same states, the same gradients."""

import torch

from graphfnp.networks import backbone as module
from graphfnp.networks.backbone import Backbone, BackboneConfig
from tiny_graphs import TYPED, shapes


def _learned(backbone: Backbone) -> dict[str, torch.Tensor]:
    torch.manual_seed(1)
    backbone.zero_grad()
    states = backbone(shapes(24).batch())
    (states * torch.randn_like(states)).sum().backward()
    gradients = {name: value.grad for name, value in backbone.named_parameters() if "linear.bias" not in name}
    return {"states": states.detach(), **{name: value.clone() for name, value in gradients.items()}}


def test_by_rows_and_by_nodes_are_the_same(monkeypatch) -> None:
    torch.manual_seed(0)
    backbone = Backbone(TYPED, BackboneConfig(width=32)).train()
    by_rows = _learned(backbone)
    monkeypatch.setattr(module, "CategoryEmbedding", int)  # nothing is one: every node for itself
    by_nodes = _learned(backbone)
    for name, value in by_nodes.items():
        torch.testing.assert_close(
            by_rows[name], value, rtol=1e-4, atol=1e-5, msg=lambda text, name=name: f"{name}: {text}"
        )
