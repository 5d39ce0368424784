"""Figures of texts counted by hand; agreement suites judged as if pair by pair by hand."""

import numpy as np
import pytest

import accord
from accord.pipeline.data.encoded import Suite, read_encoded_suite
from accord.pipeline.model import comparison
from accord.pipeline.model.comparison import constructions
from accord.pipeline.model.endings import UnknownClasses
from accord.pipeline.model.metrics import (
    ScoredText,
    agreement_figures,
    credit,
    margins,
    measure_agreement,
    summary,
)
from accord.pipeline.model.suites import Pair, encode_suite, is_made_of, read_suite
from accord.pipeline.model.words import Vocabulary
from accord.pipeline.study import agreement

PAIRS = [
    Pair("simple", "la fille mange une pomme .", "la fille mangent une pomme ."),
    Pair("simple", "les enfants dorment .", "les enfants dort ."),
    Pair("simple", "les enfants mangent une pomme .", "les enfants mange une pomme ."),
    Pair("zébré", "le zygomatique dort .", "le zygomatique dorment ."),
]


def write(folder, pairs=PAIRS):
    for name in {pair.construction for pair in pairs}:
        lines = [f"True\t{p.good}\nFalse\t{p.bad}\n" for p in pairs if p.construction == name]
        (folder / f"{name}.txt").write_text("".join(lines), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def judged(tmp_path_factory, slow):
    """A run of the preset `tiny`, open or closed, that was asked the pairs above."""
    folder = tmp_path_factory.mktemp("judged")
    (folder / "pairs").mkdir()
    write(folder / "pairs")

    def run(protocol):
        changes = {"train.epochs": 2, "analyse.protocol": protocol}
        changes["analyse.suites"] = f"[{folder / 'pairs'}]"
        return accord.run("tiny", set=changes, until="evaluate", runs=folder / "runs")

    return run


def by_hand(scorer, pair):
    """The margins of one pair: two sentences scored by themselves, the critical word looked for."""
    good, bad = scorer.score(pair.good), scorer.score(pair.bad)
    place = next(i for i, (a, b) in enumerate(zip(good, bad, strict=True)) if a.form != b.form)
    whole = sum(word.log_p for word in good) - sum(word.log_p for word in bad)
    return whole, good[place].log_p - bad[place].log_p


def test_a_suite_comes_back_from_its_file_as_it_was(tmp_path):
    words = {word for pair in PAIRS for word in f"{pair.good} {pair.bad}".split()}
    forms = ["</s>", "<unk>", *sorted(words - {"zygomatique"})]
    known = {form: number for number, form in enumerate(forms) if number > 1}
    classes = UnknownClasses(["<unk>"], None)
    suite = encode_suite(PAIRS, Vocabulary(forms, known, ["<unk>"], lambda: classes))
    suite.save(tmp_path / "pairs.suite.npz")
    again = Suite.load(tmp_path / "pairs.suite.npz")
    unknown = again.ids == 1
    assert set(again.forms[again.form[unknown]]) == {"zygomatique"}
    known = again.ids[~unknown & (again.ids > 0)]
    assert [forms[i] for i in known] == again.forms[again.form[~unknown & (again.ids > 0)]].tolist()
    sentences = np.split(again.form, np.cumsum(again.lengths)[:-1])
    texts = [" ".join(again.forms[sentence[:-1]]) for sentence in sentences]
    found = [
        Pair(str(again.constructions[c]), texts[g], texts[b])
        for c, g, b in zip(again.construction, again.good, again.bad, strict=True)
    ]
    assert found == PAIRS
    assert again.critical.tolist() == [2, 2, 2, 2]
    assert is_made_of(again, PAIRS)
    assert not is_made_of(again, [Pair(c, good.title(), bad) for c, good, bad in PAIRS])
    assert not is_made_of(again, PAIRS[:3])
    for changed in (("other", *PAIRS[0][1:]), ("simple", "la fille dort .", PAIRS[0].bad)):
        assert not is_made_of(again, [Pair(*changed), *PAIRS[1:]])


@pytest.mark.parametrize("model", ["rnn", "ll-rnn"])
def test_a_suite_is_judged_as_if_pair_by_pair_by_hand(judged, model):
    run = judged("open")
    scorer = accord.load(run.folder, model)
    encoded = run.artefacts[model, "encode"].folder
    suite = read_encoded_suite(encoded, "pairs")
    figures, found = measure_agreement(scorer.model, scorer.spelling, *suite)
    expected = np.array([by_hand(scorer, pair) for pair in PAIRS])
    np.testing.assert_allclose(found[:, :2], expected, atol=1e-4)
    simple, other = (expected[:3] > 0).mean(axis=0), (expected[3:] > 0).mean(axis=0)
    assert figures["accuracy: simple"] == pytest.approx(simple[0])
    assert figures["accuracy"] == pytest.approx((simple[0] + other[0]) / 2)
    assert figures["accuracy by critical word"] == pytest.approx((simple[1] + other[1]) / 2)
    assert (figures["pairs"], figures["pairs with unknown words"]) == (4, 0)


def test_pairs_with_words_that_are_not_known_are_counted_and_not_judged(judged):
    scorer = accord.load(judged("closed").folder, "ll-rnn")
    strange = Pair("simple", "le xylophage dort .", "le xylophage dorment .")
    suite = encode_suite([*PAIRS, strange], scorer.vocabulary)
    assert suite.known.tolist() == [True] * 4 + [False]
    text = scorer.written(suite.forms.tolist(), suite.form)
    found = margins(scorer.model, scorer.spelling, suite, text)
    assert np.isnan(found[4]).all() and not np.isnan(found[:4]).any()
    figures = agreement_figures(suite, found)
    assert (figures["pairs"], figures["pairs with unknown words"]) == (5, 1)
    assert figures["accuracy: simple"] == (found[:3, 0] > 0).mean()


def test_clams_has_all_its_pairs(fetched):
    pairs = read_suite(str(fetched("clams-fr"))).pairs
    assert len(pairs) == 49_360
    assert len({pair.construction for pair in pairs}) == 7


RARE = [  # no word that differs is in the training text
    Pair("rare", "le zygomatique zozote .", "le zygomatique zozotent ."),
    Pair("rare", "les zygomatiques zozotent .", "les zygomatiques zozote ."),
]


@pytest.fixture(scope="module")
def tied(tmp_path_factory, slow):
    """The RNN of `tiny` with a closed vocabulary: it has one feature for all rare words."""
    folder = tmp_path_factory.mktemp("tied")
    (folder / "pairs").mkdir()
    write(folder / "pairs", [*PAIRS[:3], *RARE])
    changes = {"train.epochs": 1, "analyse.protocol": "closed"}
    changes["analyse.suites"] = f"[{folder / 'pairs'}]"
    return accord.run("tiny", set=changes, runs=folder / "runs"), str(folder / "pairs")


def test_a_tie_counts_one_half_neither_right_nor_wrong(tied):
    run, suite = tied
    scores = comparison.scores(run.folder)
    rnn = scores[scores["model"] == "rnn"].set_index(["split", "metric"])["value"]["pairs"]
    assert rnn["accuracy: rare"] == rnn["accuracy by critical word: rare"] == 0.5
    assert rnn["ties: rare"] == rnn["ties by critical word: rare"] == 2
    assert rnn["ties"] == 2 and rnn["ties: simple"] == 0
    assert rnn["accuracy"] == pytest.approx((rnn["accuracy: simple"] + 0.5) / 2)
    for row in constructions(scores).query("model == 'rnn'").itertuples():
        assert row.share == rnn[f"accuracy: {row.group}"] and row.low <= row.share <= row.high
        assert row.pairs == {"simple": 3, "rare": 2}[row.group]
    written = read_suite(suite)
    asked = agreement.judged([run.folder], written)
    for scoring in range(4):  # by sums over words, too, whose last digits differ
        rows = agreement.accuracy(asked, agreement.groups(written, "construction"), scoring)
        row = rows.set_index(["model", "group"]).loc["rnn", "rare"]
        # 1 of 2, z² = 3.841459: centre 0.5, half 1.959964 · √(0.125 + 0.2400912) / 2.9207295.
        assert row[["share", "ties", "low", "high"]].tolist() == pytest.approx(
            [0.5, 2, 0.0945312, 0.9054688], abs=1e-6
        )


def test_margins_of_rounding_alone_are_ties_and_others_are_not():
    found = credit(np.array([0.3, 1e-6, 0.0, -1e-6, -0.3, np.nan]))
    assert np.array_equal(found, [1, 0.5, 0.5, 0.5, 0, np.nan], equal_nan=True)


# `le zorglub dort </s> oui </s>`, of which training lacks the second word and the fifth.
TEXT = ScoredText(
    log_p=np.array([-1.0, -8.0, -3.0, -0.5, -6.0, -2.5]),
    is_end=np.array([0, 0, 0, 1, 0, 1], bool),
    is_spelled=np.array([0, 1, 0, 0, 0, 0], bool),
    is_unseen=np.array([0, 1, 0, 0, 1, 0], bool),
    lengths=np.array([3, 8, 5, 0, 4, 0]),
    characters=20,
)


def test_each_figure_has_its_own_denominator():
    assert summary(TEXT) == pytest.approx(
        {
            "perplexity": np.exp(21 / 6),
            "nats per word": 21 / 6,
            "nats per word without ends": 18 / 4,
            "bits per character": 21 / np.log(2) / 20,
            "perplexity of unseen words": np.exp(14 / 2),
            "bits per character of unseen words": 14 / np.log(2) / 12,
            "words": 4,
            "sentences": 2,
            "share of words unseen in training": 2 / 4,
            "share of words spelled": 1 / 4,
        }
    )


def test_a_part_of_a_text_has_the_figures_of_its_own_words():
    found = summary(TEXT.part(np.array([0, 0, 0, 0, 1, 1], bool)))
    assert found["nats per word"] == pytest.approx(8.5 / 2)
    assert found["bits per character"] == pytest.approx(8.5 / np.log(2) / 4)
    assert (found["words"], found["sentences"]) == (1, 1)


def test_without_unseen_words_they_have_no_perplexity():
    found = summary(TEXT.part(np.array([1, 0, 1, 1, 0, 0], bool)))
    assert "perplexity of unseen words" not in found
    assert found["share of words unseen in training"] == 0
