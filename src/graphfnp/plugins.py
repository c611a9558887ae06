"""What other packages add: methods, explainers and datasets, found through their entry points."""

from collections.abc import Iterator, Mapping, MutableMapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar

from graphfnp.errors import InvalidConfig

Member = TypeVar("Member")


class Registry(MutableMapping[str, Member], Generic[Member]):
    """Members by name: our own, and those that installed packages name in a group of entry points.

    A member of another package is loaded when it is first asked for; it cannot take a name of ours.
    """

    def __init__(self, group: str, kind: type[Member], own: Mapping[str, Member]) -> None:
        self.group, self.kind, self.members = group, kind, dict(own)

    @cached_property
    def foreign(self) -> dict[str, EntryPoint]:
        return {point.name: point for point in entry_points(group=self.group)}

    def __getitem__(self, name: str) -> Member:
        if name not in self.members:
            self.members[name] = self._loaded(self.foreign[name])
        return self.members[name]

    def _loaded(self, point: EntryPoint) -> Member:
        where = f"entry point {point.name} = {point.value} of {point.dist.name if point.dist else 'a package'}"
        try:
            member = point.load()
        except Exception as error:  # whatever another package does wrong
            raise InvalidConfig(
                f"{where}: {type(error).__name__}: {error}",
                "one that can be imported",
                "correct or remove that package",
            ) from error
        if not isinstance(member, self.kind):
            raise InvalidConfig(
                f"{where}, a {type(member).__name__}", f"a {self.kind.__module__}.{self.kind.__name__}",
                "correct that package (docs/extending.md)",
            )  # fmt: skip
        return member

    def __contains__(self, name: object) -> bool:
        return name in self.members or name in self.foreign

    def __iter__(self) -> Iterator[str]:
        yield from self.members
        yield from (name for name in self.foreign if name not in self.members)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __setitem__(self, name: str, member: Member) -> None:
        self.members[name] = member

    def __delitem__(self, name: str) -> None:
        del self.members[name]
