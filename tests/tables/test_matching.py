"""New tables against the one that was learned from: names, types, gaps and what is refused."""

import numpy as np
import pandas as pd
import pytest

from scnf.errors import UserError
from scnf.tables import Table, TableEncoder


@pytest.fixture(scope="module")
def encoder() -> TableEncoder:
    rng = np.random.default_rng(0)
    return TableEncoder.fit(
        Table(
            {
                "size": rng.normal(size=60),
                "count": rng.poisson(5, 60),
                "town": rng.choice(np.array(["Köln", "Bonn", "true", "007"], dtype=object), 60),
                "sold": rng.random(60) < 0.5,
                "bit": rng.integers(0, 2, 60),
                "same": np.full(60, 3),
            }
        )
    )


def _row(**changes: object) -> dict[str, list]:
    values = {"size": 0.5, "count": 4, "town": "Bonn", "sold": True, "bit": 1, "same": 3} | changes
    return {name: [value] for name, value in values.items()}


def test_columns_are_met_by_name(encoder):
    plain = Table.of(_row())
    other = Table.of(dict(reversed(_row().items())) | {"new": ["x"]})
    np.testing.assert_array_equal(encoder.encode(plain, 0), encoder.encode(other, 0))
    assert encoder.notes(other).extra == ("new",)
    assert encoder.notes(plain).sentences() == []


def test_an_extra_column_may_be_of_any_type(encoder):
    frame = pd.DataFrame(_row()).assign(when=pd.Timestamp("2020-01-01"))
    assert encoder.encode(Table.of(frame), 0).shape == (1, encoder.features)
    assert encoder.notes(Table.of(frame)).sentences() == ["columns that the model does not know were ignored: when"]


def test_a_missing_column_is_refused_by_name(encoder):
    table = Table.of(_row()).without(["count"])
    with pytest.raises(UserError, match="there is no column 'count'; the columns are size, town, sold, bit, same"):
        encoder.encode(table, 0)


@pytest.mark.parametrize(
    ("changes", "same_as"),
    [
        ({"size": "0.5"}, {}),
        ({"size": " 5e-1 "}, {}),
        ({"size": 1}, {"size": 1.0}),
        ({"size": True}, {"size": 1.0}),
        ({"count": 4.0}, {}),
        ({"count": "4"}, {}),
        ({"count": "4.0"}, {}),
        ({"town": 7}, {"town": "7"}),
        ({"town": True}, {"town": "true"}),
        ({"sold": 1}, {}),
        ({"sold": "True"}, {}),
        ({"sold": "true"}, {}),
        ({"sold": 0.0}, {"sold": False}),
        ({"bit": "1"}, {}),
        ({"bit": 1.0}, {}),
        ({"bit": True}, {}),
        ({"same": "anything"}, {}),
        ({"same": None}, {}),
    ],
)
def test_lossless_types_are_converted(encoder, changes, same_as):
    z = encoder.encode(Table.of(_row(**changes)), 0)
    np.testing.assert_array_equal(z, encoder.encode(Table.of(_row(**same_as)), 0))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"size": "tall"}, "column 'size', row 101: 'tall' is not a number"),
        ({"size": "1_000"}, "column 'size', row 101: '1_000' is not a number"),
        ({"size": np.inf}, "column 'size', row 101: the value is inf, which is not a finite number"),
        ({"size": "-inf"}, "column 'size', row 101: the value is -inf, which is not a finite number"),
        ({"size": 1e308}, "column 'size', row 101: the value is 1e.308, which is too large; .* -1e.300 to 1e.300$"),
        ({"size": "-2e305"}, "column 'size', row 101: the value is -2e.305, which is too large; .* to 1e.300$"),
        ({"size": 1e45}, "column 'size', row 101: the value is 1e.45, too far from those of training"),
        ({"size": np.nan}, "column 'size', row 101: the value is missing, but training had no missing value there"),
        ({"size": None}, "column 'size', row 101: the value is missing"),
        ({"size": " "}, "column 'size', row 101: the value is missing"),
        ({"count": 1.5}, "column 'count', row 101: the value is 1.5, but .* whole numbers; learn it as .number."),
        ({"count": "many"}, "column 'count', row 101: 'many' is not a number"),
        ({"sold": "maybe"}, "column 'sold', row 101: 'maybe' is neither true nor false"),
        ({"sold": 2}, "column 'sold', row 101: '2' is neither true nor false"),
        ({"bit": "x"}, "column 'bit', row 101: 'x' is not a number"),
    ],
)
def test_other_values_are_refused_by_column_and_row(encoder, changes, why):
    table = Table(Table.of(_row(**changes)).columns, source="new.csv", first_row=100)
    with pytest.raises(UserError, match=f"^new.csv, {why}"):
        encoder.encode(table, 0)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"town": "Rom"}, "column 'town' has values that training did not have: Rom"),
        ({"town": None}, "column 'town' has values that training did not have: (missing)"),
        ({"bit": 2}, "column 'bit' has values that training did not have: 2"),
        ({"sold": None}, "column 'sold' has values that training did not have: (missing)"),
        ({"same": 4}, "columns with one value in training have others here, which are ignored: same"),
    ],
)
def test_new_categories_have_a_cell_of_their_own(encoder, changes, told):
    table = Table.of(_row(**changes))
    z, volume = encoder.encode_with_volume(table, 0)
    assert np.isfinite(z).all()
    assert np.isfinite(volume).all()
    assert encoder.notes(table).sentences() == [told]


