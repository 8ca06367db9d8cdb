import pytest

from scnf.evaluation.tables import block_is_current, markdown_table, read_block, update_block

PAGE = "# Title\n\n<!-- numbers:start -->\nold\n<!-- numbers:end -->\n\nThe end.\n"


def test_a_block_is_replaced_and_the_rest_stays(tmp_path):
    page = tmp_path / "README.md"
    page.write_text(PAGE, encoding="utf-8")
    assert not block_is_current(page, "numbers", "| new |")
    assert update_block(page, "numbers", "| new |\n")
    assert page.read_text(encoding="utf-8") == PAGE.replace("old", "| new |")
    assert block_is_current(page, "numbers", "| new |")


def test_updating_twice_changes_nothing(tmp_path):
    page = tmp_path / "README.md"
    page.write_text(PAGE, encoding="utf-8")
    update_block(page, "numbers", "new")
    once = page.read_bytes()
    update_block(page, "numbers", "new")
    assert page.read_bytes() == once


@pytest.mark.parametrize(
    "text", ["no block\n", "<!-- numbers:start --> never closed", "<!-- other:start --><!-- other:end -->"]
)
def test_a_page_without_the_block_is_left_alone(tmp_path, text):
    page = tmp_path / "README.md"
    page.write_text(text, encoding="utf-8")
    assert not update_block(page, "numbers", "new")
    assert page.read_text(encoding="utf-8") == text
    assert read_block(page, "numbers") is None
    assert not block_is_current(page, "numbers", "new")


def test_a_page_that_is_not_there(tmp_path):
    assert not update_block(tmp_path / "README.md", "numbers", "new")
    assert not (tmp_path / "README.md").exists()


def test_a_row_with_a_missing_cell_is_refused():
    with pytest.raises(ValueError, match="1 cells, the header 2"):
        markdown_table(["a", "b"], [["1"]])
