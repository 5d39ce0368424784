"""Parts by name: tables of Accord's own parts, and the entry points of other packages.

A part describes itself: the first paragraph of its docstring is its meaning, and its keyword-only
parameters are its settings. A package may keep these descriptions in `parts.json`, so that all
parts can be listed and checked without importing torch: `python -m accord.models.parts` writes
those of Accord. A chosen part is imported when it is made.
"""

import inspect
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, TypeVar, Union

from accord.errors import AccordError
from accord.models.common import schema
from accord.models.common.checks import nearest

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

# How a configuration names a part: `window`, or `{kind: window, order: 6}` with its own settings.
Choice = str | dict
Named = TypeVar("Named")
LISTING = "parts.json"  # descriptions of the parts of a package, group by group
OWN = Path(__file__).parents[1]  # the folder with those of Accord's own tables
WEIGHT = Annotated[float, schema.Range(ge=0)]


def imported(place: str) -> Any:
    """Return the object at `module:attribute`, imported when it is needed."""
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)


def parted(choice: Choice) -> tuple[str, dict[str, Any]]:
    """Return the name of a part, and its settings."""
    settings = {"kind": choice} if isinstance(choice, str) else dict(choice)
    return settings.pop("kind"), settings


# A part in a file of the user's own. A file is code, so it is loaded only if a configuration of
# this process names it, or the environment: a model that somebody else made names what it likes.
OF_FILE = re.compile(r"(.+\.py):([A-Za-z_]\w*)")
PLUGINS = "ACCORD_PLUGINS"
_named_by_user: set[Path] = set()


def trust_files(value: Any) -> None:
    """Allow loading the files that a configuration names, at any depth."""
    if isinstance(value, str) and (file := OF_FILE.fullmatch(value)):
        _named_by_user.add(Path(file[1]).resolve())
    elif isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            trust_files(item)


@cache
def _module_of(path: Path) -> Any:
    spec = spec_from_file_location(f"accord file {path.with_suffix('')}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise AccordError(f"expected a file of Python, found none at {path}")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # where inspect and dataclasses look a class's module up
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[spec.name]
        raise
    return module


def _of_file(path: Path, attribute: str) -> Any:
    """Return a function or class of a file that the user trusts."""
    path, trusted = path.resolve(), os.environ.get(PLUGINS, "").split(os.pathsep)
    if path not in _named_by_user | {Path(name).resolve() for name in trusted}:
        raise AccordError(
            f"a model names the code of {path}; it is not run, as no configuration names it here. "
            f"If you trust the file, set {PLUGINS}={path}"
        )
    module = _module_of(path)
    if not hasattr(module, attribute):
        raise AccordError(f"{path}: expected '{attribute}'{nearest(attribute, vars(module))}")
    return getattr(module, attribute)


class Setting(NamedTuple):
    """A keyword-only parameter of a part: its type with limits and meaning, and its default."""

    hint: Any
    default: Any


@dataclass(frozen=True)
class Format:
    """The use of a text, as JSON schema names it."""

    name: str

    def json_schema(self) -> dict[str, Any]:
        return {"format": self.name}


FILE = Format("path")  # of a setting that names a file, which is data of a stage


@dataclass(frozen=True)
class Part:
    """The description of a part."""

    meaning: str
    settings: Mapping[str, Setting] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)  # for the callers of its kind
    file: Path | None = None  # of a part of another package


def about(**facts: Any) -> Callable[[Named], Named]:
    """Decorate a part with facts that its callers need before it is imported."""

    def decorate(part: Named) -> Named:
        setattr(part, "about", facts)  # noqa: B010  # to mypy functions have no such attribute
        return part

    return decorate


def described(part: Any) -> Part:
    """Describe a class or function by its docstring and its keyword-only parameters."""
    settings = {}
    for name, parameter in inspect.signature(part, eval_str=True).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY:
            settings[name] = Setting(parameter.annotation, parameter.default)
            if parameter.default is parameter.empty or not schema.is_setting(parameter.annotation):
                types = ", ".join(schema.NAMES.values())
                raise AccordError(
                    f"expected the setting '{name}' to have a type of {types} and a default"
                )
    text = (inspect.getdoc(part) or "").partition("\n\n")[0].replace("\n", " ")
    file = inspect.getsourcefile(part)
    if file is None:
        raise AccordError("it has no source file")
    return Part(text, settings, getattr(part, "about", {}), Path(file))


