"""Stage `analyse`: the known words and their analyses; new words beside an initial checkpoint.

The start's words keep their ids, then come the words of the text that it does not know. The
checkpoint reads such a word as the unknown word of its class, and φ of the class stays that of the
word. Under the `closed` protocol only the corpus's words are known, whatever the start knows.

Under the `open` protocol the known words are the lexicon's forms and the words of training. A
word outside the lexicon that is seen once also stands for the words of its class that will be met
later and are not known: training reads it as unknown, so the model learns how often those come.
"""

import json
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from accord import lexicon
from accord.errors import AccordError
from accord.models.common.files import load_json
from accord.pipeline.base.arrow import (
    Ranges,
    batch_ranges,
    open_table,
    splits,
    word_counts,
)
from accord.pipeline.base.artefact import Inputs
from accord.pipeline.base.messages import say
from accord.pipeline.base.names import (
    CHAIN,
    END,
    END_ID,
    MADE_OF,
    PRETRAINING,
    START,
    UNKNOWN_ID,
    is_special,
    read_as_unknown,
)
from accord.pipeline.config.sections import AnalyseParams
from accord.pipeline.data.catalogue import folder_of
from accord.pipeline.data.unknown_words import (
    WRITTEN,
    UnknownClasses,
    read_written,
)
from accord.pipeline.data.vocabulary import Vocabulary
from accord.pipeline.evaluation.suites import Pair, read_suite, suite_name, suite_words
from accord.pipeline.model.endings import COLUMNS, ENDINGS, write_analysed
from accord.pipeline.model.folder import ModelFolder, open_folder
from accord.pipeline.model.words import ANALYSES, WORDS, save_analyses

COUNTS = "counts.json"  # in a shard: how often each split has each word
FEW = 0.4  # share of analysed words: French has more with any lexicon of its content words


class Texts(NamedTuple):
    """How often each split has each word, and how many sentences it has."""

    counts: Mapping[str, Counter[str]]
    sentences: Mapping[str, int]


def pieces(params: AnalyseParams, inputs: Inputs, count: int) -> list[Ranges]:
    return batch_ranges(splits(inputs["tokenise"]), count)


def shard(params: AnalyseParams, inputs: Inputs, piece: Ranges, out: Path) -> None:
    """Count the words of some batches."""
    paths = splits(inputs["tokenise"])
    counts = {split: word_counts(paths[split], range(*chosen)) for split, chosen in piece.items()}
    (out / COUNTS).write_text(json.dumps(counts, ensure_ascii=False), encoding="utf-8")


def compute(
    params: AnalyseParams,
    inputs: Inputs,
    out: Path,
    known: Sequence[str] | None = None,
    shards: Sequence[Path] = (),
) -> None:
    """`known` fixes the words, so that an audit can test everything else."""
    paths = splits(inputs["tokenise"])
    _check_names(paths, params.suites)
    counts = {split: Counter() if shards else word_counts(path) for split, path in paths.items()}
    for folder in shards:
        for split, of_shard in load_json(folder / COUNTS, dict).items():
            counts[split].update(of_shard)
    texts = Texts(counts, {split: open_table(path).num_rows for split, path in paths.items()})
    if START in inputs:
        types, analyses, suites = _of_start(params, inputs, out, texts, known)
    else:
        types, analyses, suites = _look_up(params, inputs, out, texts, known)
    types.to_parquet(out / "types.parquet")
    analyses.to_parquet(out / "analyses.parquet")
    for name, pairs in suites.items():
        pd.DataFrame(pairs).to_parquet(out / f"{name}.suite.parquet")
    coverage = _coverage(types, analyses)
    coverage.to_csv(out / "coverage.csv", index=False)
    covered = coverage["tokens"].dot(coverage["source"] != "nothing") / coverage["tokens"].sum()
    say(f"analyse: {len(types):,} known words, {covered:.2%} of the words counted have an analysis")
    if covered < FEW:
        say("analyse: most words have none. Is the text French? Is it the lexicon that you meant?")


def _look_up(
    params: AnalyseParams, inputs: Inputs, out: Path, texts: Texts, known: Sequence[str] | None
) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, list[Pair]]]:
    """The known words and their analyses by the chain of lexicons, and the suites."""
    lowercase = not any(word != word.lower() for word in texts.counts["train"])
    chain = _load_chain(params, lowercase, out)
    suites = _read_suites(params, lowercase)
    if params.protocol == "open":
        words = _words_of_lexicon(chain, texts) if known is None else known
        types = _types(words, texts.counts["train"], texts.sentences["train"])
        types, of_class = _with_classes(types, chain)
        share = 1.0
    else:
        words = _words_of_corpus(texts, suites) if known is None else known
        types = _types(words, *_counted(params, texts, words))
        of_class = None
        share = _shares(types["form"], texts.counts, suites)
    _add_columns(types, params, inputs, texts, share, lowercase)
    analyses = chain.lookup(types["form"].tolist())
    if of_class is not None:
        analyses = _by_class(types, analyses, of_class)
    write_analysed(types, analyses, chain, out)
    return types, analyses, suites


