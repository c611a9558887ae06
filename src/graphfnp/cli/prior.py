"""The label mix a user names with ``--prior``."""

from graphfnp.errors import InvalidConfig

ESTIMATE = "estimate"


def label_mix(text: str, num_classes: int) -> tuple[float, ...]:
    """'0.3' is the share of class 1 of two; '0.2,0.5,0.3' those of all classes, in their order."""
    try:
        shares = tuple(float(part) for part in text.split(","))
    except ValueError:
        shares = ()
    if len(shares) == 1 and num_classes == 2:
        shares = (1 - shares[0], shares[0])
    if len(shares) != num_classes or not all(0 < share < 1 for share in shares) or abs(sum(shares) - 1) > 0.01:
        given = "the share of class 1, or " if num_classes == 2 else ""
        raise InvalidConfig(
            f"--prior {text}",
            f"{given}{num_classes} shares between 0 and 1 that sum to 1, separated by commas",
            f"write --prior {','.join([f'{1 / num_classes:.3g}'] * num_classes)}, or --prior {ESTIMATE}",
        )
    return tuple(share / sum(shares) for share in shares)