class Registry(Mapping[str, Any]):
    """Name → class or function, of one kind of part.

    Accord's own are named in a `table` (name → `module:attribute`), or register themselves when
    `modules` are imported.
    """

    of_group: ClassVar[dict[str, "Registry"]] = {}

    def __init__(
        self,
        kind: str,
        group: str,
        table: Mapping[str, str] | None = None,
        modules: tuple[str, ...] = (),
    ):
        self.kind, self.group, self.table, self._modules = kind, group, table or {}, modules
        self._registered: dict[str, tuple[Any, dict[str, Any]]] = {}  # with facts for callers
        self.registry = self.of_group[group] = self  # of itself, as `Several` has one

    def register(self, name: str, **about: Any) -> Callable[[Named], Named]:
        """Register the class or function below, with facts for its callers."""

        def decorate(part: Named) -> Named:
            if part.__module__ not in self._modules and name in self.own:
                raise AccordError(f"{self.kind} '{name}' is Accord's own: choose another name")
            self._registered[name] = part, about
            return part

        return decorate

    def _all_registered(self) -> dict[str, tuple[Any, dict[str, Any]]]:
        for module in self._modules:
            import_module(module)
        return self._registered

    def _points(self) -> "dict[str, EntryPoint]":
        """Return the entry points of other packages by name."""
        return {point.name: point for point in _installed(_places()).select(group=self.group)}

    def __getitem__(self, name: str) -> Any:
        if file := OF_FILE.fullmatch(name):
            return _of_file(Path(file[1]), file[2])
        if name in self.table:
            return imported(self.table[name])
        if name in (registered := self._all_registered()):
            return registered[name][0]
        point = self._points()[name]
        try:
            return point.load()
        except Exception as error:  # a stranger's code may fail in any way
            raise AccordError(
                f"{self.kind} '{name}' of {point.dist.name if point.dist else point.value} "
                f"cannot be loaded: {type(error).__name__}: {error}"
            ) from None

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self.table, *self._all_registered(), *self._points()]))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        of_file = isinstance(name, str) and OF_FILE.fullmatch(name)
        return bool(of_file) or name in self.table or name in [*self]

    @property
    def own(self) -> tuple[str, ...]:
        """Return the names of Accord's own parts."""
        parts = self._all_registered().items()
        return (*self.table, *(n for n, (part, _) in parts if part.__module__ in self._modules))

    def place(self, name: str) -> str:
        """Return the `module:attribute` of a part of a table or an entry point."""
        return self.table.get(name) or self._points()[name].value

    def part(self, name: str) -> Part:
        """Return the description of a part, from a listing or from the part itself."""
        is_here = name in self.table or name in self._all_registered()
        point = None if is_here else self._points().get(name)
        folder = OWN if name in self.table else _package(point.module) if point else None
        if entry := _listing(folder).get(self.group, {}).get(name):
            settings = {key: _setting(form) for key, form in entry["settings"].items()}
            spec = find_spec(point.module) if point else None
            file = Path(spec.origin or "") if spec else None
            return Part(entry["meaning"], settings, entry["about"], file)
        part = self[name]
        try:
            description = described(part)
        except (TypeError, ValueError, NameError, AttributeError) as error:
            raise AccordError(
                f"{self.kind} '{name}': expected a class or function of a file, found "
                f"{schema.short(part)} ({error})"
            ) from None
        facts = {**description.about, **self._registered.get(name, (part, {}))[1]}
        return replace(
            description, about=facts, file=None if name in self.own else description.file
        )

    def parts(self, on_fault: Callable[[ValueError], None] = lambda fault: None) -> dict[str, Part]:
        """Return all parts by name, without those of other packages that cannot be loaded."""
        parts = {}
        for name in self:
            try:
                parts[name] = self.part(name)
            except ValueError as fault:
                on_fault(fault)
        return parts

    def choose(self, choice: Any, where: str | None = None) -> Choice:
        """Return the choice with all settings of its part; invalid values are rejected."""
        where = self.kind if where is None else where
        settings = dict(choice) if isinstance(choice, dict) else {"kind": choice}
        kind = settings.pop("kind", None)
        if not isinstance(kind, str) or kind not in self:
            close = nearest(str(kind)[:100], self, most=0)
            raise AccordError(
                f"{where}: expected one of {', '.join(self)}, got {schema.short(kind)}{close}"
            )
        try:
            known = self.part(kind).settings
        except AccordError as error:
            raise AccordError(f"{where}: {error}") from None
        schema.check_keys(settings, known, f"{where}: {kind}", "setting")
        full = {
            name: schema.checked(hint, settings.get(name, default), f"{where}: {kind}.{name}")
            for name, (hint, default) in known.items()
        }
        return {"kind": kind, **full} if full else kind

    def choices(self, choice: Choice) -> list[Choice]:
        """Return the chosen parts of a field: one, as `Several` has any number."""
        return [choice]

    def make(self, choice: Choice, *shared: Any, **named: Any) -> Any:
        """Call the chosen part with its settings and the arguments of its kind."""
        kind, settings = parted(self.choose(choice))
        return self[kind](*shared, **named, **settings)

    def about(self, choice: Choice, fact: str) -> Any:
        """Return a fact of the chosen part, or None."""
        return self.part(parted(choice)[0]).about.get(fact)

    def files(self, choice: Choice) -> list[str]:
        """Return the files that the settings of a choice name."""
        kind, settings = parted(choice)
        of_files = [k for k, s in self.part(kind).settings.items() if FILE in schema.extras(s.hint)]
        return [settings[key] for key in of_files if settings.get(key)]

    def json_schema(self) -> dict[str, Any]:
        """Describe how a part is chosen: by its name, or with its settings."""
        chosen = [
            {
                "type": "object",
                "description": part.meaning,
                "properties": {"kind": {"const": name}, **_settings(part)},
                "additionalProperties": False,
            }
            for name, part in self.parts().items()
        ]
        return {"anyOf": [{"enum": [*self]}, *chosen]}


