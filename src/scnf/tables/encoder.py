"""From tables to the float32 rows that a flow learns from, and back, with the log-volume that densities need."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from scnf.errors import UserError
from scnf.tables.codecs import CategoryCodec, ConstantCodec, Encoded, Noise, codec_of
from scnf.tables.incoming import text_of
from scnf.tables.inspecting import inspect
from scnf.tables.schema import GivenKind, TableSchema
from scnf.tables.table import Table, listed

_MOST_UNSEEN = 100


@dataclass(frozen=True)
class Notes:
    """What an encoder passed over in a table: columns it does not know, new categories, constants that changed."""

    extra: tuple[str, ...] = ()
    unseen: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    changed: tuple[str, ...] = ()

    def joined(self, other: "Notes") -> "Notes":
        """Return what was passed over in two tables."""
        unseen = {
            # Of a long file not all are kept: there may be a new one in each row.
            name: tuple(sorted({*self.unseen.get(name, ()), *other.unseen.get(name, ())})[:_MOST_UNSEEN])
            for name in {**self.unseen, **other.unseen}
        }
        extra, changed = (
            tuple(dict.fromkeys(both)) for both in (self.extra + other.extra, self.changed + other.changed)
        )
        return Notes(extra, unseen, changed)

    def sentences(self) -> list[str]:
        """Return one sentence for each kind of thing that was passed over."""
        lines = []
        for name, values in self.unseen.items():
            more = ", or more" if len(values) >= _MOST_UNSEEN else ""
            lines.append(f"column {name!r} has values that training did not have: {listed(values)}{more}")
        if self.extra:
            lines.append(f"columns that the model does not know were ignored: {listed(self.extra)}")
        if self.changed:
            lines.append(
                f"columns with one value in training have others here, which are ignored: {listed(self.changed)}"
            )
        return lines


class TableEncoder:
    """Encodes tables like the one it was fitted to; all that it knows is its schema.

    log p(x) in the units of the data is log p(z) + ``log_volume``: a density of numbers, times the probability of whole
    numbers, categories and gaps. Those are dequantised with noise that follows from the seed, which makes the sum a
    lower bound in the mean over seeds. ``seed=None`` draws nothing and takes the middle of each cell: then a row is
    encoded in the same way whatever stands beside it, and the sum is an estimate instead of a bound.

    Example:
        >>> import numpy as np
        >>> table = Table({"size": np.array([1.5, 2.5, 9.0]), "kind": np.array(["a", "b", "a"], dtype=object)})
        >>> encoder = TableEncoder.fit(table)
        >>> z = encoder.encode(table, seed=0)
        >>> z.shape, z.dtype, encoder.decode(z).columns["kind"].tolist()
        ((3, 2), dtype('float32'), ['a', 'b', 'a'])
    """

    def __init__(self, schema: TableSchema):
        self.schema = schema
        self._codecs = [codec_of(column) for column in schema.columns]

    @classmethod
    def fit(cls, table: Table, kinds: Mapping[str, GivenKind] | None = None) -> "TableEncoder":
        """Return the encoder of a table; ``kinds`` says what columns are where that should not be found out."""
        encoder = cls(inspect(table, kinds or {}))
        if not encoder.features:
            rows = f"{len(table)} row" + "s" * (len(table) != 1)
            file = f"{table.source}: " if table.source else ""
            raise UserError(f"{file}there is nothing to learn: in {rows} no column has two different values")
        return encoder

    @property
    def features(self) -> int:
        """Number of components of an encoded row."""
        return sum(codec.components for codec in self._codecs)

    @property
    def component_columns(self) -> list[str]:
        """Name of the column that each component of an encoded row comes from."""
        return [codec.column.name for codec in self._codecs for _ in range(codec.components)]

    def encode(self, table: Table, seed: int | None) -> np.ndarray:
        """Return the rows that a flow takes, ``[N, features]`` in float32."""
        return self.encode_with_volume(table, seed).z

    def encode_with_volume(self, table: Table, seed: int | None) -> Encoded:
        """Return these rows z, and log|det ∂z/∂x| of each in float64."""
        z = np.empty((len(table), self.features), dtype=np.float32)
        volume, first = np.zeros(len(table)), 0
        for index, (codec, name) in enumerate(zip(self._codecs, self._names_in(table), strict=True)):
            part = codec.encode(table, name, Noise(seed, index))
            with np.errstate(over="ignore"):
                columns = part.z.astype(np.float32)
            if not (finite := np.isfinite(columns).all(axis=1)).all():
                row = int(finite.argmin())
                raise UserError(
                    f"{table.place(name, row)}: the value is {table.columns[name][row]}, "
                    "too far from those of training to be told in 32 bits"
                )
            z[:, first : first + codec.components] = columns
            volume, first = volume + part.log_volume, first + codec.components
        return Encoded(z, volume)

    def decode(self, z: np.ndarray) -> Table:
        """Return the table of rows ``[N, features]``, with the columns, types and order of the one it was fitted to."""
        if z.ndim != 2 or z.shape[1] != self.features:
            raise UserError(f"rows of {self.features} components are needed, got an array of shape {z.shape}")
        columns, first = {}, 0
        for codec in self._codecs:
            columns[codec.column.name] = codec.decode(z[:, first : first + codec.components])
            first += codec.components
        return Table(columns, self.schema.named)

    def notes(self, table: Table) -> Notes:
        """Return what ``encode`` passes over in a table."""
        names = self._names_in(table)
        unseen: dict[str, tuple[str, ...]] = {}
        changed = []
        for codec, name in zip(self._codecs, names, strict=True):
            values = table.columns[name]
            if isinstance(codec, CategoryCodec):
                new = values[codec.codes(table, name) == len(codec.column.values)]
                if len(new):
                    unseen[name] = tuple(sorted({text_of(value) or "(missing)" for value in new.tolist()}))
            elif isinstance(codec, ConstantCodec):
                usual = {None, text_of(codec.column.value)}
                if any(text_of(value) not in usual for value in set(values.tolist())):
                    changed.append(name)
        extra = tuple(name for name in (*table.names, *table.unusable) if name not in names)
        return Notes(extra, unseen, tuple(changed))

    def _names_in(self, table: Table) -> tuple[str, ...]:
        """Return what the columns of training are called in a table."""
        if self.schema.named and table.named:
            names = self.schema.names
            table.select(names)  # refuses what is not there
            return names
        for name in table.unusable:
            table.select([name])
        if len(table.names) != len(self.schema.columns):
            where = f"{table.source} has" if table.source else "the table has"
            raise UserError(
                f"{where} {len(table.names)} columns without names, "
                f"but the model was trained on {len(self.schema.columns)}: {listed(self.schema.names)}"
            )
        return table.names
