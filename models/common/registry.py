"""Parts by name: a table of Accord's own parts, and those of other packages.

A table names each part by module and attribute, with its meaning and settings, so that all can be
listed without importing torch; what is chosen is imported when it is made. Functions of modules
that load no torch may register themselves instead. From outside come parts of an entry point,
whose name is the part's, and what is registered by hand before it is asked for.
"""

import inspect
import math
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from reprlib import repr as short
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Protocol, get_args, get_origin, get_type_hints

from accord.errors import AccordError
from accord.models.common.checks import nearest

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

# How a configuration names a part: `window`, or `{kind: window, order: 6}` with its own settings.
Choice = str | dict
TYPES = {int: "int", float: "float", bool: "bool", str: "str", dict: "dict", NoneType: "null"}


@dataclass(frozen=True)
class Setting:
    """A setting that only this part has."""

    hint: type | UnionType
    default: Any
    meaning: str
    least: float | None = None  # the least number that is allowed
    under: float | None = None  # numbers must be below this
    one_of: tuple[str, ...] = ()  # allowed values of text, if not all are
    parts: "Registry | None" = None  # of which the setting names one

    @property
    def types(self) -> tuple[type, ...]:
        return get_args(self.hint) or (self.hint,)

    def checked(self, value: Any) -> Any:
        """The value as one of the types, or an error that names them."""
        if self.parts is not None:
            return self.parts.checked(value)
        if float in self.types and type(value) in (int, str):  # YAML reads 1e-3 as text
            with suppress(ValueError, OverflowError):
                value = float(value)
        if type(value) not in self.types or (type(value) is float and not math.isfinite(value)):
            expected = " or ".join(TYPES[each] for each in self.types)
            raise AccordError(f"expected {expected}, found {short(value)}")
        if self.least is not None and value < self.least:
            raise AccordError(f"expected {self.least:g} or more, found {short(value)}")
        if self.under is not None and value >= self.under:
            raise AccordError(f"expected under {self.under:g}, found {short(value)}")
        if self.one_of and value not in self.one_of:
            raise AccordError(f"expected one of {', '.join(self.one_of)}, found {short(value)}")
        return value


def imported(place: str) -> Any:
    """The object at `module:attribute`, imported when it is needed."""
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)


# A part in a file of the user's own. A file is code, so it is loaded only if a configuration of
# this process names it, or the environment: a model that somebody else made names what it likes.
OF_FILE = re.compile(r"(.+\.py):([A-Za-z_]\w*)")
PLUGINS = "ACCORD_PLUGINS"
_named_by_user: set[Path] = set()


def trust_files(value: Any) -> None:
    """Let the files be loaded that a configuration names, at any depth."""
    if isinstance(value, str) and (file := OF_FILE.fullmatch(value)):
        _named_by_user.add(Path(file[1]).resolve())
    elif isinstance(value, dict | list | tuple):
        for each in value.values() if isinstance(value, dict) else value:
            trust_files(each)


@cache
def _module_of(path: Path) -> Any:
    spec = spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise AccordError(f"expected a file of Python, found none at {path}")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _of_file(path: Path, attribute: str) -> Any:
    """A function or class of a file that the user trusts."""
    path, trusted = path.resolve(), os.environ.get(PLUGINS, "").split(os.pathsep)
    if path not in _named_by_user | {Path(each).resolve() for each in trusted}:
        raise AccordError(
            f"a model names the code of {path}; it is not run, as no configuration names it here. "
            f"If you trust the file, set {PLUGINS}={path}"
        )
    module = _module_of(path)
    if not hasattr(module, attribute):
        raise AccordError(f"{path}: expected '{attribute}'{nearest(attribute, vars(module))}")
    return getattr(module, attribute)


class Part:
    """Where a part is (`module:attribute`), what it is in a sentence, and its settings."""

    def __init__(self, place: str, meaning: str, about: Mapping | None = None, **settings: Setting):
        self.place, self.meaning, self.settings = place, meaning, settings
        self.about = about or {}  # what else those who ask for it must know
        self.file: Path | None = None  # of a part of another package

    def load(self) -> Any:
        return imported(self.place)


