"""n-grams: smoothings, histories, pruning, ARPA files, automata, and n-grams from outside as b."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from automaton_cases import Automaton, OpenFst, cost
from full_disk import full_disk
from log_linear_cases import random_features
from ngram_cases import WORDS, as_lists, random_sentences, rising_prior

from accord.models.background import HistoryContext, NGramBackground, NGrams, kneser_ney, lacking
from accord.models.data import END, Sentences
from accord.models.inference.torch_model import TorchBackground
from accord.models.ngrams import count
from accord.models.parts import HISTORIES, SMOOTHINGS
from accord.pipeline.config.sections import BackgroundParams
from accord.zoo.backgrounds import (
    ArpaBackground,
    kinds,
    load_arpa,
    prepare_arpa,
)
from accord.zoo.ngrams import (
    Chosen,
    _likeliest,
    _lost,
    add_alpha,
    backed_off,
    ngram_automaton,
    pruned,
    read_arpa,
    witten_bell,
    write_arpa,
    write_wfst,
)

FORMS = ["</s>", "le", "la", "l’", "été", "à\u00a0côté", "|", "<unk>", "\\x"]
UNIFORM = np.full(WORDS, 1 / WORDS)
GOOD = """
\\data\\
ngram 1=4
ngram 2=3

\\1-grams:
-99\t<s>\t-0.3
-0.5\t</s>
-0.5\tle\t-0.2
-0.8\tla\t0.1

\\2-grams:
-0.3\t<s> le
-0.4\tle la
-0.1\tla </s>

