"""Jinja as the Hub's chat templates expect it, in a sandbox that cannot hang or fill memory.

The immutable sandbox keeps a template away from everything but its input. This file adds what it
lacks: each loop, call, operator and filter of a template reports to a `Budget`. It does so by
rewriting the parsed template, so the compiled code has the checks built in. It must not know what
a message is; `template.py` renders with it.
"""

import functools
import html
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from types import BuiltinMethodType

from jinja2 import Template, TemplateError, TemplateSyntaxError, nodes
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension, LoopControlExtension
from jinja2.filters import do_indent, make_attrgetter
from jinja2.parser import Parser
from jinja2.runtime import ChainableUndefined, Context, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace
from jinja2.visitor import NodeTransformer

from localspec.chat.budget import Budget

_MAX_SOURCE = 1 << 18
_WEIGH = "weighed"
_TICK = "ticked"
_JOIN = "joined"
_UNWANTED_FILTERS = ("urlize", "wordwrap", "striptags", "xmlattr", "pprint", "filesizeformat")
_SIZED_FILTERS = ("center", "batch", "slice", "round")
_SIZED_METHODS = frozenset(("center", "ljust", "rjust", "zfill"))
_UNWANTED_METHODS = frozenset(
    ("translate", "maketrans", "expandtabs", "encode", "to_bytes", "from_bytes", "fromhex")
)


class QuietNamespace(Namespace):
    """A namespace whose contents are not printed with it: they may hold each other in circles."""

    def __repr__(self) -> str:
        return "<Namespace>"


class QuietUndefined(ChainableUndefined):
    """A name that nothing was given for: empty text and an empty list, whatever is asked of it.

    llama.cpp is as lenient, and published templates were made for it.
    """

    def __add__(self, other: object) -> object:  # type: ignore[override]
        return other

    def __radd__(self, other: object) -> object:  # type: ignore[override]
        return other


class GenerationTag(Extension):
    """`{% generation %}…{% endgeneration %}`, which marks text for training: a plain scope here."""

    tags = {"generation"}  # noqa: RUF012 (jinja2 declares it as an instance variable)

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body, lineno=line)


class _Checks(NodeTransformer):
    """Rewrites a template so that loops tick and values made without a call are weighed."""

    def visit_For(self, node: nodes.For) -> nodes.Node:
        self.generic_visit(node)
        node.body.insert(0, nodes.ExprStmt(_filtered(nodes.Const(None), _TICK)))
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        self.generic_visit(node)
        return _filtered(nodes.List(node.nodes, lineno=node.lineno), _JOIN)

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:
        self.generic_visit(node)
        return _filtered(node, _TICK)

    def visit_List(self, node: nodes.List) -> nodes.Node:
        self.generic_visit(node)
        return node if _constant(node.items) else _filtered(node, _WEIGH)

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:
        self.generic_visit(node)
        return node if node.ctx != "load" or _constant(node.items) else _filtered(node, _WEIGH)

    def visit_Dict(self, node: nodes.Dict) -> nodes.Node:
        self.generic_visit(node)
        return _filtered(node, _WEIGH)

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:
        self.generic_visit(node)
        return _filtered(node, _WEIGH) if isinstance(node.arg, nodes.Slice) else node

    def visit_ScopedEvalContextModifier(self, node: nodes.ScopedEvalContextModifier) -> nodes.Node:
        raise TemplateSyntaxError("autoescape is not supported here", node.lineno)

    def visit_Include(self, node: nodes.Stmt) -> nodes.Node:
        raise TemplateSyntaxError("it wants another file", node.lineno)

    visit_Import = visit_FromImport = visit_Extends = visit_Include


def _filtered(node: nodes.Expr, name: str) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


def _constant(items: Iterable[nodes.Expr]) -> bool:
    return all(isinstance(item, nodes.Const) for item in items)


