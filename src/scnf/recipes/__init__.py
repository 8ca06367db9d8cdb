"""Recipes: TOML files that say what to build and how to train it."""

from scnf.recipes.load import RecipeError, load_recipe, parse_override, recipe_to_toml, shipped_recipes
from scnf.recipes.schema import AugmentSpec, ConsistencySpec, ModelSpec, Recipe, TrainingSpec

__all__ = [
    "AugmentSpec",
    "ConsistencySpec",
    "ModelSpec",
    "Recipe",
    "RecipeError",
    "TrainingSpec",
    "load_recipe",
    "parse_override",
    "recipe_to_toml",
    "shipped_recipes",
]