\\end\\
""".lstrip("\n")
WORDS_OF_GOOD = ["</s>", "le", "la"]


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
@pytest.mark.parametrize(("order", "name"), [(1, "m.arpa"), (3, "m.arpa"), (4, "m.arpa.gz")])
def test_what_is_written_is_read_again(smoothing, order, name, tmp_path):
    model = SMOOTHINGS[smoothing](count(random_sentences(), order, WORDS), UNIFORM)
    write_arpa(model, FORMS, tmp_path / name)
    again = read_arpa(tmp_path / name, FORMS)
    contexts = torch.randint(0, WORDS, (200, order - 1), generator=torch.Generator().manual_seed(0))
    p, q = (each.distributions(each.nodes(contexts), torch.float64) for each in (model, again))
    assert torch.allclose(p, q, rtol=2e-7)


@pytest.fixture(scope="module")
def counted(fetched):
    """The forms of a real text, the counts of its first sentences, and the others to be scored."""
    train, test = (conllu_words(fetched("ud-french-1.4"), split) for split in ("train", "test"))
    forms = ["</s>", *sorted({word for sentence in [*train[:4000], *test] for word in sentence})]
    ids = {form: number for number, form in enumerate(forms)}
    return forms, count(encoded(train[:4000], ids), 5, len(forms)), test, encoded(test, ids)


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_kenlm_gives_every_word_of_a_real_text_the_same(smoothing, counted, tmp_path):
    kenlm = pytest.importorskip("kenlm")
    forms, counts, test, ids = counted
    model = SMOOTHINGS[smoothing](counts, np.full(len(forms), 1 / len(forms)))
    write_arpa(model, forms, tmp_path / "m.arpa")
    judge = kenlm.LanguageModel(str(tmp_path / "m.arpa"))
    theirs = [
        log_p
        for sentence in test
        for log_p, _, _ in judge.full_scores(" ".join(sentence), bos=True, eos=True)
    ]
    ours = model.score(ids) / np.log(10)
    assert len(ours) > 5000
    assert ours == pytest.approx(np.array(theirs), abs=1e-4)


def conllu_words(folder: Path, split: str) -> list[list[str]]:
    path = next(folder.rglob(f"*{split}.conllu"))
    sentences = path.read_text(encoding="utf-8").strip().split("\n\n")
    rows = [[line.split("\t") for line in one.split("\n") if line[0] != "#"] for one in sentences]
    return [[row[1].replace(" ", "_") for row in one if row[0].isdigit()] for one in rows]


def encoded(sentences: list[list[str]], ids: dict[str, int]) -> Sentences:
    numbers = [ids[word] for sentence in sentences for word in [*sentence, "</s>"]]
    return Sentences(np.array(numbers), np.array([len(sentence) + 1 for sentence in sentences]))


def test_a_file_written_elsewhere_backs_off_as_it_says(tmp_path):
    (tmp_path / "m.arpa").write_text(GOOD, encoding="utf-8")
    model = read_arpa(tmp_path / "m.arpa", WORDS_OF_GOOD)
    log_p = model.distributions(model.nodes(torch.tensor([[0], [1], [2]])), torch.float64).log10()
    expected = [[-0.8, -0.3, -1.1], [-0.7, -0.7, -0.4], [-0.1, -0.4, -0.7]]
    assert np.allclose(log_p, expected, atol=1e-12)


def test_a_pruned_file_keeps_the_weights_of_contexts_without_ngrams(tmp_path):
    text = GOOD.replace("ngram 2=3", "ngram 2=1\nngram 3=1").replace("-0.3\t<s> le\n", "")
    text = text.replace("-0.1\tla </s>\n", "\n\\3-grams:\n-0.6\tla le la\n")
    (tmp_path / "m.arpa").write_text(text, encoding="utf-8")
    model = read_arpa(tmp_path / "m.arpa", WORDS_OF_GOOD)
    log_p = model.distributions(model.nodes(torch.tensor([[2, 1], [1, 0]])), torch.float64).log10()
    assert np.allclose(log_p, [[-0.7, -0.7, -0.6], [-0.8, -0.8, -1.1]], atol=1e-12)


@pytest.mark.parametrize(
    ("found", "instead", "message"),
    [
        ("ngram 2=3", "ngram 2=4", "line 16: expected 4 2-grams as the head says, found fewer"),
        ("ngram 2=3", "ngram 3=3", "line 3: expected 'ngram 2=' and a number, found 'ngram 3=3'"),
        (
            "-0.4\tle la",
            "nan\tle la",
            "line 13: expected a log-probability of at most 0, found nan",
        ),
        ("-0.4\tle la", "x\tle la", "line 13: expected numbers before and after the words"),
        ("-0.4\tle la", "-0.4\tle chat", "line 13: expected words of the vocabulary, found 'chat'"),
        (
            "-0.4\tle la",
            "-0.4\t<s> le",
            "line 13: expected each n-gram once, found that of line 12",
        ),
        ("-0.2", "inf", "line 8: expected a backoff weight from -300 to 300, found inf"),
        ("\\end\\", "", r"line 17: expected \\end\\, found the end of the file"),
    ],
)
def test_a_bad_file_is_refused_by_line(found, instead, message, tmp_path):
    assert found in GOOD
    path = tmp_path / "bad.arpa"
    path.write_text(GOOD.replace(found, instead, 1), encoding="utf-8")
    with pytest.raises(ValueError, match=message) as refusal:
        read_arpa(path, WORDS_OF_GOOD)
    assert str(path) in str(refusal.value)


def test_add_alpha_is_counts_plus_alpha():
    text, alpha = random_sentences(), 0.3
    model = add_alpha(count(text, 2, WORDS), UNIFORM, alpha=alpha)
    p = model.distributions(model.nodes(torch.arange(WORDS).unsqueeze(1)), torch.float64)
    counts = np.zeros((WORDS, WORDS))
    for sentence in as_lists(text):
        np.add.at(counts, ([END, *sentence[:-1]], sentence), 1)
    expected = (counts + alpha) / (counts.sum(axis=1, keepdims=True) + alpha * WORDS)
    assert np.allclose(p, expected, rtol=1e-12)


def test_jelinek_mercers_weights_are_the_likeliest():
    generator = np.random.default_rng(0)
    above, below = generator.random((2, 400))
    above[generator.random(400) < 0.3] = 0
    times, kind = generator.integers(1, 5, 400), generator.integers(0, 3, 400)
    found = _likeliest(above, below, times, kind)
    for number in range(3):
        a, b, t = (array[kind == number] for array in (above, below, times))
        fine = np.linspace(0.001, 0.999, 999)[:, None]
        best = fine[np.argmax((t * np.log(fine * a + (1 - fine) * b)).sum(axis=1)), 0]
        assert found[number] == pytest.approx(best, abs=0.02)


LONG_TEXT = random_sentences(count=200)
FOURGRAMS = kneser_ney(count(LONG_TEXT, 4, WORDS), np.full(WORDS, 1 / WORDS))
WORD_FORMS = ["</s>", *(f"w{number}" for number in range(1, WORDS))]


def context_distributions(model: NGrams) -> torch.Tensor:
    contexts = np.random.default_rng(1).integers(0, WORDS, size=(300, 3))
    return model.distributions(model.nodes(torch.from_numpy(contexts)), torch.float64)


def listed(model: NGrams) -> list[Chosen]:
    found = []
    for table, contexts in zip(model.tables, model.numpy().context_words(), strict=True):
        node, word = table.keys // WORDS, table.keys % WORDS
        ids = np.column_stack([contexts[node], word.numpy()])
        found.append(Chosen(ids, table.p.numpy()))
    return found


def perplexity(model: NGrams) -> float:
    return float(np.exp(-model.score(LONG_TEXT).mean()))


def test_a_model_is_known_by_the_probabilities_that_it_lists():
    again = backed_off(listed(FOURGRAMS), WORDS)
    assert torch.allclose(context_distributions(again), context_distributions(FOURGRAMS), atol=1e-9)


def test_any_probabilities_make_a_model_that_sums_to_one():
    generator = np.random.default_rng(0)
    chosen = []
    for ids, _ in listed(FOURGRAMS):
        kept = slice(None) if ids.shape[1] == 1 else generator.random(len(ids)) < 0.6
        chosen.append(Chosen(ids[kept], generator.random(len(ids[kept])) / 4))
    p = context_distributions(backed_off(chosen, WORDS))
    assert torch.allclose(p.sum(dim=1), torch.ones(len(p)).double(), atol=1e-9)
    assert (p > 0).all()


@pytest.mark.parametrize("threshold", [0, 1e-5, 1e-3, 0.5])
def test_a_pruned_model_sums_to_one_and_is_read_again(threshold, tmp_path):
    fewer = pruned(FOURGRAMS, threshold)
    p = context_distributions(fewer)
    assert torch.allclose(p.sum(dim=1), torch.ones(len(p)).double(), atol=1e-9)
    write_arpa(fewer, WORD_FORMS, tmp_path / "m.arpa")
    again = read_arpa(tmp_path / "m.arpa", WORD_FORMS)
    assert torch.allclose(context_distributions(again), p, rtol=1e-6)


def test_the_more_is_pruned_the_worse_and_little_costs_little():
    sizes, perplexities = [], []
    for threshold in (0, 1e-5, 1e-3, 1e-2):
        fewer = pruned(FOURGRAMS, threshold)
        sizes.append(sum(len(table.keys) for table in fewer.tables))
        perplexities.append(perplexity(fewer))
    assert sizes == sorted(sizes, reverse=True) and sizes[-1] < sizes[0] / 2
    assert perplexities[0] == pytest.approx(perplexity(FOURGRAMS), rel=1e-6)
    assert perplexities == sorted(perplexities)
    assert perplexities[1] < 1.03 * perplexities[0]


def test_one_that_goes_costs_what_was_said():
    """D is the relative entropy of the two models, summed over all contexts."""
    bigram = kneser_ney(count(LONG_TEXT, 2, WORDS), np.full(WORDS, 1 / WORDS))
    chosen = listed(bigram)
    contexts = torch.arange(WORDS).unsqueeze(1)
    p = bigram.distributions(bigram.nodes(contexts), torch.float64)
    lost = _lost(bigram, 1)
    for gone in range(0, len(lost), 7):
        kept = np.arange(len(lost)) != gone
        without = backed_off([chosen[0], Chosen(chosen[1].ids[kept], chosen[1].p[kept])], WORDS)
        q = without.distributions(without.nodes(contexts), torch.float64)
        of_context = bigram.p_0[contexts[:, 0]]
        expected = (of_context * (p * (p / q).log()).sum(dim=1)).sum()
        assert lost[gone] == pytest.approx(float(expected), rel=1e-6, abs=1e-12)


COUNTED_TEXT, OTHER = random_sentences(count=150), random_sentences(seed=7, count=60, words=WORDS)


def model_of(order: int, threshold: float | None = None) -> NGrams:
    model = kneser_ney(count(COUNTED_TEXT, order, WORDS), np.full(WORDS, 1 / WORDS))
    return model if threshold is None else pruned(model, threshold)


def costs(model: NGrams) -> list[float]:
    """−log p of each sentence of a text by the model itself."""
    ends = np.cumsum(OTHER.lengths)[:-1]
    return [-part.sum() for part in np.split(model.score(OTHER), ends)]


PRUNED_ORDERS = [(1, None), (2, None), (4, None), (3, 1e-3), (3, 0.5)]


@pytest.mark.parametrize(("order", "threshold"), PRUNED_ORDERS)
@pytest.mark.parametrize(("reader", "close"), [(Automaton, 1e-6), (OpenFst, 1e-5)])
def test_the_path_of_a_sentence_weighs_what_the_model_says(
    reader, close, order, threshold, tmp_path
):
    model = model_of(order, threshold)
    write_wfst(ngram_automaton(model), FORMS, tmp_path / "m.fst.txt")
    automaton = reader(tmp_path / "m.fst.txt")
    found = [cost(automaton, [FORMS[w] for w in each[:-1]]) for each in as_lists(OTHER)]
    assert found == pytest.approx(costs(model), rel=close)


def write_automaton(model, forms, path) -> None:
    write_wfst(ngram_automaton(model), forms, path)


@pytest.mark.parametrize(
    ("name", "write"),
    [("x.arpa", write_arpa), ("x.arpa.gz", write_arpa), ("x.fst.txt", write_automaton)],
)
def test_no_half_model_has_the_name_of_a_whole_one(tmp_path, name, write):
    model = kneser_ney(count(random_sentences(), 3, WORDS), np.full(WORDS, 1 / WORDS))
    forms = ["</s>", *(f"mot{number}" for number in range(1, WORDS))]
    path: Path = tmp_path / name
    with pytest.raises(OSError, match="File too large"), full_disk(60):
        write(model, forms, path)
    assert not path.exists()
    write(model, forms, path)
    content = path.read_bytes()
    with pytest.raises(OSError, match="File too large"), full_disk(60):
        write(model, forms, path)
    assert path.read_bytes() == content


FEATURES = random_features(WORDS, width=3, real=False)
HISTORY_TEXT = random_sentences(count=90)
UNSEEN = Sentences(np.append(np.random.default_rng(0).integers(1, WORDS, 59), END), np.array([60]))
CLASSES = np.array([0, 0, 1, 1, 2, 2, 1, 0, 2])  # a word in the class of END, too
FACTORS = {"lemma": np.array([0, 1, 1, 2, 2, 3, 3, 4, 4]), "pos": np.array([0, *[1, 2] * 4])}


def with_history(
    history, order=3, smoothing=kneser_ney, folds=4, text=HISTORY_TEXT, factors=FACTORS
):
    given = HistoryContext(
        FEATURES, [text], order, smoothing, rising_prior, folds, CLASSES, factors
    )
    return HISTORIES.make(history, given)


def all_contexts(background, training=False) -> torch.Tensor:
    found = [background.contexts(text, training) for text in (HISTORY_TEXT, UNSEEN)]
    return torch.from_numpy(np.concatenate(found))


@pytest.mark.parametrize("history", HISTORIES)
@pytest.mark.parametrize("smoothing", SMOOTHINGS)
@pytest.mark.parametrize("order", [1, 2, pytest.param(4, marks=pytest.mark.slow)])
def test_every_history_sums_to_one_over_words_and_over_signatures(history, smoothing, order):
    background = with_history(history, order, SMOOTHINGS[smoothing])
    for training in (False, True):
        sums_to_one(background, all_contexts(background, training))


def sums_to_one(background, context: torch.Tensor) -> None:
    words = torch.arange(WORDS).expand(len(context), -1)
    p = background.log_mass_of(words, context).exp()
    assert torch.allclose(p.sum(dim=1), torch.ones(len(p), dtype=torch.float64), atol=1e-12)
    assert (p > 0).all()
    assert torch.allclose(background.log_mass_of(None, context).exp().double(), p, atol=1e-6)
    sums = torch.zeros(len(p), FEATURES.signature_count, dtype=torch.float64)
    sums.index_add_(1, torch.from_numpy(FEATURES.signature), p)
    assert torch.allclose(background.class_terms(context)[0].double(), sums.log(), atol=3e-6)


@pytest.mark.parametrize("history", HISTORIES)
def test_in_training_a_sentence_asks_the_ngrams_that_lack_its_part(history):
    background = with_history(history, folds=3)
    context = torch.from_numpy(background.contexts(HISTORY_TEXT, training=True))
    part = np.repeat(np.arange(len(HISTORY_TEXT.lengths)) % 3, HISTORY_TEXT.lengths)
    for number, without in enumerate([*lacking([HISTORY_TEXT], 3)][1:]):
        here = np.flatnonzero(part == number)
        if history == "skip":  # whose weights are of the whole text: only its parts can be told
            inside = zip(
                background.parts, with_history(history, folds=0, text=without).parts, strict=True
            )
            pairs = [(a, b, a.contexts(HISTORY_TEXT, training=True)) for a, b in inside]
        elif history == "forest":  # whose questions are of the whole text, and its counts are not
            learn = partial(NGramBackground.learn, FEATURES, [without], 3, kneser_ney, rising_prior)
            inside = [(a, learn(folds=0, history=a.history)) for a in background.parts]
            pairs = [(a, b, a.contexts(HISTORY_TEXT, training=True)) for a, b in inside]
        else:
            pairs = [(background, with_history(history, folds=0, text=without), context.numpy())]
        for asked, alone, asked_in in pairs:
            expected = alone.class_terms(torch.from_numpy(alone.contexts(HISTORY_TEXT)[here]))[0]
            assert torch.allclose(asked.class_terms(torch.from_numpy(asked_in[here]))[0], expected)


def test_witten_bell_is_what_its_definition_says():
    model = witten_bell(count(HISTORY_TEXT, 2, WORDS), np.full(WORDS, 1 / WORDS))
    counts = np.zeros((WORDS, WORDS))
    for sentence in as_lists(HISTORY_TEXT):
        np.add.at(counts, ([END, *sentence[:-1]], sentence), 1)
    alone = np.bincount(HISTORY_TEXT.ids, minlength=WORDS)
    kinds_of_words = np.count_nonzero(alone)
    unigram = (alone + kinds_of_words / WORDS) / (alone.sum() + kinds_of_words)
    different = np.count_nonzero(counts, axis=1)[:, None]
    total = counts.sum(axis=1, keepdims=True) + different
    expected = np.where(total, counts + different * unigram, unigram) / np.where(total, total, 1)
    p = model.distributions(model.nodes(torch.arange(WORDS).unsqueeze(1)), torch.float64)
    assert np.allclose(p, expected, rtol=1e-12)


def test_class_ngrams_are_those_of_the_text_in_classes():
    background = with_history("classes", folds=0)
    of_word = np.array([0, 1, 2, 2, 3, 3, 2, 1, 3])
    mass = rising_prior(range(WORDS))
    in_class = mass / np.bincount(of_word, mass)[of_word]
    in_classes = Sentences(of_word[HISTORY_TEXT.ids], HISTORY_TEXT.lengths)
    of_classes = kneser_ney(count(in_classes, 3, 4), np.full(4, 1 / 4)).score(in_classes)
    expected = of_classes + np.log(in_class[HISTORY_TEXT.ids])
    assert TorchBackground(background).score(HISTORY_TEXT) == pytest.approx(expected, rel=1e-9)


def test_a_factored_model_without_factors_of_its_own_is_the_plain_one():
    """As many factors as words: they say no more than the word."""
    each = {"lemma": np.arange(WORDS), "pos": np.arange(WORDS)}
    same = with_history("factored", folds=0, smoothing=SMOOTHINGS["add-alpha"], factors=each)
    plain = with_history("words", folds=0, smoothing=SMOOTHINGS["add-alpha"])
    assert TorchBackground(same).score(HISTORY_TEXT) == pytest.approx(
        TorchBackground(plain).score(HISTORY_TEXT)
    )


def test_the_weights_of_skip_ngrams_sum_to_one_and_a_start_is_a_kind_by_itself():
    background = with_history("skip", folds=0)
    assert torch.allclose(background.log_weights.exp().sum(dim=1), torch.ones(6).double())
    kind = kinds(background.parts[0].contexts(HISTORY_TEXT), HISTORY_TEXT)
    assert (kind[HISTORY_TEXT.starts] == 3).all()
    assert not (kind[HISTORY_TEXT.starts[HISTORY_TEXT.lengths > 3] + 3] % 2).any()


def test_a_forest_is_the_mean_of_its_trees_and_backs_off_up_a_tree():
    found = with_history({"kind": "forest", "trees": 3, "depth": 2}, folds=0)
    context = all_contexts(found)
    words = torch.arange(WORDS).expand(len(context), -1)
    size = found.parts[0].ngrams.order
    assert size == 1 + 2 + 2, "no history, two questions, two words"
    each = [
        part.log_mass_of(words, context[:, at * size : (at + 1) * size]).exp()
        for at, part in enumerate(found.parts)
    ]
    assert torch.allclose(found.log_mass_of(words, context).exp(), torch.stack(each).mean(dim=0))
    paths = [np.array([*part.history(HISTORY_TEXT)]) for part in found.parts]
    assert all(({*path[:2].ravel()} <= {1, 2}) for path in paths)
    assert not np.array_equal(paths[0][:2], paths[1][:2]), "trees ask different questions"


# As KenLM writes one: 1-grams with <unk>; a word that the vocabulary lacks; an n-gram with <unk>.
ARPA_FILE = """
\\data\\
ngram 1=6
ngram 2=6

