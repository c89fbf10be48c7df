"""``clasher warmup``: compile ahead."""

from clasher.cli import terminal
from clasher.cli.format import counted
from clasher.cli.options import command, section
from clasher.cli.settings import ModelOptions, settings_options
from clasher.errors import SettingError
from clasher.kernels.state import RULES


@command("warmup", "Compile the loops ahead, for containers and clusters.")
@section("Model")("--all-rules  Compile for every learning rule, instead of one.")
@settings_options
def warmup_command(options: ModelOptions, all_rules: bool) -> None:
    """Compile ahead what a model with these settings uses.

    Otherwise the first document of a new installation waits for it. The result
    is kept in the installation, or in NUMBA_CACHE_DIR if that is set, for this
    kind of processor.

    $ clasher warmup
    $ clasher warmup --all-rules
    $ clasher warmup --rule centroid --weighting icf
    """
    if all_rules and ("rule" in options.given or options.paper is not None):
        raise SettingError(
            "--all-rules compiles for every rule: leave it out, or --rule and --paper"
        )
    each = [options.settings(rule=rule) for rule in RULES] if all_rules else [options.settings()]
    from clasher.warmup import warm_up

    with terminal.compiling():
        done = warm_up(*each)
    if not done.compiled:
        terminal.say(f"nothing left to compile: {counted(done.loaded, 'kernel')} in {done.folder}")
        return
    did = f"compiled {counted(done.compiled, 'kernel')} in {done.seconds:.1f} s of CPU time"
    if done.folder is None:
        raise SettingError(f"{did}, but found no folder to keep them in; set NUMBA_CACHE_DIR")
    found = f"; {done.loaded} were there" if done.loaded else ""
    terminal.say(f"{did}, kept in {done.folder}{found}")