def described(part: Any, about: Mapping[str, Any]) -> Part:
    """A class or function as it describes itself: its text's first paragraph, its signature.

    Settings are the keyword-only parameters; `Annotated[float, "from 0 to 1"]` says what one means.
    """
    settings = {}
    for name, parameter in inspect.signature(part, eval_str=True).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY:
            hint, meaning = parameter.annotation, ""
            if get_origin(hint) is Annotated:
                hint, meaning, *_ = get_args(hint)
            settings[name] = setting = Setting(hint, parameter.default, meaning)
            if parameter.default is parameter.empty or not {*setting.types} <= {*TYPES}:
                raise AccordError(
                    f"expected the setting '{name}' to have a type of {', '.join(TYPES.values())} "
                    "and a default"
                )
    meaning = (inspect.getdoc(part) or "").partition("\n\n")[0].replace("\n", " ")
    found = Part(f"{part.__module__}:{part.__qualname__}", meaning, about, **settings)
    file = inspect.getsourcefile(part)
    if file is None:
        raise AccordError("it has no source file")
    found.file = Path(file)
    return found


class Registry(Mapping[str, Any]):
    """Name → class or function, of one kind of part.

    Accord's own are those of the `table` and those that the functions of `modules` register.
    """

    def __init__(
        self,
        kind: str,
        group: str,
        table: Mapping[str, Part] | None = None,
        modules: tuple[str, ...] = (),
        several: bool = False,
    ):
        self.several = several  # whether a field names any number of them
        self.kind, self.group, self._table, self._modules = kind, group, table or {}, modules
        self._registered: dict[str, tuple[Any, dict[str, Any]]] = {}  # in the modules
        self._by_hand: dict[str, tuple[Any, dict[str, Any]]] = {}  # elsewhere

    def register(self, name: str, **about: Any) -> Callable[[Any], Any]:
        """Register the class or function below, with further facts for its users."""

        def named(part: Any) -> Any:
            if part.__module__ in self._modules:
                self._registered[name] = part, about
            elif name in self._own:
                raise AccordError(f"{self.kind} '{name}' is Accord's own: choose another name")
            else:
                self._by_hand[name] = part, about
            return part

        return named

    def __getitem__(self, name: str) -> Any:
        if file := OF_FILE.fullmatch(name):
            return _of_file(Path(file[1]), file[2])
        if name in self._table:
            return self._table[name].load()
        for registered in (self._own, self._by_hand):
            if name in registered:
                return registered[name][0]
        for point in self._points().select(name=name):
            return self._loaded(point)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        points = (point.name for point in self._points())
        return iter(dict.fromkeys([*self._own, *self._by_hand, *points]))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        of_file = isinstance(name, str) and OF_FILE.fullmatch(name)
        return bool(of_file) or name in self._own or any(name == each for each in self)

    def part(self, name: str) -> Part:
        """The description of a part, from the table or from the part itself."""
        if name in self._table:
            return self._table[name]
        part = self[name]
        _, about = self._registered.get(name) or self._by_hand.get(name) or (part, {})
        try:
            return described(part, about)
        except (TypeError, ValueError, NameError, AttributeError) as error:
            raise AccordError(
                f"{self.kind} '{name}': expected a class or function of a file, found "
                f"{short(part)} ({error})"
            ) from None

    def parts(self, on_fault: Callable[[ValueError], None] = lambda fault: None) -> dict[str, Part]:
        """All parts by name, without those of other packages that cannot be loaded."""
        found = {}
        for name in self:
            try:
                found[name] = self.part(name)
            except ValueError as fault:
                on_fault(fault)
        return found

    def checked(self, choice: Choice) -> Choice:
        """The choice with all settings of its part; invalid values are rejected."""
        given = dict(choice) if isinstance(choice, dict) else {"kind": choice}
        kind = given.pop("kind", None)
        if not isinstance(kind, str) or kind not in self:
            raise AccordError(f"expected one of {', '.join(self)}, found {_found(kind, self)}")
        settings = self.part(kind).settings
        for name in given:
            if name not in settings:
                known = f"one of {', '.join(settings)}" if settings else "none"
                raise AccordError(
                    f"{kind}: expected {known} as a setting, found {_found(name, settings)}"
                )
        full = {}
        for name, setting in settings.items():
            try:
                full[name] = setting.checked(given.get(name, setting.default))
            except ValueError as error:
                raise AccordError(f"{kind}.{name}: {error}") from None
        return {"kind": kind, **full} if full else kind

    def make(self, choice: Choice, *shared: Any, **named: Any) -> Any:
        """The chosen part, called with its settings and the arguments of its kind."""
        kind, settings = parted(self.checked(choice))
        return self[kind](*shared, **named, **settings)

    def is_own(self, choice: Choice) -> bool:
        """Whether a part is Accord's, so that its file is not data of a stage."""
        return parted(choice)[0] in self._own

    @cached_property
    def _own(self) -> Mapping[str, Any]:
        for module in self._modules:
            import_module(module)
        return self._table or self._registered

    @property
    def own(self) -> tuple[str, ...]:
        """The names of Accord's own."""
        return tuple(self._own)

    def in_order(self, names: Collection[str]) -> list[str]:
        """Some names in the order of all; entry points are read only if one is not Accord's."""
        known = self.own if {*names} <= {*self.own} else self
        return [name for name in known if name in names]

    def _points(self) -> "EntryPoints":
        return _installed(_places()).select(group=self.group)

    def _loaded(self, point: "EntryPoint") -> Any:
        try:
            return point.load()
        except Exception as error:  # a stranger's code may fail in any way
            raise AccordError(
                f"{self.kind} '{point.name}' of {point.dist.name if point.dist else point.value} "
                f"cannot be loaded: {type(error).__name__}: {error}"
            ) from None