def _of_start(
    params: AnalyseParams, inputs: Inputs, out: Path, texts: Texts, known: Sequence[str] | None
) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, list[Pair]]]:
    """The known words beside an initial checkpoint, their analyses, and the suites.

    The column `start` has the word of the checkpoint that a word is read as, whose φ it has.
    """
    start = open_folder(inputs[START])
    before, lowercase = start.vocabulary, start.lookup.lowercase
    _save_sources(start, out)
    suites = _read_suites(params, lowercase)
    counted = texts.counts["train"], texts.sentences["train"]
    if params.protocol == "open":
        types = _beyond_start(before, texts.counts["train"] if known is None else known, *counted)
        share = 1.0
    else:
        types = _types(_words_of_corpus(texts, suites) if known is None else known, *counted)
        types["start"] = [END_ID, *before.ids(types["form"].tolist()[1:])]
        share = _shares(types["form"], texts.counts, suites)
    _add_columns(types, params, inputs, texts, share, lowercase)
    analyses = start.analyses(COLUMNS)
    read_as = types["start"].rename("as").rename_axis("id").reset_index()
    of_types = read_as.merge(analyses, left_on="as", right_on="word")
    analyses = of_types.assign(word=of_types["id"])[analyses.columns]
    # A word that the checkpoint knows from its text alone stays outside the lexicon.
    listed = np.array([start.words.is_listed(place) for place in start.words.place])
    is_own = types["unknown"].to_numpy() == 0 if "unknown" in types else True
    words = save_analyses(
        out / ANALYSES, analyses, types, listed=(listed[types["start"]] & is_own).astype(np.uint8)
    )
    words.save(out / WORDS)
    if (start.folder / ENDINGS).exists():
        shutil.copy(start.folder / ENDINGS, out / ENDINGS)
    return types, analyses, suites


def _save_sources(start: ModelFolder, out: Path) -> None:
    """Save the names of the checkpoint's texts and lexicons."""
    made_of = {key: start.config[key] for key in ("name", "corpora", "lexicons")}
    (out / MADE_OF).write_text(json.dumps(made_of, ensure_ascii=False, indent=1))
    lookup = {"names": start.lookup.names, "lowercase": start.lookup.lowercase}
    (out / CHAIN).write_text(json.dumps(lookup))


def _beyond_start(
    before: Vocabulary, words: Iterable[str], counts: Mapping[str, int], sentences: int
) -> pd.DataFrame:
    """The words of the initial checkpoint, which keep their ids, and new ones."""
    new = sorted(word for word in words if word not in before.known and not is_special(word))
    forms, read_as = [*before.forms, *new], before.ids(new)
    types = pd.DataFrame({"form": forms, "count": [counts.get(form, 0) for form in forms]})
    types.loc[END_ID, "count"] = sentences
    types["start"] = [*range(len(before.forms)), *read_as]
    types["unknown"] = 0  # the checkpoint knows its words, however rare they are in the text
    classes = range(UNKNOWN_ID, UNKNOWN_ID + len(before.unknown))
    types.loc[classes, "unknown"] = classes
    types.loc[len(before.forms) :, "unknown"] = read_as
    return types


def _load_chain(params: AnalyseParams, lowercase: bool, out: Path) -> lexicon.Lexicon:
    """Load the lexicons and save the chain for later words; rows left out are reported."""
    named = {"names": params.lexicon, "join": params.join, "strict": params.strict}
    chain = lexicon.load(**named, lowercase=lowercase, folder=folder_of)
    (out / CHAIN).write_text(json.dumps({"names": params.lexicon, "lowercase": lowercase}))
    for skipped in chain.skipped:
        say(f"analyse: {skipped}")
    return chain


def _words_of_lexicon(chain: lexicon.Lexicon, texts: Texts) -> list[str]:
    """Its forms and the words of training."""
    return sorted(word for word in {*chain, *texts.counts["train"]} if not is_special(word))


def _words_of_corpus(texts: Texts, suites: Mapping[str, list[Pair]]) -> list[str]:
    """All of them, those of the test and of the suites included."""
    return sorted(set().union(*texts.counts.values(), *map(suite_words, suites.values())))


def _counted(params: AnalyseParams, texts: Texts, words: Sequence[str]) -> tuple[Counter[str], int]:
    """The count of each word, and the number of sentences."""
    if params.protocol != "paper":
        return texts.counts["train"], texts.sentences["train"]
    everywhere = sum(texts.counts.values(), Counter())
    # Its b leaves no mass for words that are not counted.
    return everywhere | Counter(words), sum(texts.sentences.values())


