"""`localspec chat`: a conversation in the terminal."""

from localspec.cli import options
from localspec.cli.options import DEFAULT_MODEL, Request


def chat(
    model: options.Model = DEFAULT_MODEL,
    drafter: options.Drafter = "auto",
    depth: options.Depth = None,
    depth_threshold: options.DepthThreshold = None,
    no_profile: options.NoProfile = False,
    system: options.System = None,
    template: options.Template = None,
    think: options.Think = None,
    max_tokens: options.MaxTokens = None,
    temperature: options.Temperature = None,
    top_k: options.TopK = None,
    top_p: options.TopP = None,
    min_p: options.MinP = None,
    repeat_penalty: options.RepeatPenalty = None,
    presence_penalty: options.PresencePenalty = None,
    frequency_penalty: options.FrequencyPenalty = None,
    seed: options.Seed = None,
    stop: options.Stop = None,
    schema: options.Schema = None,
    grammar: options.Grammar = None,
    ctx: options.Ctx = None,
    threads: options.Threads = None,
    numerics: options.Numerics = None,
    raw: options.Raw = False,
    show_drafts: options.ShowDrafts = False,
    json: options.Json = False,
    jsonl: options.JsonLines = False,
    trace: options.Trace = None,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    offline: options.Offline = False,
) -> None:
    """Talk to a model. Ctrl-C stops an answer, Ctrl-D leaves; /help lists what else there is."""
    request = Request(**{**locals(), "stop": tuple(stop or ())})
    from localspec.cli.conversation import talk

    talk(request)