@dataclass(frozen=True)
class Several:
    """Any number of parts of a kind by name, each with its settings or with its weight."""

    registry: Registry
    weighed: bool = False

    def choose(self, value: Any, where: str) -> dict[str, Any]:
        """Return the mapping with all settings, in the order of the parts; 0 is no weight."""
        chosen: dict[str, Any] = {}
        for name, settings in schema.checked(dict, value, where).items():
            if self.weighed:
                self.registry.choose(name, where)
                if weight := schema.checked(WEIGHT, settings, f"{where}.{name}"):
                    chosen[name] = weight
            else:
                settings = schema.checked(dict | None, settings, f"{where}.{name}") or {}
                chosen[name] = parted(self.registry.choose({**settings, "kind": name}, where))[1]
        known = self.registry.own if {*chosen} <= {*self.registry.own} else self.registry
        return {name: chosen[name] for name in known if name in chosen}

    def choices(self, value: Mapping[str, Any]) -> list[Choice]:
        """Return the chosen parts of a field."""
        return [name if self.weighed else {"kind": name, **value[name]} for name in value]

    def json_schema(self) -> dict[str, Any]:
        """Describe the mapping: a weight or the settings for each name."""
        properties: dict[str, Any] = {}
        for name, part in self.registry.parts().items():
            settings = {"type": "object", "properties": _settings(part)}
            properties[name] = schema.json_schema(WEIGHT) if self.weighed else settings
        return {"type": "object", "properties": properties, "additionalProperties": False}


@cache
def _package(module: str) -> Path | None:
    """Return the folder of the package that holds a module, without importing the module."""
    parent = module.rpartition(".")[0]
    try:
        spec = find_spec(parent) if parent else None
    except Exception:  # a stranger's package may fail in any way; loading the part will say how
        return None
    return Path(spec.origin).parent if spec and spec.origin else None


@cache
def _listing(folder: Path | None) -> dict[str, dict[str, Any]]:
    """Read the descriptions that a package keeps."""
    path = folder / LISTING if folder else None
    return json.loads(path.read_text(encoding="utf-8")) if path and path.is_file() else {}


