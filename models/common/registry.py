"""Parts by name: those whose files lie in a room, and those that other packages bring.

A room's own parts are found by reading its files, so that their names and settings can be had
without importing torch; what is chosen is imported when it is made. From outside come parts of an
entry point, whose name is the part's, and what is registered by hand before it is asked for.
"""

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache, cached_property, lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from reprlib import repr as short
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

from models.common.part import Part, defined_in, registered_in

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

# How a configuration names a part: `window`, or `{kind: window, order: 6}` with its own settings.
Choice = str | dict


class Registry(Mapping[str, Any]):
    """Name → class or function, of one kind of part; `room` is the package or module it is in."""

    def __init__(self, kind: str, room: str, group: str):
        self.kind, self.room, self.group = kind, room, group
        self._by_hand: dict[str, Any] = {}

    def register(self, name: str, **about: Any) -> Callable[[Any], Any]:
        """Name the class or function below, and say what else those who ask for it must know.

        One of the room is found by its file already; others are taken in here.
        """

        def named(part: Any) -> Any:
            if not f"{part.__module__}.".startswith(f"{self.room}."):
                if name in self._own:
                    raise ValueError(f"{self.kind} '{name}' is Accord's own: choose another name")
                self._by_hand[name] = part
            return part

        return named

    def __getitem__(self, name: str) -> Any:
        if name in self._own:
            module, part = self._own[name]
            return getattr(import_module(module), part.attribute)
        if name in self._by_hand:
            return self._by_hand[name]
        for point in self._points().select(name=name):
            return self._loaded(point)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        points = (point.name for point in self._points())
        return iter(dict.fromkeys([*self._own, *self._by_hand, *points]))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return name in self._own or any(name == each for each in self)

    def part(self, name: str) -> Part:
        """What a part's file says of it."""
        if name in self._own:
            return self._own[name][1]
        part = self[name]
        try:
            return defined_in(Path(inspect.getsourcefile(part)), part.__name__)
        except (TypeError, OSError, AttributeError, SyntaxError) as error:
            raise ValueError(
                f"{self.kind} '{name}': expected a class or function of a file, found "
                f"{short(part)} ({error})"
            ) from None

    def parts(self, on_fault: Callable[[ValueError], None] = lambda fault: None) -> dict[str, Part]:
        """All parts by name, but for those that other packages bring and that cannot be had."""
        found = {}
        for name in self:
            try:
                found[name] = self.part(name)
            except ValueError as fault:
                on_fault(fault)
        return found

    def checked(self, choice: Choice) -> Choice:
        """The choice with every setting that its part has; what cannot be meant is refused."""
        given = dict(choice) if isinstance(choice, dict) else {"kind": choice}
        kind = given.pop("kind", None)
        if not isinstance(kind, str) or kind not in self:
            raise ValueError(f"expected one of {', '.join(self)}, found {_found(kind, self)}")
        settings = self.part(kind).settings
        for name in given:
            if name not in settings:
                known = f"one of {', '.join(settings)}" if settings else "none"
                raise ValueError(
                    f"{kind}: expected {known} as a setting, found {_found(name, settings)}"
                )
        full = {}
        for name, setting in settings.items():
            try:
                full[name] = setting.checked(given.get(name, setting.default))
            except ValueError as error:
                raise ValueError(f"{kind}.{name}: {error}") from None
        return {"kind": kind, **full} if full else kind

    def make(self, choice: Choice, *shared: Any, **named: Any) -> Any:
        """The part that was chosen, called with its settings and what all of its kind are given."""
        kind, settings = parted(self.checked(choice))
        return self[kind](*shared, **named, **settings)

    def is_own(self, choice: Choice) -> bool:
        """Whether a part is of the room, so that the hash of Accord's code holds it."""
        return parted(choice)[0] in self._own

    @cached_property
    def _own(self) -> dict[str, tuple[str, Part]]:
        """Each part of the room with the module that it is in."""
        file = Path(find_spec(self.room).origin)
        if file.stem != "__init__":
            modules = {self.room: file}
        else:
            inside = sorted(file.parent.glob("[!_]*.py"))
            modules = {f"{self.room}.{path.stem}": path for path in inside}
        return {
            name: (module, part)
            for module, path in modules.items()
            for name, part in registered_in(path).items()
        }

    def _points(self) -> "EntryPoints":
        return _installed(_places()).select(group=self.group)

    def _loaded(self, point: "EntryPoint") -> Any:
        try:
            return point.load()
        except Exception as error:  # a stranger's code may fail in any way
            raise ValueError(
                f"{self.kind} '{point.name}' of {point.dist.name if point.dist else point.value} "
                f"cannot be loaded: {type(error).__name__}: {error}"
            ) from None


def _places() -> tuple[tuple[str, int], ...]:
    """Where packages are looked for, and when one last came there or went."""
    return tuple((place, _changed(place)) for place in sys.path)


def _changed(place: str) -> int:
    try:
        return Path(place).stat().st_mtime_ns
    except OSError:  # many a place is not there
        return 0


@lru_cache(maxsize=1)
def _installed(places: tuple[tuple[str, int], ...]) -> "EntryPoints":
    """The entry points of all packages there, read once: they are asked for at every turn."""
    from importlib.metadata import entry_points  # here, as to know the room's own needs none

    return entry_points()


def parted(choice: Choice) -> tuple[str, dict[str, Any]]:
    """The name of a part, and its settings."""
    if isinstance(choice, str):
        return choice, {}
    return choice["kind"], {name: value for name, value in choice.items() if name != "kind"}


@cache
def parts_chosen(params: type) -> dict[str, Registry]:
    """The fields of a dataclass that choose a part, `Annotated[Choice, ENCODERS]`."""
    hints = get_type_hints(params, include_extras=True)
    annotated = {name: get_args(h) for name, h in hints.items() if get_origin(h) is Annotated}
    return {name: args[1] for name, args in annotated.items() if isinstance(args[1], Registry)}


def check_parts(params: Any) -> None:
    """Put the checked choice in the place of each part that the fields of a dataclass choose."""
    for name, registry in parts_chosen(type(params)).items():
        try:
            object.__setattr__(params, name, registry.checked(getattr(params, name)))
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None


def outside_files(params: Any) -> list[Path]:
    """The files of all parts chosen that other packages bring."""
    chosen = [(at, getattr(params, name)) for name, at in parts_chosen(type(params)).items()]
    return [at.part(parted(choice)[0]).file for at, choice in chosen if not at.is_own(choice)]


def _found(name: Any, known: Mapping) -> str:
    close = get_close_matches(str(name)[:100], known, n=1, cutoff=0.5)
    return f"{short(name)}; the nearest is '{close[0]}'" if close else short(name)
