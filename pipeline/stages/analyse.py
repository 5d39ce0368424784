"""Stage `analyse`: the known words and their analyses; new words beside an initial checkpoint.

The checkpoint's words keep their ids, then come the words of the text that it does not know. The
checkpoint reads such a word as the unknown word of its class, and φ of the class stays that of the
word. Under the `closed` protocol only the corpus's words are known, not all of the checkpoint's.

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
    read_written,
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
from accord.pipeline.model.endings import COLUMNS, ENDINGS, UnknownClasses, write_analysed
from accord.pipeline.model.folder import ModelFolder, open_folder
from accord.pipeline.model.suites import Pair, read_suite, suite_name, suite_words
from accord.pipeline.model.words import ANALYSES, WORDS, Vocabulary, save_analyses

COUNTS = "counts.json"  # in a shard: how often each split has each word
FEW = 0.4  # share of analysed words: French has more with any lexicon of its content words


class Texts(NamedTuple):
    """The words of each split, counted, and its number of sentences."""

    counts: Mapping[str, Counter[str]]
    sentences: Mapping[str, int]
    written: pd.Series | None  # the commonest spelling of lowercased words in training


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
    sentences = {split: open_table(path).num_rows for split, path in paths.items()}
    texts = Texts(counts, sentences, read_written(inputs["tokenise"]))
    if START in inputs:
        types, analyses, suites = _beside_start(
            params, open_folder(inputs[START]), texts, known, out
        )
    else:
        types, analyses, suites = _look_up(params, texts, known, out)
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


Analysed = tuple[pd.DataFrame, pd.DataFrame, dict[str, list[Pair]]]  # types, analyses, suites


def _look_up(
    params: AnalyseParams, texts: Texts, known: Sequence[str] | None, out: Path
) -> Analysed:
    """Return the known words and their analyses by the chain of lexicons, and the suites."""
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
    _add_columns(types, params, texts, share, lowercase)
    analyses = chain.lookup(types["form"].tolist())
    if of_class is not None:
        analyses = _by_class(types, analyses, of_class)
    write_analysed(types, analyses, chain, out)
    return types, analyses, suites


def _beside_start(
    params: AnalyseParams,
    start: ModelFolder,
    texts: Texts,
    known: Sequence[str] | None,
    out: Path,
) -> Analysed:
    """Return the known words beside an initial checkpoint, their analyses, and the suites.

    The column `start` has the word of the checkpoint that a word is read as, with its φ.
    """
    vocabulary, lowercase = start.vocabulary, start.lookup.lowercase
    _save_sources(start, out)
    suites = _read_suites(params, lowercase)
    counted = texts.counts["train"], texts.sentences["train"]
    if params.protocol == "open":
        words = texts.counts["train"] if known is None else known
        types = _beyond_start(vocabulary, words, *counted)
        share = 1.0
    else:
        types = _types(_words_of_corpus(texts, suites) if known is None else known, *counted)
        types["start"] = [END_ID, *vocabulary.ids(types["form"].tolist()[1:])]
        share = _shares(types["form"], texts.counts, suites)
    _add_columns(types, params, texts, share, lowercase)
    of_start = start.readings.table(COLUMNS)
    read_as = types["start"].rename("as").rename_axis("id").reset_index()
    analyses = read_as.merge(of_start, left_on="as", right_on="word")
    analyses = analyses.assign(word=analyses["id"])[of_start.columns]
    # A word that the checkpoint knows from its text alone stays outside the lexicon.
    listed = np.array([start.words.is_listed(place) for place in start.words.place])
    is_known = types["unknown"].to_numpy() == 0 if "unknown" in types else True
    listed = (listed[types["start"]] & is_known).astype(np.uint8)
    save_analyses(out / ANALYSES, analyses, types, listed=listed).save(out / WORDS)
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
    vocabulary: Vocabulary, words: Iterable[str], counts: Mapping[str, int], sentences: int
) -> pd.DataFrame:
    """Return the words of the initial checkpoint, which keep their ids, and new ones."""
    new = sorted(word for word in words if word not in vocabulary.known and not is_special(word))
    first = len(vocabulary.forms)
    forms, read_as = [*vocabulary.forms, *new], vocabulary.ids(new)
    types = pd.DataFrame({"form": forms, "count": [counts.get(form, 0) for form in forms]})
    types.loc[END_ID, "count"] = sentences
    types["start"] = [*range(first), *read_as]
    types["unknown"] = 0  # the checkpoint knows its words, however rare they are in the text
    classes = range(UNKNOWN_ID, UNKNOWN_ID + len(vocabulary.unknown))
    types.loc[classes, "unknown"] = classes
    types.loc[first:, "unknown"] = read_as
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
    """Return the forms of the lexicons and the words of training."""
    return sorted(word for word in {*chain, *texts.counts["train"]} if not is_special(word))


def _words_of_corpus(texts: Texts, suites: Mapping[str, list[Pair]]) -> list[str]:
    """Return all words, those of the test and of the suites included."""
    return sorted(set().union(*texts.counts.values(), *map(suite_words, suites.values())))


def _counted(params: AnalyseParams, texts: Texts, words: Sequence[str]) -> tuple[Counter[str], int]:
    """Return the count of each word, and the number of sentences."""
    if params.protocol != "paper":
        return texts.counts["train"], texts.sentences["train"]
    everywhere = sum(texts.counts.values(), Counter())
    # Its b leaves no mass for words that are not counted.
    return everywhere | Counter(words), sum(texts.sentences.values())


def _add_columns(
    types: pd.DataFrame,
    params: AnalyseParams,
    texts: Texts,
    share: np.ndarray | float,
    lowercase: bool,
) -> None:
    """Add columns: count in pretraining, share of mass, spelling and frequency."""
    if PRETRAINING in texts.counts:  # for the b of that text, which the corpus does not count
        types[PRETRAINING] = types["form"].map(texts.counts[PRETRAINING]).fillna(0)
        types.loc[END_ID, PRETRAINING] = texts.sentences[PRETRAINING]
    types["share"] = share
    if texts.written is not None:
        types["written"] = types["form"].map(texts.written)
    if params.frequency:
        frequencies = lexicon.load([params.frequency], folder=folder_of, lowercase=lowercase)
        types["frequency"] = frequencies.frequency(types["form"].tolist())


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
    """Return the table of words: END, then by frequency, then by form. Ids are its rows."""
    table = pd.DataFrame({"form": [*words], "count": [counts[word] for word in words]})
    table = table.sort_values(["count", "form"], ascending=[False, True], kind="stable")
    special = pd.DataFrame({"form": [END], "count": [sentences]})
    return pd.concat([special, table], ignore_index=True)


def _shares(
    forms: pd.Series, counts: Mapping[str, Counter[str]], suites: Mapping[str, list[Pair]]
) -> np.ndarray:
    """Return the share of each word in its signature's mass for unseen words.

    A word that only corpus.pretraining holds has none: a closed vocabulary is the corpus's own.
    """
    corpus = set().union(*(counts[split] for split in counts if split != PRETRAINING))
    corpus = corpus.union(*map(suite_words, suites.values()))
    foreign = counts.get(PRETRAINING, Counter()).keys() - corpus
    return (~forms.isin(foreign)).to_numpy(np.float64)


def _with_classes(types: pd.DataFrame, chain: lexicon.Lexicon) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the types with the unknown words after END, and the unknown word of each type.

    In the column `unknown` is 0 for the words of the lexicon. Returns the classes' analyses too,
    learned from the words outside the lexicon that were seen once.
    """
    listed = {*chain, END}  # looked up word by word, as `isin` takes seconds for so many
    outside = np.array([form not in listed for form in types["form"]])
    types["unknown"] = np.where(outside, UNKNOWN_ID, 0)  # of some class, which is learned now
    once = types["form"][read_as_unknown(types)].tolist()
    classes = UnknownClasses.learn(once, chain)
    types.loc[outside, "unknown"] = classes.ids(types["form"][outside].tolist())
    ids = range(UNKNOWN_ID, UNKNOWN_ID + len(classes.names))
    unknown = pd.DataFrame({"form": classes.names, "count": 0, "unknown": ids})
    types = pd.concat([types[:1], unknown, types[1:]], ignore_index=True)
    return types, classes.analyses(once)


