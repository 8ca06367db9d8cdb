"""Examples in docstrings are code: mkdocstrings knows them by the plural of their heading alone."""

import re
from typing import Any

from griffe import Extension


class Examples(Extension):
    """Calls ``Example:`` ``Examples:`` while docstrings are read."""

    def on_instance(self, *, obj: Any, **_: Any) -> None:
        """Change the heading in the docstring of a module, class or function."""
        if obj.docstring is not None:
            obj.docstring.value = re.sub(r"^( *)Example:$", r"\1Examples:", obj.docstring.value, flags=re.MULTILINE)