def listing(package: str) -> dict[str, dict[str, Any]]:
    """Import all parts of a package and describe them, group by group."""
    registries = [*Registry.of_group.values()] if package == "accord.models" else []
    parts = [
        (registry.group, name, registry[name]) for registry in registries for name in registry.table
    ]
    installed = _installed(_places())
    for group in sorted(name for name in installed.groups if name.startswith("accord.")):
        for point in installed.select(group=group):
            if point.module.rpartition(".")[0] == package:
                parts.append((group, point.name, point.load()))
    listed: dict[str, dict[str, Any]] = {}
    for group, name, part in parts:
        known = described(part)
        entry = {"meaning": known.meaning, "settings": _settings(known), "about": {**known.about}}
        listed.setdefault(group, {})[name] = entry
    return listed


def write_listing(package: str) -> None:
    """Write the descriptions of a package's parts beside its modules."""
    path = Path(import_module(package).__path__[0]) / LISTING
    text = json.dumps(listing(package), indent=1, ensure_ascii=False)
    path.write_text(f"{text}\n", encoding="utf-8")


def _settings(part: Part) -> dict[str, Any]:
    """Describe settings in JSON schema; one that chooses a part names the registry."""
    settings: dict[str, Any] = {}
    for name, (hint, default) in part.settings.items():
        registries = [extra for extra in schema.extras(hint) if isinstance(extra, Registry)]
        form = {"description": schema.meaning(hint)} if registries else schema.json_schema(hint)
        settings[name] = form | {"default": default}
        for registry in registries:
            settings[name]["parts"] = [registry.kind, registry.group]
    return settings


def _setting(form: Mapping[str, Any]) -> Setting:
    """Return the setting that JSON schema describes."""
    kind: Any = Choice
    notes: list[Any] = [form.get("description", "")]
    if "parts" in form:
        name, group = form["parts"]
        notes.append(Registry.of_group.get(group) or Registry(name, group))
    elif "enum" in form:
        kind = Literal[tuple(form["enum"])]
    else:
        names = form["type"] if isinstance(form["type"], list) else [form["type"]]
        kinds = tuple(kind for kind, name in schema.JSON_TYPES.items() if name in names)
        kind = Union[kinds]  # noqa: UP007  # of a list
    if limits := {name: form[key] for name, key in schema.LIMITS.items() if key in form}:
        notes.append(schema.Range(**limits))
    if "format" in form:
        notes.append(Format(form["format"]))
    return Setting(Annotated[kind, *notes], form["default"])


def _places() -> tuple[tuple[str, float], ...]:
    """Return the folders that are searched for packages, and when each last changed."""
    return tuple((str(path), path.stat().st_mtime) for path in map(Path, sys.path) if path.exists())


@lru_cache(maxsize=1)
def _installed(places: tuple[tuple[str, float], ...]) -> Any:
    """Return the entry points of all packages there; they are needed often, and read once."""
    from importlib.metadata import entry_points  # here, as to know Accord's own needs none

    return entry_points()


def parts_chosen(params: type) -> dict[str, Registry | Several]:
    """Return the fields of a dataclass that choose a part, `Annotated[Choice, ENCODERS]`."""
    return {
        name: extra
        for name, hint in schema.hints_of(params).items()
        for extra in schema.extras(hint)
        if isinstance(extra, Registry | Several)
    }


def outside_files(params: object) -> list[Path]:
    """Return the files of all chosen parts that other packages bring."""
    return [
        path
        for name, chosen in parts_chosen(type(params)).items()
        for choice in chosen.choices(getattr(params, name))
        for path in _outside(chosen.registry, choice)
    ]


def _outside(registry: Registry, choice: Choice) -> list[Path]:
    """Return the file of a part of another package, and those of parts that its settings name."""
    kind, settings = parted(choice)
    part = registry.part(kind)
    paths = [] if kind in registry.own or part.file is None else [part.file]
    for name, setting in part.settings.items():
        for extra in schema.extras(setting.hint):
            if isinstance(extra, Registry):
                paths += _outside(extra, settings[name])
    return paths


# Functions that options of commands call, by `command.option`.
EXTENSIONS = Registry("extension", "accord.extensions")


def extension(option: str) -> Any:
    """Return the function of another package that does what an option asks."""
    if option not in EXTENSIONS:
        raise AccordError(f"{option}: expected a package that offers it, got none")
    return EXTENSIONS[option]