class BoundedEnvironment(ImmutableSandboxedEnvironment):
    """A sandbox with the Hub's globals and filters. Set `budget` before each rendering.

    Args:
        clock: gives the time that `strftime_now` prints.
    """

    intercepted_binops = frozenset(("+", "*", "**", "%"))

    def __init__(self, clock: Callable[[], datetime]) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            optimized=False,
            undefined=QuietUndefined,
            extensions=[LoopControlExtension, GenerationTag],
        )
        # Jinja computes some constants while it compiles; this is their budget.
        self.budget = Budget()
        self._clock = clock
        del self.globals["lipsum"]
        self.globals |= {
            "namespace": QuietNamespace,
            "raise_exception": _raise_exception,
            "strftime_now": self._strftime_now,
        }
        tests: dict[str, Callable[..., bool]] = dict(self.tests)  # type: ignore[arg-type]
        self.tests = {name: self._ticking(test) for name, test in tests.items()}
        self._install_filters()

    def load(self, source: str) -> Template:
        """Compile a template. Raises: what Jinja and Python raise on faulty source."""
        if len(source) > _MAX_SOURCE:
            raise TemplateSyntaxError("it is far too long", 1)
        tree = _Checks().visit(self.parse(source))
        return Template.from_code(self, self.compile(tree), self.make_globals(None))

    def is_safe_attribute(self, obj: object, attr: str, value: object) -> bool:
        """Also lists may be changed item by item: all that a template sees is its own copy."""
        changes = isinstance(obj, list) and attr in ("append", "insert", "pop")
        return changes or super().is_safe_attribute(obj, attr, value)

    def unsafe_undefined(self, obj: object, attribute: str) -> Undefined:
        """What may not be seen is an error, and no name that nothing was given for."""
        raise SecurityError(f"access to {attribute} of a {type(obj).__name__} is not safe")

    def concat(self, parts: Iterable[str]) -> str:
        """How compiled templates join what they printed."""
        return self.budget.join(parts)

    def call_binop(self, context: Context, operator: str, left: object, right: object) -> object:
        """`left operator right`, refused before it is computed if it would be too large."""
        match operator:
            case "*":
                self.budget.product(left, right)
            case "**":
                self.budget.power(left, right)
            case "%" if isinstance(left, str):
                self.budget.formatted(left, right)
        return self._weighed(super().call_binop(context, operator, left, right))

    def call(self, context: Context, called: object, /, *args: object, **kwargs: object) -> object:
        """A call in a template, refused before it is made if its result would be too large."""
        self.budget.tick()
        owner = getattr(called, "__self__", None)
        if isinstance(called, BuiltinMethodType) and isinstance(owner, str | int | float):
            args = self._checked_method(owner, called.__name__, args, kwargs)
        return self._weighed(super().call(context, called, *args, **kwargs))

    def wrap_str_format(self, value: object) -> Callable[..., str] | None:
        """The sandboxed form of a bound `str.format`, checked; None for all other values."""
        bound = super().wrap_str_format(value)
        if bound is None:
            return None
        pattern = str(getattr(value, "__self__", ""))

        def checked(*args: object, **kwargs: object) -> str:
            self.budget.formatted(pattern, [args, kwargs])
            return bound(*args, **kwargs)

        return checked

    def _checked_method(
        self, owner: object, name: str, args: tuple[object, ...], kwargs: Mapping[str, object]
    ) -> tuple[object, ...]:
        if name in _UNWANTED_METHODS:
            raise SecurityError(f"{name}() may not be called")
        if name in _SIZED_METHODS:
            self.budget.number(*args)
        if isinstance(owner, str) and name == "replace" and len(args) > 1:
            self.budget.replaced(owner, str(args[0]), str(args[1]))
        if isinstance(owner, str) and name == "join" and args:
            return (self._joinable(args[0], owner),)
        return args

    def _joinable(self, parts: object, separator: str) -> list[object]:
        if not isinstance(parts, Iterable):
            raise TypeError("can only join an iterable")
        items = list(parts)
        self._weighed(items)
        self.budget.charge(len(items) * len(separator))
        return items

    def _weighed(self, value: object) -> object:
        self.budget.weigh(value)
        return value

    def _ticked(self, value: object) -> object:
        self.budget.tick()
        return value

    def _ticking(self, test: Callable[..., bool]) -> Callable[..., bool]:
        @functools.wraps(test)
        def checked(*args: object, **kwargs: object) -> bool:
            self.budget.tick()
            return test(*args, **kwargs)

        return checked

    def _weighing(self, name: str, function: Callable[..., object]) -> Callable[..., object]:
        sized = name in _SIZED_FILTERS

        @functools.wraps(function)
        def checked(*args: object, **kwargs: object) -> object:
            self.budget.tick()
            if sized:
                self.budget.number(*args[1:], *kwargs.values())
            return self._weighed(function(*args, **kwargs))

        return checked

    def _install_filters(self) -> None:
        for name in _UNWANTED_FILTERS:
            del self.filters[name]
        plain: dict[str, Callable[..., object]] = {
            "safe": _plain,
            "escape": _escape,
            "e": _escape,
            "forceescape": _escape,
            "tojson": self._tojson,
            "join": self._join,
            "replace": self._replace,
            "indent": self._indent,
            "format": self._format,
        }
        filters = {**self.filters, **plain}
        self.filters = {name: self._weighing(name, made) for name, made in filters.items()}
        self.filters |= {
            _WEIGH: self._weighed,
            _TICK: self._ticked,
            _JOIN: self._join_all,
        }

    def _join_all(self, parts: Iterable[object]) -> str:
        return self.budget.join(map(str, parts))

    def _tojson(
        self,
        value: object,
        ensure_ascii: bool = False,
        indent: int | str | None = None,
        separators: tuple[str, str] | None = None,
        sort_keys: bool = False,
    ) -> str:
        self.budget.number(indent)
        encoder = json.JSONEncoder(
            ensure_ascii=ensure_ascii,
            indent=indent,
            separators=separators,
            sort_keys=sort_keys,
            default=_as_json,
        )
        return self.budget.join(encoder.iterencode(value))

    def _join(self, value: object, d: object = "", attribute: str | int | None = None) -> str:
        items = self._joinable(value, str(d))
        if attribute is not None:
            items = [make_attrgetter(self, attribute)(item) for item in items]
        return str(d).join(map(str, items))

    def _replace(self, value: object, old: object, new: object, count: int | None = None) -> str:
        text = str(value)
        self.budget.replaced(text, str(old), str(new))
        return text.replace(str(old), str(new), -1 if count is None else count)

    def _indent(
        self, value: object, width: int | str = 4, first: bool = False, blank: bool = False
    ) -> str:
        self.budget.number(width)
        step = width if isinstance(width, str) else " " * width
        text = str(value)
        self.budget.charge(len(text.splitlines()) * len(step))
        return do_indent(text, step, first, blank)

    def _format(self, value: object, *args: object, **kwargs: object) -> str:
        values = kwargs or args
        self.budget.formatted(str(value), values)
        return str(value) % values

    def _strftime_now(self, pattern: str) -> str:
        if len(pattern) > 100:
            raise TemplateError("a time format is too long")
        if sys.platform == "win32":
            pattern = pattern.replace("%-", "%#")
        return self._clock().strftime(pattern)


def _raise_exception(message: str) -> None:
    raise TemplateError(message)


def _as_json(value: object) -> object:
    """What JSON does not know: a name that nothing was given for, and what filters such as `map` give."""
    if isinstance(value, Undefined):
        return None
    if isinstance(value, Iterator):
        return list(value)
    raise TypeError(f"{type(value).__name__} is no JSON")


def _plain(value: object) -> str:
    # Jinja's own `safe` would make later `+` escape what is added.
    return str(value)


def _escape(value: object) -> str:
    return html.escape(str(value))
