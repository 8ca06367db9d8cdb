import numpy as np
import pytest

from scnf.errors import UserError
from scnf.tables import Table, split_target


@pytest.mark.parametrize(
    ("labels", "unlabeled", "expected"),
    [
        (["cat", None, "", " ", "dog"], None, ["cat", None, None, None, "dog"]),
        (["cat", "?", "dog"], "?", ["cat", None, "dog"]),
        ([0, -1, 2], -1, [0, None, 2]),
        ([0, -1, 2], "-1", [0, None, 2]),
        ([0, -1, 2], None, [0, -1, 2]),
        ([0.0, np.nan, 2.0], None, [0, None, 2]),
        ([0.0, -1.0, 2.0], -1, [0, None, 2]),
        ([True, False], None, [True, False]),
        ([True, None, False], None, [True, None, False]),
        ([None, None], None, [None, None]),
        ([2**62, 1], np.nan, [2**62, 1]),
    ],
)
def test_labels(labels, unlabeled, expected):
    table = Table.of({"label": labels, "x": np.zeros(len(labels))})
    features, y = split_target(table, "label", unlabeled)
    assert features.names == ("x",)
    assert y.dtype == object
    assert y.tolist() == expected
    assert [type(value) for value in y] == [type(value) for value in expected]


def test_refused():
    table = Table.of({"label": [1, 1.5], "x": [0, 1]})
    with pytest.raises(UserError, match=r"column 'label', row 2: the value is 1\.5, but a label is a name"):
        split_target(table, "label")
    with pytest.raises(UserError, match="there is no column 'y'; the columns are label, x"):
        split_target(table, "y")
    dates = Table.of({"label": np.array(["2020-01-01"], dtype="datetime64[D]"), "x": [0]})
    with pytest.raises(UserError, match="column 'label' holds dates"):
        split_target(dates, "label")
