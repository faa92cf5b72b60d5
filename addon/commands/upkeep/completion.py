"""`bestbefore completion SHELL`: print the script by which a shell completes commands and options."""

import click
from click.shell_completion import get_completion_class

VARIABLE = "_BESTBEFORE_COMPLETE"
"""click answers a shell's questions where this variable is set."""

_CORRECTIONS = (
    # fish: click cuts values and descriptions at a second comma.
    ('string split ","', 'string split --max 1 ","'),
    # zsh: a file in $fpath completes when it is loaded (loadautofunc); its next call (shfunc) completed nothing.
    ("== loadautofunc ]]", "== (loadautofunc|shfunc) ]]"),
)


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the script for a SHELL that completes commands and options.

    \b
      bestbefore completion bash > ~/.local/share/bash-completion/completions/bestbefore
      bestbefore completion zsh > ~/.zfunc/_bestbefore     # a folder in $fpath
      bestbefore completion fish > ~/.config/fish/completions/bestbefore.fish
    """  # noqa: D301 - click keeps lines after a backspace
    completes = get_completion_class(shell)
    assert completes is not None
    script = completes(ctx.find_root().command, {}, "bestbefore", VARIABLE).source()
    for click_has, right in _CORRECTIONS:
        script = script.replace(click_has, right)
    click.echo(script)
