"""What all mappings from keys of groups to what is kept of their rows do alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self, TypeVar

from skcal._input._batches._batch_rows import agree_on_negative
from skcal._input._batches._keys import pack_key, unpack_key
from skcal._input._batches._plain_data import check_format, errors_named, require

_VERSION = 1
T = TypeVar("T")


class Grouped(Mapping[object, T]):
    """A mapping from keys to summaries, or monitors, that all have the settings of an empty one.

    A subclass says the format of its plain data. What it holds has the attributes `n_samples_` and
    `_negative`, the settings in a dict `_settings`, and the methods `to_dict` and `from_dict`.
    """

    _format: ClassVar[str]
    _blank: Any
    _groups: dict[object, Any]

    def _start(self, blank: Any) -> None:
        self._blank, self._groups = blank, {}
        self._negative = None  # that of all groups together, see `agree_on_negative`

    def __getitem__(self, key):
        return self._groups[key]

    def __iter__(self):
        return iter(self._groups)

    def __len__(self):
        return len(self._groups)

    def _take(self, groups):
        """Add groups, or put them in the place of old ones, if their labels agree with all."""
        negatives = [group._negative for group in groups.values()]
        self._negative = agree_on_negative(self._negative, *negatives)
        self._groups.update(groups)

    def _merge(self, others, **options):
        """New groups of this mapping and of others; what belongs to the same key is merged."""
        for other in others:
            if not isinstance(other, type(self)):
                raise TypeError(f"others must be {type(self).__name__} objects; got {other!r}.")
            check_same_settings(self._blank, other._blank)
        merged = object.__new__(type(self))
        merged._start(self._blank)
        parts = {}
        for groups in (self, *others):
            merged._negative = agree_on_negative(merged._negative, groups._negative)
            for key, group in groups.items():
                parts.setdefault(key, []).append(group)
        merged._groups = {key: one.merge(*more, **options) for key, (one, *more) in parts.items()}
        return merged

    def to_dict(self) -> dict[str, Any]:
        """Complete state as JSON types, without loss of precision.

        Returns
        -------
        dict
            To be read by `from_dict`.

        Raises
        ------
        ValueError
            If a key is no text, finite number or boolean, nor a tuple of these.
        """
        groups = [[pack_key(key), group.to_dict()] for key, group in self._groups.items()]
        blank = self._blank.to_dict()
        return {"format": self._format, "version": _VERSION, "empty": blank, "groups": groups}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Rebuild the groups from the output of `to_dict`.

        Parameters
        ----------
        data : dict
            What `to_dict` gave.

        Returns
        -------
        object
            Groups equal to the first ones.

        Raises
        ------
        ValueError
            If `data` is not what `to_dict` gives, or comes from a later version.
        """
        check_format(data, cls._format, _VERSION)
        new = cls()
        kind = type(new._blank)
        with errors_named(cls._format):
            blank = kind.from_dict(data["empty"])
            require(blank == kind(**blank._settings), "empty must hold no rows")
            pairs = [(unpack_key(key), kind.from_dict(group)) for key, group in data["groups"]]
            groups = dict(pairs)
            require(len(groups) == len(pairs), "keys must be distinct")
            for group in groups.values():
                check_same_settings(blank, group)
            new._start(blank)
            new._take(groups)
        return new

    def __copy__(self):
        return self._merge([])

    def __eq__(self, other):
        if not isinstance(other, type(self)):
            return NotImplemented
        return self._blank == other._blank and self._groups == other._groups

    def __repr__(self):
        n_samples = sum(group.n_samples_ for group in self.values())
        return f"{type(self).__name__}(n_groups={len(self)}, n_samples={n_samples})"


def check_same_settings(one, other):
    """Raise a ValueError that names what differs between settings of summaries, or monitors."""
    for name, mine in one._settings.items():
        its = other._settings[name]
        if mine != its:
            raise ValueError(
                f"All must have the same settings to be merged; {name} is {mine!r} in one and "
                f"{its!r} in another."
            )
