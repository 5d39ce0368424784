"""The command line `accord`: a table of commands, whose modules are imported when they are called.

A command is the function of its name. Its line here is the first of the function's docstring, so
that `accord --help` imports no command; a test compares the two.
"""

import atexit
import gc
from typing import Annotated

import typer

from accord.pipeline.cli import console
from accord.pipeline.cli.console import Group, Later, commands_of
from accord.pipeline.display.messages import set_level

COMMANDS = {
    **commands_of(
        "accord.pipeline.cli.run",
        {
            "run": "Run every stage of a configuration that is not done, and print how its "
            "models compare.",
            "stages": "Show whether each stage of a configuration is done, stale or missing, and "
            "why.",
            "pack": "Prepare models, with the code that trains them, for another machine.",
            "unpack": "Take in models that were trained elsewhere, so that `accord run` goes on "
            "with them.",
            "fetch": "Download corpora and lexicons into the data folder, and check their hashes.",
            "config": "Explain every key of a configuration, or print the file of a preset to "
            "copy it.",
        },
    ),
    "lexicon": Group(
        name="lexicon",
        help="Look into lexicons, measure them and compare them.",
        no_args_is_help=True,
        commands={
            "list": Later(
                "list",
                "accord.pipeline.cli.lexicon:list_lexicons",
                "List all lexicons with their size and licence, and whether their data is here.",
            ),
            **commands_of(
                "accord.pipeline.cli.lexicon",
                {
                    "show": "Show what every lexicon that is here says of a word, and the φ that "
                    "--lexicon gives it.",
                    "coverage": "Show how much of a corpus lexicons cover, by part of speech where "
                    "the corpus has them.",
                    "guesser": "Measure guessers on the forms of a tenth of the lemmas, which they "
                    "do not learn from.",
                    "compare": "Train the last model of a configuration with each chain of "
                    "lexicons, and compare them.",
                },
            ),
        },
    ),
    **commands_of(
        "accord.pipeline.cli.results",
        {
            "audit": "Show which splits the vocabulary, φ and b of a run know, and whether the "
            "test is one.",
            "compare": "Compare the models of several runs in one table, training those that are "
            "not trained.",
            "significance": "Show which differences between a run's models are real, by a paired "
            "bootstrap.",
            "tables": "Print the tables of the LL-RNN paper beside the figures of a run of the "
            "preset `paper`.",
            "combine": "Combine models by weights tuned on validation; show the perplexity with "
            "and without each.",
            "verify": "Read every file of a run and its artefacts, and name those that are "
            "changed or damaged.",
            "export": "Write a model with its card into a folder for `load`, as n-grams, or as "
            "an automaton.",
        },
    ),
    **commands_of(
        "accord.pipeline.cli.model",
        {
            "explain": "Show what may come next and why: log p as background, features, −log Z "
            "and spelling.",
            "generate": "Generate sentences: drawn by chance, or the likeliest for their "
            "length by beam search.",
            "nearest": "Show the words whose vectors are nearest to that of a word.",
            "inflection": "Show how often vector arithmetic finds another form of a lemma, "
            "judged by the lexicon.",
        },
    ),
    **commands_of(
        "accord.pipeline.cli.score",
        {
            "condition": "Show the perplexity of sentences under their label, under none and "
            "under a wrong one.",
        },
    ),
    **commands_of(
        "accord.pipeline.cli.score",
        {
            "score": "Score a text: log p of each word and sentence, perplexity, bits per "
            "character.",
        },
    ),
    **commands_of(
        "accord.pipeline.cli.surprisal",
        {
            "surprisal": "Make a table of the words of a table's sentences, with the surprisal "
            "of each in bits.",
            "expect": "Show what a model expects before each word: exact probabilities of the "
            "grammar of the next.",
        },
    ),
    **commands_of(
        "accord.pipeline.cli.page",
        {
            "page": "Serve a page on which sentences can be typed, explained, changed and "
            "compared.",
        },
    ),
    **commands_of(
        "accord.pipeline.cli.agree",
        {
            "agree": "Show how often each model finds the right sentence of a minimal pair the "
            "likelier one.",
        },
    ),
    "suite": Group(
        name="suite",
        help="Make agreement suites out of sentences of your own.",
        no_args_is_help=False,
        commands=commands_of(
            "accord.pipeline.cli.agree",
            {
                "make": "Make minimal pairs: real sentences, and the same with a word that no "
                "longer agrees.",
                "plant": "Plant an error in each sentence: instead of a word another that sounds "
                "the same.",
            },
        ),
    ),
    **commands_of(
        "accord.pipeline.cli.confusions",
        {
            "correct": "Suggest words that agree better, or that sound the same and fit better, "
            "and say why.",
            "corrections": "Show how many planted errors `accord correct` repairs, and how often "
            "it is wrong.",
        },
    ),
    **commands_of(
        "accord.pipeline.zoo.commands",
        {
            "nbest": "Make n-best lists or lattices of what sounds the same, for `accord "
            "rescore`, of any text.",
            "rescore": "Rank n-best lists or lattices anew with a model, and print the best "
            "hypothesis of each.",
            "prune": "Show the perplexity of a model as the smallest weights of each matrix "
            "become zeros.",
        },
    ),
}


class Accord(Group):
    """All commands of the table."""

    def __init__(self, **settings):
        super().__init__(**settings | {"commands": COMMANDS})


app = typer.Typer(
    cls=Accord,
    help="Train language models that know French morphology, compare them, and question them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def main(
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print only results and errors.")
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose", "-v", help="Print more on what is done, and the traceback of an error."
        ),
    ] = False,
) -> None:
    console.tracebacks = verbose
    set_level("quiet" if quiet else "verbose" if verbose else "normal")


def program() -> None:
    """`accord` as a process of its own.

    An import of torch makes a quarter of a million objects, and all of them stay. To look for
    garbage among them as they come, and again at the end, is half a second of every command.
    """
    gc.set_threshold(300_000)
    atexit.register(gc.freeze)
    app()


if __name__ == "__main__":
    program()
