"""The verb ``find_rationales``: what the model looks for, decoded into small graphs and ranked by its own evidence."""

from graphfnp.decoding.config import DecodingConfig
from graphfnp.decoding.find import find_rationales

__all__ = ["DecodingConfig", "find_rationales"]
