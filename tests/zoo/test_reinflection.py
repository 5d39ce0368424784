"""Reinflection: cells of lemmas, the rule of endings, and a network that writes letters."""

import pandas as pd

from accord.models.data import END, NO_WORD
from accord.zoo.reinflection import (
    Cell,
    EndingRules,
    Reinflection,
    cells_of,
    exact_match,
    recipe_of,
)

PLURAL = ("NOUN", "Number=Plur")
CELLS = [Cell(lemma, PLURAL, (form,)) for lemma, form in [
    ("chat", "chats"), ("chien", "chiens"), ("cheval", "chevaux"), ("journal", "journaux"),
]]  # fmt: skip


def test_a_cell_has_all_forms_that_are_right_and_lemmas_are_kept_together():
    rows = pd.DataFrame(
        [
            ("payer", "VERB", "Number=Sing|Person=3", "paie"),
            ("payer", "VERB", "Number=Sing|Person=3", "paye"),
            ("chat", "NOUN", "Number=Plur", "chats"),
            ("et", "CCONJ", "", "et"),
        ],
        columns=["lemma", "upos", "feats", "form"],
    )
    found = {cells[0].lemma: cells for cells in cells_of(rows, lemmas=5, seed=1)}
    assert found.keys() == {"payer", "chat"}
    assert found["payer"] == [
        Cell("payer", ("VERB", "Number=Sing", "Person=3"), ("paie", "paye")),
    ]
    assert exact_match(found["payer"], ["paye"]) == 1


def test_the_longest_ending_decides():
    endings = EndingRules(CELLS)
    assert endings.form("rival", PLURAL) == "rivaux"
    assert endings.form("mot", PLURAL) == "mots"
    assert endings.form("mot", ("NOUN", "Number=Dual")) == "mot"  # nothing is known of it


def test_c_is_the_lemma_and_its_features_and_forms_end_or_are_cut():
    network = Reinflection(CELLS, recipe_of(epochs=1, reach=8, seed=1))
    text = network.text(CELLS[:1])
    spelled = [network.symbols[each] for each in text.previous[0] if each != NO_WORD]
    assert spelled == [*"chat", *PLURAL]
    assert [network.symbols[each] for each in text.ids] == [*"chats", ""]
    assert text.ids[-1] == END
    assert all(len(form) <= 40 for form in network.forms(CELLS))
