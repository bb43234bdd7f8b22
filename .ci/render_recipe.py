"""Check that rattler-build can render the conda recipe; this needs no channel."""

from pathlib import Path

from rattler_build import Stage0Recipe

(variant,) = Stage0Recipe.from_file(Path(__file__).parent.parent / "conda" / "recipe.yaml").render()
recipe = variant.recipe
print(f"The conda recipe is rendered: {recipe.package.name} {recipe.package.version}.")
