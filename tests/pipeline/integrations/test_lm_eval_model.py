"""The harness's model: log p of continuations by words, and a refusal of what words cannot do."""

import json

import pytest

lm_eval = pytest.importorskip("lm_eval")

from lm_eval.api.instance import Instance  # noqa: E402
from lm_eval.api.registry import get_model  # noqa: E402

import accord  # noqa: E402
from accord.pipeline.integrations.lm_eval_model import AccordLM  # noqa: E402


@pytest.fixture(scope="module")
def scorer(tiny_run):
    return accord.load(tiny_run.folder, "ll-rnn")


@pytest.fixture(scope="module")
def model(tiny_run):
    return get_model("accord").create_from_arg_string(f"run={tiny_run.folder},model=ll-rnn")


def asked(kind, *arguments):
    return [Instance(kind, {}, each, number) for number, each in enumerate(arguments)]


def test_a_continuation_has_the_log_p_of_its_words(model, scorer):
    words = [word.log_p for word in scorer.score("Les chats noirs dorment.")]
    requests = asked(
        "loglikelihood",
        ("Les chats", " noirs dorment."),
        ("", "Les chats noirs dorment."),
        ("La fille mange.\nLes chats ", "noirs"),
        ("Les chats noirs dorment.", "\nLes chats"),
    )
    found = [log_p for log_p, _ in model.loglikelihood(requests)]
    expected = [sum(words[2:5]), sum(words[:5]), words[2], words[5] + sum(words[:2])]
    assert found == pytest.approx(expected, abs=1e-4)


def test_a_word_is_greedy_where_none_is_likelier(model, scorer):
    best = scorer.vocabulary.forms
    batch, _ = scorer.encoded([["les"]])
    first = best[int(scorer.model.log_distributions(batch)[1].argmax())]
    requests = asked("loglikelihood", ("les", f" {first}"), ("les", " xylophages"))
    assert [greedy for _, greedy in model.loglikelihood(requests)] == [True, False]


def test_a_text_has_the_log_p_of_its_lines(model, scorer):
    text = "La fille mange.\n\nLes chats dorment."
    (found,) = model.loglikelihood_rolling(asked("loglikelihood_rolling", (text,)))
    first, second = scorer.score_all(["La fille mange.", "Les chats dorment."])
    assert found == pytest.approx(sum(w.log_p for w in [*first, *second[:-1]]), abs=1e-4)


def test_a_model_of_subwords_scores_texts_but_judges_no_continuation(subwords):
    model = AccordLM(str(subwords.folder), "rnn")
    assert model.loglikelihood_rolling(asked("loglikelihood_rolling", ("Les chats.",)))[0] < 0
    with pytest.raises(ValueError, match="expected a model of words, got one of subwords"):
        model.loglikelihood(asked("loglikelihood", ("Les", " chats")))


def test_the_harness_evaluates_it(model, scorer, tmp_path):
    rows = [
        {"context": "Les chats noirs", "choices": ["dorment.", "dort."]},
        {"context": "La petite fille", "choices": ["mange.", "mangent."]},
    ]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    task = {
        "task": "accord_pairs",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(tmp_path / "pairs.jsonl")}},
        "test_split": "test",
        "output_type": "multiple_choice",
        "doc_to_text": "{{context}}",
        "doc_to_choice": "{{choices}}",
        "doc_to_target": 0,
        "metric_list": [{"metric": "acc"}],
    }
    done = lm_eval.simple_evaluate(model=model, tasks=[task], bootstrap_iters=0)
    right = [
        sum(w.log_p for w in scorer.score(f"{row['context']} {row['choices'][0]}")[:-1])
        > sum(w.log_p for w in scorer.score(f"{row['context']} {row['choices'][1]}")[:-1])
        for row in rows
    ]
    assert done["results"]["accord_pairs"]["acc,none"] == pytest.approx(sum(right) / 2)
    assert isinstance(model, AccordLM)