def _by_class(types: pd.DataFrame, analyses: pd.DataFrame, of_class: pd.DataFrame) -> pd.DataFrame:
    """Replace guessed analyses of a word by those of its class.

    Punctuation, numbers and other words that a rule of a lexicon analyses keep these analyses, as
    words never seen have them too.
    """
    by_rule = analyses["word"][analyses["source"] != "guesser"]
    outside = types["unknown"][(types["unknown"] > 0) & ~types.index.isin(by_rule)]
    shared = pd.DataFrame({"id": outside.index, "word": outside.to_numpy()})
    shared = shared.merge(of_class, on="word").drop(columns="word").rename(columns={"id": "word"})
    others = analyses[~analyses["word"].isin(outside.index)]
    return pd.concat([others, shared]).sort_values("word", kind="stable", ignore_index=True)


def _coverage(types: pd.DataFrame, analyses: pd.DataFrame) -> pd.DataFrame:
    """Return how many types and counted tokens each lexicon of the chain answered for."""
    first = analyses.drop_duplicates("word").set_index("word")["source"].astype(str)
    source = first.reindex(types.index, fill_value="nothing")
    words = ~types["form"].map(is_special)
    grouped = types[words].groupby(source[words], sort=True)["count"]
    return grouped.agg(types="size", tokens="sum").reset_index(names="source")
