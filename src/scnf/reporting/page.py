"""Templates become pages."""

from typing import Any

import jinja2

from scnf.evaluation.themes import DARK, LIGHT


def render(template: str, **values: Any) -> str:
    """Return the page of a template of this package; all text in the values is escaped."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("scnf.reporting", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(light=LIGHT, dark=DARK, **values)
