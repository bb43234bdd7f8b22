"""The README in the metadata of the packages, which hatchling reads from here."""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface


class ReadmeHook(MetadataHookInterface):
    """README.md; its links become absolute if pyproject.toml has the address of the repository."""

    def update(self, metadata):
        """Set the field of the README."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        source = metadata.get("urls", {}).get("Source")
        if source:
            version = metadata["version"]
            where = "main" if "dev" in version else f"v{version}"
            text = re.sub(r"\]\((?!https://)", f"]({source}/blob/{where}/", text)
            text = re.sub(r'src="(?!https://)', f'src="{source}/raw/{where}/', text)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
