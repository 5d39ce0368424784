"""The methods that users of minicons call give what `accord score` gives."""

import math

import pytest

import accord
from accord.pipeline.integrations.minicons_scorer import AccordScorer

SENTENCES = ["L'homme dort-il ?", "La petite fille mange une pomme.", "Le xylophage dort."]


@pytest.fixture(scope="module")
def scored(tiny_run):
    return accord.load(tiny_run.folder, "ll-rnn").score_all(SENTENCES)


@pytest.fixture(scope="module")
def scorer(tiny_run):
    return AccordScorer(tiny_run.folder, "ll-rnn")


def test_tokens_are_the_words_of_score(scorer, scored):
    found = scorer.token_score(SENTENCES)
    for own, words in zip(found, scored, strict=True):
        assert [token for token, _ in own] == [word.form for word in words[:-1]]
        assert [log_p for _, log_p in own] == pytest.approx([w.log_p for w in words[:-1]], abs=1e-6)
    bits = scorer.token_score(SENTENCES, surprisal=True, base_two=True, rank=True, eos_token=True)
    for own, words in zip(bits, scored, strict=True):
        assert [token for token, *_ in own] == [word.form for word in words]
        expected = [-word.log_p / math.log(2) for word in words]
        assert [score for _, score, _ in own] == pytest.approx(expected)
        assert all(rank >= 1 for *_, rank in own)
    (alone,) = scorer.token_score(SENTENCES[0], prob=True)
    expected = [math.exp(w.log_p) for w in scored[0][:-1]]
    assert [p for _, p in alone] == pytest.approx(expected, rel=1e-4)


def test_a_model_of_subwords_has_scores_but_no_ranks(subwords):
    scorer = AccordScorer(subwords.folder, "rnn")
    scored = accord.load(subwords.folder, "rnn").score(SENTENCES[1])
    assert scorer.token_score(SENTENCES[1]) == [[(w.form, w.log_p) for w in scored[:-1]]]
    with pytest.raises(ValueError, match="expected a model of words, got one of subwords"):
        scorer.token_score(SENTENCES[1], rank=True)


def test_a_sentence_has_the_mean_of_its_words_or_what_is_asked(scorer, scored):
    means = [sum(w.log_p for w in words[:-1]) / (len(words) - 1) for words in scored]
    assert scorer.sequence_score(SENTENCES) == pytest.approx(means)
    sums = scorer.sequence_score(SENTENCES, reduction=lambda x: x.sum().item(), eos_token=True)
    assert sums == pytest.approx([sum(w.log_p for w in words) for words in scored])


def test_words_are_what_is_written_together_and_punctuation_stands_alone(scorer, scored):
    first, _, last = scorer.word_score(SENTENCES)
    assert [word for word, _ in first] == ["L'homme", "dort-il", "?"]
    assert [word for word, _ in last] == ["Le", "xylophage", "dort", "."]
    elided, noun, verb, clitic, mark, _ = (word.log_p for word in scored[0])
    assert [p for _, p in first] == pytest.approx([elided + noun, verb + clitic, mark])