\\1-grams:
-99\t<s>\t-0.3
-0.6\t</s>
-0.9\t<unk>\t-0.1
-0.5\tle\t-0.2
-0.8\tla\t0.1
-1\téléphant\t-0.4

\\2-grams:
-0.3\t<s> le
-0.4\tle la
-0.7\tle <unk>
-0.2\t<unk> la
-0.5\téléphant la
-0.1\tla </s>

\\end\\
"""
ARPA_FORMS = ["</s>", "<unk>", "la", "chat", "le", "de la"]  # of which the file has three
ARPA_MASS = np.array([0.2, 0.1, 0.2, 0.3, 0.1, 0.1])
ARPA_TEXT = Sentences(np.array([4, 3, 2, 0, 1, 2, 5, 0]), np.array([4, 4]))


def arpa_background(folder, text=ARPA_FILE, seed=0) -> ArpaBackground:
    (folder / "b.arpa").write_text(text, encoding="utf-8")
    params = BackgroundParams(kind={"kind": "arpa", "file": str(folder / "b.arpa")})
    prepared = prepare_arpa(params, ARPA_FORMS, ARPA_MASS, folder)
    features = random_features(len(ARPA_FORMS), width=2, seed=seed, real=False)
    return load_arpa(features, folder, **prepared)


def test_words_have_what_the_file_says_and_those_it_lacks_share_that_of_unk(tmp_path):
    found = arpa_background(tmp_path)
    context = torch.from_numpy(found.contexts(ARPA_TEXT))
    p = found.log_mass_of(None, context).exp()
    after_start, after_le, after_unknown = p[0], p[1], p[2]
    assert after_start[4] == pytest.approx(10**-0.3)
    assert after_start[2] == pytest.approx(10 ** (-0.3 - 0.8))
    assert after_le[2] == pytest.approx(10**-0.4)
    lacking = [1, 3, 5]
    assert after_le[lacking].sum() == pytest.approx(10**-0.7)
    assert after_le[lacking].numpy() / 10**-0.7 == pytest.approx(ARPA_MASS[lacking] / 0.5)
    assert after_unknown[2] == pytest.approx(10**-0.2)  # `chat` is read as <unk>


@pytest.mark.parametrize("seed", range(3))
def test_class_mass_is_the_sum_over_the_words_of_a_signature(tmp_path, seed):
    found = arpa_background(tmp_path, seed=seed)
    context = torch.from_numpy(found.contexts(ARPA_TEXT))
    signature = torch.from_numpy(
        random_features(len(ARPA_FORMS), width=2, seed=seed, real=False).signature
    )
    masses = found.log_mass_of(None, context).double().exp()
    words = torch.arange(len(ARPA_FORMS)).expand(len(context), -1)
    assert torch.allclose(found.log_mass_of(words, context).exp(), masses, atol=1e-6)
    sums = masses.new_zeros(len(context), int(signature.max()) + 1).index_add_(1, signature, masses)
    assert torch.allclose(found.class_terms(context)[0].double().exp(), sums, atol=1e-6)


@pytest.mark.parametrize("log10", [-6, -9, -12, -99])
def test_a_word_listed_far_below_what_backing_off_gives_it_keeps_its_mass(tmp_path, log10):
    found = arpa_background(tmp_path, ARPA_FILE.replace("-0.4\tle la", f"{log10}\tle la"))
    context = torch.from_numpy(found.contexts(ARPA_TEXT))[1:2]  # after `le`
    alone = {2} == {*np.flatnonzero(found.of_word == found.of_word[2])}
    mass = found.log_mass_of(None, context).double().logsumexp(dim=1)
    assert found.class_terms(context)[0].double().logsumexp(dim=1) == pytest.approx(mass, abs=1e-6)
    prior, evidence = found.class_terms(context, split=True)
    assert evidence.isfinite().all()
    assert prior + evidence == pytest.approx(found.class_terms(context)[0], abs=1e-4)
    if alone and log10 > -15:  # what is rarer than double precision can tell has next to nothing
        of_word = found.class_terms(context)[0][0, found.of_word[2]]
        assert float(of_word) == pytest.approx(log10 * np.log(10), abs=1e-3)
