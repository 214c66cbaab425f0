"""The composition root: a pair of files and some wishes become an engine that runs.

The one place where engine meets llama. Files are checked before anything is loaded, since llama.cpp
aborts the process on some bad ones; what was opened is closed in the right order, also after an error.
"""

from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import Literal, Self

import psutil

from localspec.chat.format import ChatFormat
from localspec.chat.named import named_template
from localspec.chat.template import ChatTemplate
from localspec.engine.depth import DepthPolicy, FixedDepth, NoDraft, ThresholdDepth
from localspec.engine.drafters.base import Drafter
from localspec.engine.drafters.draft_model import DraftModel
from localspec.engine.drafters.forced import ForcedDrafter
from localspec.engine.drafters.lookup import LookupDrafter
from localspec.engine.loop import Engine
from localspec.engine.margin import MarginDepth
from localspec.errors import OutOfResourcesError, UnsupportedFileError
from localspec.events import Loading, Notice
from localspec.grammar.tokens import GrammarTokens
from localspec.heads import open_head
from localspec.llama.context import ContextSettings, LlamaContext
from localspec.llama.devices import list_devices
from localspec.llama.library import library
from localspec.llama.model import LlamaModel
from localspec.llama.numerics import NumericsPlan, plan_numerics
from localspec.llama.threads import usable_cores
from localspec.llama.vocab import Vocab
from localspec.pair import DrafterKind, LocalPair, settled_kind
from localspec.params import DepthParams, Numerics, Threads
from localspec.profile import ProfileKey, file_key, load_profile, load_threads, save_profile
from localspec.states import copies_states, max_depth
from localspec.store.architectures import require_runnable
from localspec.store.header import Header, read_header
from localspec.store.mending import overrides

_DEFAULT_CTX = 8192
_N_BATCH = 256
"""Tokens of a pass: as fast as larger ones on a CPU, and an answer can be stopped between two."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the user asked for; None leaves the choice to us.

    Attributes:
        depth: see `DepthParams`.
        n_ctx: tokens of context.
        n_threads: CPU threads.
        numerics: "exact" or "fast".
        flash_attention: False does without, where numerics are fast.
        template: name or path of a chat template that replaces the file's own.
        n_seq_max: sequences at once.
        profile: begin with what was learned at earlier starts, and keep what is learned now.
    """

    depth: DepthParams = field(default_factory=DepthParams)
    n_ctx: int | None = None
    n_threads: int | None = None
    numerics: Numerics | None = None
    flash_attention: bool | None = None
    template: str | None = None
    n_seq_max: int = 1
    profile: bool = True