def test_a_new_category_is_rarer_than_any(encoder):
    column = encoder.schema.names.index("town")
    known = [encoder.encode(Table.of(_row(town=town)), None)[0, column] for town in ("Köln", "Bonn", "true", "007")]
    assert encoder.encode(Table.of(_row(town="Rom")), None)[0, column] > max(known)


def test_arrays_are_met_by_position():
    x = np.random.default_rng(0).normal(size=(20, 3))
    unnamed, named = TableEncoder.fit(Table.of(x)), TableEncoder.fit(Table.of(dict(zip("abc", x.T, strict=True))))
    z = unnamed.encode(Table.of(x), 0)
    np.testing.assert_array_equal(named.encode(Table.of(x), 0), z)
    np.testing.assert_array_equal(unnamed.encode(Table.of(dict(zip("xyz", x.T, strict=True))), 0), z)
    for encoder in (unnamed, named):
        with pytest.raises(UserError, match="has 2 columns without names, but the model was trained on 3"):
            encoder.encode(Table.of(x[:, :2]), 0)
    with pytest.raises(UserError, match=r"shape \(20, 2\)"):
        unnamed.decode(z[:, :2])


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (np.empty((0, 3)), "the table holds no rows"),
        (np.empty((3, 0)), "the table holds no rows"),
        (np.ones((1, 3)), "nothing to learn: in 1 row no column has two different values"),
        (np.ones((5, 3)), "nothing to learn: in 5 rows no column"),
        (np.full((5, 3), np.nan), "nothing to learn: in 5 rows no column"),
        (np.array([[1.0, 2], [np.inf, 3]]), "column 'x0', row 2: the value is inf"),
        (np.array([[1.0, 2], [3, -np.inf]]), "column 'x1', row 2: the value is -inf"),
        (
            [[str(i)] for i in "abc"] * 1 + [[f"name {i}"] for i in range(60)],
            "63 different values in 63 rows: it looks",
        ),
    ],
)
def test_what_cannot_be_learned_from(data, why):
    with pytest.raises(UserError, match=why):
        TableEncoder.fit(Table.of(data))


def test_kinds_of_columns_that_are_not_there_or_not_so():
    table = Table.of({"a": [0.5, 1.5]})
    with pytest.raises(UserError, match="no column 'b' to set the kind of; it has a"):
        TableEncoder.fit(table, kinds={"b": "number"})
    with pytest.raises(UserError, match=r"column .a., row 1: the value is 0\.5, but"):
        TableEncoder.fit(table, kinds={"a": "integer"})
    with pytest.raises(UserError, match="column 'a', row 1: 'x' is not a number"):
        TableEncoder.fit(Table.of({"a": ["x", "y"]}), kinds={"a": "number"})