def _add_columns(
    types: pd.DataFrame,
    params: AnalyseParams,
    inputs: Inputs,
    texts: Texts,
    share: np.ndarray | float,
    lowercase: bool,
) -> None:
    """Add columns: count in pretraining, share of mass, spelling and frequency."""
    if PRETRAINING in texts.counts:  # for the b of that text, which the corpus's does not count
        types[PRETRAINING] = types["form"].map(texts.counts[PRETRAINING]).fillna(0)
        types.loc[END_ID, PRETRAINING] = texts.sentences[PRETRAINING]
    types["share"] = share
    if (inputs["tokenise"] / WRITTEN).exists():  # the words were lowercased
        types["written"] = read_written(inputs["tokenise"], types["form"])
    if params.frequency:
        counted = lexicon.load([params.frequency], folder=folder_of, lowercase=lowercase)
        types["frequency"] = counted.frequency(types["form"].tolist())


def _read_suites(params: AnalyseParams, lowercase: bool) -> dict[str, list[Pair]]:
    return {suite_name(suite): [*read_suite(suite, lowercase).pairs] for suite in params.suites}


def _check_names(splits: Iterable[str], suites: Iterable[str]) -> None:
    """Splits and suites must have different names, as files and figures are named after them."""
    counted = Counter([*splits, *map(suite_name, suites)])
    for name, times in counted.items():
        if times > 1:
            raise AccordError(
                f"analyse.suites: expected folders of different names, none of them that of a "
                f"split; found '{name}' twice"
            )


def _types(words: Sequence[str], counts: Counter[str], sentences: int) -> pd.DataFrame:
    """The sentence's end first, then by frequency, then by form: ids are rows of this table."""
    table = pd.DataFrame({"form": [*words], "count": [counts[word] for word in words]})
    table = table.sort_values(["count", "form"], ascending=[False, True], kind="stable")
    special = pd.DataFrame({"form": [END], "count": [sentences]})
    return pd.concat([special, table], ignore_index=True)


def _shares(
    forms: pd.Series, counts: Mapping[str, Counter[str]], suites: Mapping[str, list[Pair]]
) -> np.ndarray:
    """The share of each word in its signature's mass for unseen words.

    A word that only corpus.pretraining holds has none: a closed vocabulary is the corpus's own.
    """
    own = set().union(*(counts[split] for split in counts if split != PRETRAINING))
    own = own.union(*map(suite_words, suites.values()))
    read_first = counts.get(PRETRAINING, Counter()).keys() - own
    return (~forms.isin(read_first)).to_numpy(np.float64)


def _with_classes(types: pd.DataFrame, chain: lexicon.Lexicon) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The types with the unknown words after END, and the unknown word of each type.

    In the column `unknown` is 0 for the words of the lexicon. Returns the classes' analyses too,
    learned from the words outside the lexicon that were seen once.
    """
    listed = {*chain, END}  # asked word by word, as `isin` takes seconds for so many
    outside = np.array([form not in listed for form in types["form"]])
    types["unknown"] = np.where(outside, UNKNOWN_ID, 0)  # of some class; of which, is learned now
    once = types["form"][read_as_unknown(types)].tolist()
    classes = UnknownClasses.learn(once, chain)
    types.loc[outside, "unknown"] = classes.ids(types["form"][outside].tolist())
    ids = range(UNKNOWN_ID, UNKNOWN_ID + len(classes.names))
    unknown = pd.DataFrame({"form": classes.names, "count": 0, "unknown": ids})
    types = pd.concat([types[:1], unknown, types[1:]], ignore_index=True)
    return types, classes.analyses(once)


def _by_class(types: pd.DataFrame, analyses: pd.DataFrame, of_class: pd.DataFrame) -> pd.DataFrame:
    """Replace guessed analyses of a word by those of its class.

    Punctuation, numbers and what else a rule of a lexicon answers for keep their own, which they
    would have if they had never been seen.
    """
    by_rule = analyses["word"][analyses["source"] != "guesser"]
    outside = types["unknown"][(types["unknown"] > 0) & ~types.index.isin(by_rule)]
    shared = pd.DataFrame({"id": outside.index, "word": outside.to_numpy()})
    shared = shared.merge(of_class, on="word").drop(columns="word").rename(columns={"id": "word"})
    own = analyses[~analyses["word"].isin(outside.index)]
    return pd.concat([own, shared]).sort_values("word", kind="stable", ignore_index=True)


def _coverage(types: pd.DataFrame, analyses: pd.DataFrame) -> pd.DataFrame:
    """How many types and counted tokens each lexicon of the chain answered for."""
    first = analyses.drop_duplicates("word").set_index("word")["source"].astype(str)
    source = first.reindex(types.index, fill_value="nothing")
    words = ~types["form"].map(is_special)
    grouped = types[words].groupby(source[words], sort=True)["count"]
    return grouped.agg(types="size", tokens="sum").reset_index(names="source")