def _places() -> tuple[tuple[str, int], ...]:
    """The folders that are searched for packages, and when each last changed."""
    return tuple((place, _changed(place)) for place in sys.path)


def _changed(place: str) -> int:
    try:
        return Path(place).stat().st_mtime_ns
    except OSError:  # many a place is not there
        return 0


class _Selectable(Protocol):
    """Entry points of all groups, which are of another class from Python 3.12 on."""

    def select(self, *, group: str) -> "EntryPoints": ...


@lru_cache(maxsize=1)
def _installed(places: tuple[tuple[str, int], ...]) -> "_Selectable":
    """The entry points of all packages there; they are needed often, and read once."""
    from importlib.metadata import entry_points  # here, as to know Accord's own needs none

    return entry_points()


def parted(choice: Choice) -> tuple[str, dict[str, Any]]:
    """The name of a part, and its settings."""
    if isinstance(choice, str):
        return choice, {}
    return choice["kind"], {name: value for name, value in choice.items() if name != "kind"}


def put_on(before: Any, choice: Any) -> Any:
    """A choice that keeps the settings of the one before if it names the same part or none."""
    if not isinstance(choice, str | dict) or not isinstance(before, str | dict):
        return choice
    old = before if isinstance(before, dict) else {"kind": before}
    new = choice if isinstance(choice, dict) else {"kind": choice}
    return {**old, **new} if new.get("kind", old.get("kind")) == old.get("kind") else choice


def _parts_chosen(params: type) -> dict[str, Registry]:
    """The fields of a dataclass that choose a part, `Annotated[Choice, ENCODERS]`."""
    hints = get_type_hints(params, include_extras=True)
    annotated = {name: get_args(h) for name, h in hints.items() if get_origin(h) is Annotated}
    return {name: args[1] for name, args in annotated.items() if isinstance(args[1], Registry)}


# Its type stands here, as to mypy a class is no argument of a cached function.
parts_chosen: Callable[[type], dict[str, Registry]] = cache(_parts_chosen)


def check_parts(params: object) -> None:
    """Put the checked choice in the place of each part that the fields of a dataclass choose."""
    for name, registry in parts_chosen(type(params)).items():
        if registry.several:
            continue
        try:
            object.__setattr__(params, name, registry.checked(getattr(params, name)))
        except ValueError as error:
            raise AccordError(f"{name}: {error}") from None


def outside_files(params: object) -> list[Path]:
    """The files of all parts chosen that other packages bring."""
    chosen = [
        (at, choice)
        for name, at in parts_chosen(type(params)).items()
        for choice in (getattr(params, name) if at.several else [getattr(params, name)])
    ]
    return [path for at, choice in chosen for path in _outside(at, choice)]


def _outside(registry: Registry, choice: Choice) -> list[Path]:
    """The file of a part that another package brings, and those of parts that its settings name."""
    kind, settings = parted(choice)
    part = registry.part(kind)
    inner = [
        path
        for name, setting in part.settings.items()
        if setting.parts is not None
        for path in _outside(setting.parts, settings[name])
    ]
    if registry.is_own(choice) or part.file is None:
        return inner
    return [part.file, *inner]


def _found(name: Any, known: Mapping) -> str:
    """A name for an error; the expected names were listed before."""
    return short(name) + nearest(str(name)[:100], known, most=0)
