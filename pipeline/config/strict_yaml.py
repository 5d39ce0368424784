"""YAML that is data and nothing else, and in which no key stands twice."""

from collections.abc import Hashable
from typing import Any

import yaml


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader takes the last of two equal keys; this one takes neither."""

    def construct_mapping(self, node: yaml.Node, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[tuple[str, str]] = set()
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if isinstance(key, yaml.ScalarNode):
                if (key.tag, key.value) in seen:
                    fault = f"the key '{key.value}' stands twice"
                    raise yaml.constructor.ConstructorError(None, None, fault, key.start_mark)
                seen.add((key.tag, key.value))
        return super().construct_mapping(node, deep)


def parse(text: str, where: str) -> Any:
    """What a text says; `where` names it in an error."""
    try:
        return yaml.load(text, _Loader)
    except Exception as error:  # PyYAML lets through whatever `!!int x` or a thousand [ bring about
        said = str(error) or type(error).__name__
        raise ValueError(f"{where} is not valid YAML: {said[:500]}") from None
