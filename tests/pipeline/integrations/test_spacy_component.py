"""The component `accord` of spaCy: surprisals on tokens however cut, tables on documents."""

import math

import pytest

spacy = pytest.importorskip("spacy")

import accord  # noqa: E402
from accord.pipeline.ask.scorer import expect  # noqa: E402
from accord.pipeline.integrations import spacy_component  # noqa: E402, F401

TEXT = "L'homme dort. C'est-à-dire que la petite fille mange une pomme."


@pytest.fixture(scope="module")
def nlp(tiny_run):
    nlp = spacy.blank("fr")
    nlp.add_pipe("sentencizer")
    config = {"run": str(tiny_run.folder), "model": "ll-rnn", "features": ["Number"], "split": True}
    nlp.add_pipe("accord", config=config)
    return nlp


def surprisals(doc) -> list[float]:
    """−1 for tokens that have none."""
    return [-1.0 if token._.surprisal is None else token._.surprisal for token in doc]


def test_tokens_have_the_surprisals_of_their_words(nlp, tiny_run):
    doc = nlp(TEXT)
    scored = accord.load(tiny_run.folder, "ll-rnn").score_all([str(s).strip() for s in doc.sents])
    bits = [-word.log_p / math.log(2) for words in scored for word in words[:-1]]
    found = [token._.surprisal for token in doc if token._.surprisal is not None]
    assert found == pytest.approx(bits, abs=1e-4)
    inside = [token.text for token in doc if token._.surprisal is None]
    assert inside == ["est", "-", "à", "-", "dire"]  # of `C'est-à-dire`, which is one word here
    sums = [sum(token._.parts.values()) for token in doc if token._.surprisal is not None]
    assert sums == pytest.approx(bits, abs=1e-4)


def test_a_document_has_what_was_expected_before_each_word(nlp, tiny_run):
    doc = nlp(TEXT)
    table = doc._.expect
    assert [doc.text[row.start : row.end] for row in table.itertuples()] == table["before"].tolist()
    first = expect("L'homme dort.", accord.load(tiny_run.folder, "ll-rnn"), ["Number"])
    columns = ["Number=Plur", "Number=Sing", "Number=none"]
    assert table[columns].head(4).to_numpy() == pytest.approx(
        first[columns].head(4).to_numpy(), abs=1e-5
    )


def test_documents_in_a_row_are_read_as_each_by_itself_and_can_be_saved(nlp):
    texts = [TEXT, "", "Le chat dort.", "  "]
    for doc, text in zip(nlp.pipe(texts), texts, strict=True):
        alone = nlp(text)
        assert surprisals(doc) == pytest.approx(surprisals(alone), rel=1e-4)
        again = spacy.tokens.Doc(nlp.vocab).from_bytes(doc.to_bytes())
        assert again._.expect.equals(doc._.expect)
    component = nlp.get_pipe("accord")
    before = surprisals(alone)
    assert surprisals(component(alone)) == before


def test_without_marked_sentences_a_document_is_split(nlp):
    text = "Le chat dort. Il mange."
    doc = nlp.get_pipe("accord")(nlp.make_doc(text))
    assert surprisals(doc) == pytest.approx(surprisals(nlp(text)), abs=1e-4)
    assert all(token._.surprisal > 0 for token in doc)


def test_tokens_have_entropy_and_what_was_expected_before_them(nlp):
    doc = nlp(TEXT)
    table = doc._.expect.set_index("start")
    for token in doc:
        if token._.surprisal is None:
            assert token._.entropy is None and token._.expect == {}
        else:
            assert token._.entropy == table["entropy"][token.idx] > 0
            assert token._.expect["Number=Plur"] == table["Number=Plur"][token.idx]
            assert sum(token._.expect.values()) == pytest.approx(1, abs=1e-5)
