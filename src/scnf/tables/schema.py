"""What a table's columns are and how they become components: plain values, so that a model's file can hold them."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

GivenKind = Literal["number", "integer", "category"]  # what a user may say that a column is
Value = bool | int | float | str | None

_Positive = Annotated[float, Field(gt=0)]
_Share = Annotated[float, Field(gt=0, lt=1)]
_Count = Annotated[int, Field(ge=1)]
# JSON has lists only: strict all the same about what is in them.
_FromList = Field(strict=False)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Scaling(_Strict):
    """z = (g((x − center)/spread) − mean)/std, with g linear, asinh or Yeo and Johnson's; all of them are onto ℝ."""

    center: int | float  # a whole number for columns of whole numbers, so that no digit of a large one is lost
    spread: _Positive
    shape: Literal["linear", "asinh", "yeo-johnson"] = "linear"
    power: Annotated[float, Field(ge=0, le=2)] = 1.0  # Yeo and Johnson's λ; beyond 0 and 2 the map is not onto
    mean: float = 0.0
    std: _Positive = 1.0


class NumberColumn(_Strict):
    """Numbers: one component, and one more that tells the missing ones if training had any.

    Whole numbers (``integer``) are dequantised: noise from 0 to 1 is added, and taken off again by rounding down.
    """

    kind: Literal["number", "integer"]
    name: str
    type: Literal["int64", "float64"]  # of what is decoded; with missing values it is float64 in any case
    scaling: Scaling
    missing: _Share | None = None  # their share of the training rows


class CategoryColumn(_Strict):
    """Names, truth values or two whole numbers, from the most frequent down; missing (None) is a category too."""

    kind: Literal["category"]
    name: str
    type: Literal["text", "bool", "int64", "float64"]
    values: Annotated[tuple[bool | int | str | None, ...], Field(min_length=2), _FromList]
    counts: Annotated[tuple[_Count, ...], Field(min_length=2), _FromList]

    @model_validator(mode="after")
    def _one_count_each(self) -> "CategoryColumn":
        if len(self.values) != len(self.counts) or len(set(self.values)) != len(self.values):
            raise ValueError(f"column {self.name!r} needs different values and a count for each")
        return self


class ConstantColumn(_Strict):
    """One value, or none at all (None): no component but the one that tells the missing ones if training had any."""

    kind: Literal["constant"]
    name: str
    value: Value
    missing: _Share | None = None


Column = Annotated[NumberColumn | CategoryColumn | ConstantColumn, Field(discriminator="kind")]


class TableSchema(_Strict):
    """The columns of a table in order; ``named`` is false if they came as an array and are met by position.

    Example:
        >>> import numpy as np
        >>> from scnf.tables import Table, TableEncoder
        >>> schema = TableEncoder.fit(Table.of(np.array([[0.5, 7.0], [1.5, 7.0]]))).schema
        >>> [column.kind for column in schema.columns]
        ['number', 'constant']
        >>> TableSchema.model_validate(schema.model_dump(mode="json")) == schema
        True
    """

    columns: Annotated[tuple[Column, ...], Field(min_length=1), _FromList]
    named: bool = True

    @model_validator(mode="after")
    def _no_name_twice(self) -> "TableSchema":
        names = self.names
        if len(set(names)) != len(names):
            raise ValueError("two columns have the same name")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def text_columns(self) -> tuple[str, ...]:
        """Columns of names: to be read from a text file as they stand there, be it 007 or true."""
        return tuple(c.name for c in self.columns if c.kind == "category" and c.type == "text")