class Runtime:
    """Opened models and the engine on them; a context manager that closes them.

    Args:
        pair: files that are here.
        wishes: see `Wishes`.
        on_loading: told how far loading is.

    Raises:
        UnsupportedFileError: a file is damaged or of a kind that cannot be run.
        PairMismatchError: the drafter does not fit the target.
        OutOfResourcesError: not enough memory.
    """

    def __init__(
        self,
        pair: LocalPair,
        wishes: Wishes | None = None,
        on_loading: Callable[[Loading], None] | None = None,
    ) -> None:
        started = perf_counter()
        self.pair = pair
        self._chat: tuple[ChatTemplate, ChatFormat] | None = None
        self._learning: MarginDepth | None = None
        self._wishes = wishes or Wishes()
        self._on_loading = on_loading or (lambda event: None)
        self.notices: list[Notice] = []
        self.header = _checked_header(pair.target)
        self.drafter_header: Header | None = None
        if pair.drafter is not None:
            self.drafter_header = read_header(pair.drafter)
        self.kind = settled_kind(pair, self.header, self.drafter_header)
        with ExitStack() as stack:
            self._open(stack)
            self._stack = stack.pop_all()
        self.load_s = perf_counter() - started

    def chat(self) -> tuple[ChatTemplate, ChatFormat]:
        """The template of the target and how it writes replies, made on first use.

        Raises:
            UnsupportedFileError: the model has no template and none was named.
        """
        if self._chat is None:
            source = self._template_source()
            if source is None:
                raise UnsupportedFileError(
                    f"{self.header.name} has no chat template.",
                    "Send the prompt as it is with --raw, or name a template: --template chatml",
                )
            template = ChatTemplate(
                source, self.vocab.text(self.vocab.bos), self.vocab.text(self.vocab.eos)
            )
            self._chat = (template, ChatFormat.derive(template))
        return self._chat

    @cached_property
    def grammar_tokens(self) -> GrammarTokens:
        """The target's tokens for grammars, made on first use: most answers need none."""
        return GrammarTokens(self.vocab)

    @cached_property
    def markers(self) -> frozenset[str]:
        """Texts that mean something to the model where they are read as one token."""
        source = self._template_source() or ""
        words = self.grammar_tokens.markers
        return frozenset(t for t in self.vocab.named if t.strip() and (t in words or t in source))

    @property
    def threads(self) -> Threads:
        """CPU threads of its passes."""
        assert self.profile_key.threads is not None
        return self.profile_key.threads

    @property
    def has_template(self) -> bool:
        """True if prompts can be put into the model's chat format."""
        return self._template_source() is not None

    def close(self) -> None:
        """Keep what was learned, then free contexts, then models."""
        if self._learning is not None and self._learning.cost.measured:
            save_profile(self.profile_key, self._learning.state())
        self._learning = None
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _open(self, stack: ExitStack) -> None:
        wishes = self._wishes
        numerics = plan_numerics(
            wishes.numerics, self.header.products, flash_attention=wishes.flash_attention
        )
        self.numerics = numerics.mode
        target = stack.enter_context(self._load("target", self.header, numerics))
        drafter = None
        if self.drafter_header is not None:
            drafter = stack.enter_context(self._load("drafter", self.drafter_header, numerics))
        self.vocab: Vocab = target.vocab
        self.n_ctx_train = target.n_ctx_train
        self.max_depth = max_depth(wishes.depth, numerics.max_rows)
        self._note_limits(target)
        self.profile_key = self._profile_key()
        settings = self._settings(numerics, target, drafter)
        self.target = stack.enter_context(
            LlamaContext(
                target, replace(settings, copies=copies_states(self.header, self.max_depth))
            )
        )
        self.drafters: dict[DrafterKind, Drafter] = {"lookup": LookupDrafter()}
        self.drafter: LlamaContext | None = None
        match self.kind:
            case "none" | "lookup":
                pass
            case "draft-model":
                assert drafter is not None and self.drafter_header is not None
                copies = copies_states(self.drafter_header, self.max_depth)
                self.drafter = stack.enter_context(
                    LlamaContext(drafter, replace(settings, copies=copies, branches=False))
                )
                self.drafters["draft-model"] = DraftModel(
                    self.drafter, self.vocab.n_tokens, drafter.n_bytes / target.n_bytes
                )
            case head:
                tensors = (self.drafter_header or self.header).tensors
                self.drafter, self.drafters[head] = open_head(
                    head, drafter or target, settings, self.target, tensors
                )
                stack.enter_context(self.drafter)
        self.engine = Engine(self.target, [], NoDraft(), target.vocab.ends)
        self.use(self.kind, self._policy(wishes.depth))

    def use(self, kind: DrafterKind, policy: DepthPolicy) -> None:
        """Have another drafter or another policy from the next answer on.

        Args:
            kind: which drafter; its model must be open.
            policy: decides draft lengths. One that learns may look up in the text beside a drafter model.
        """
        chosen = [ForcedDrafter(), self.drafters[kind]] if kind != "none" else []
        if kind not in ("none", "lookup") and isinstance(policy, MarginDepth):
            chosen.insert(1, self.drafters["lookup"])
        self.engine.drafters, self.engine.depth = chosen, policy

    def _profile_key(self) -> ProfileKey:
        """With the threads that were asked for, or that tuning chose, or one a core."""
        n_cores, wanted = usable_cores(), self._wishes.n_threads
        key = ProfileKey(
            target=file_key(self.pair.target),
            drafter=file_key(self.pair.drafter),
            device=", ".join(device.description for device in list_devices()),
            n_cores=n_cores,
            threads=None,
            numerics=self.numerics,
            backend=library().version,
        )
        kept = load_threads(key) if self._wishes.profile and wanted is None else None
        n = wanted or n_cores
        return replace(key, threads=kept or Threads(n, n))

    def _policy(self, wished: DepthParams) -> DepthPolicy:
        """The policy that the parameters ask for."""
        if wished.threshold is not None:
            return ThresholdDepth(self.max_depth, wished.threshold)
        if wished.depth is None:
            policy = MarginDepth(self.max_depth)
            if self._wishes.profile:
                self._learning = policy
                kept = load_profile(self.profile_key)
                # a file that was tampered with is as good as none
                with suppress(ArithmeticError, AttributeError, KeyError, TypeError, ValueError):
                    policy.restore(kept or {})
            return policy
        return FixedDepth(min(wished.depth, self.max_depth))

    def _load(
        self, role: Literal["target", "drafter"], header: Header, numerics: NumericsPlan
    ) -> LlamaModel:
        report, path = self._on_loading, header.path
        holds_head = role == "drafter" or self.drafter_header is None
        return LlamaModel(
            path,
            use_extra_bufts=numerics.use_extra_bufts,
            load_mtp=self.kind == "mtp" and holds_head,
            overrides=overrides(header),
            on_progress=lambda fraction: report(Loading(role, path.name, fraction)),
        )

    def _note_limits(self, target: LlamaModel) -> None:
        """Say where a wish cannot be fulfilled, so that nothing is cut in silence."""
        depth, n_ctx, kind = self._wishes.depth.depth, self._wishes.n_ctx, self.kind
        if kind != "none" and depth is not None and depth > self.max_depth:
            self.notices.append(
                Notice(
                    f"Exact numerics draft at most {self.max_depth} tokens a round;"
                    f" --depth {depth} is cut to that.",
                    "To draft deeper: --numerics fast",
                )
            )
        if n_ctx is not None and n_ctx > target.n_ctx_train:
            self.notices.append(
                Notice(
                    f"{self.header.name} was trained for {target.n_ctx_train} tokens of context;"
                    " beyond that it may write nonsense."
                )
            )

    def _settings(
        self, numerics: NumericsPlan, target: LlamaModel, drafter: LlamaModel | None
    ) -> ContextSettings:
        wishes = self._wishes
        recipe = self.pair.recipe
        n_ctx = wishes.n_ctx or (recipe.n_ctx if recipe else None)
        n_ctx = n_ctx or min(_DEFAULT_CTX, target.n_ctx_train)
        models = [target] if drafter is None else [target, drafter]
        _check_memory(models, n_ctx * wishes.n_seq_max)
        return ContextSettings(
            n_ctx=n_ctx,
            n_seq_max=wishes.n_seq_max,
            n_batch=_N_BATCH,
            n_outputs=(self.max_depth + 1) * wishes.n_seq_max,
            branches=True,
            threads=self.threads,
            numerics=numerics,
            n_draft=self.max_depth,
        )

    def _template_source(self) -> str | None:
        recipe = self.pair.recipe
        named = self._wishes.template or (recipe.template if recipe else None)
        return named_template(named) if named else self.header.template


def _checked_header(path: Path) -> Header:
    header = read_header(path)
    require_runnable(header)
    return header


def _check_memory(models: list[LlamaModel], n_ctx: int) -> None:
    """Refuse a context whose cache alone would not fit: the system would kill us while filling it.

    Raises:
        OutOfResourcesError: with the largest context that would fit.
    """
    per_token = sum(model.kv_bytes_per_token for model in models)
    available = psutil.virtual_memory().available
    if n_ctx * per_token > available:
        fits = max(512, int(0.8 * available / per_token) // 512 * 512)
        raise OutOfResourcesError(
            f"A context of {n_ctx} tokens needs {n_ctx * per_token / 1e9:.1f} GB and"
            f" {available / 1e9:.1f} GB of memory are free.",
            f"Try --ctx {fits}",
        )
