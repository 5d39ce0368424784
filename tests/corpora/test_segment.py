"""Text into sentences: what ends one, what does not, and that nothing is lost."""

import pytest

from accord.corpora.segment import segment

# A bar stands where a sentence ends; `‖` where no space stood there.
CASES = """
Il part. | Elle reste. | Pourquoi ? | Allez ! | Bon... | On verra…
Le bilan de 2019.‖Alors que l'été approche.‖"Nous voulons agir", dit-il.‖« Oui », répond-elle.
Le score est de 1.500 voix, soit 12.8 % au lieu de 9.2 %. | C'est peu.
Il a vu M. Macron, MM. Dupont et Durand, Mme. Royal et le Dr. Knock. | Puis il est parti.
Selon M. Le Drian et Mme Le Pen, J. K. Rowling et George W. Bush sont là.
Il n'a pas de plan B. | Le maire non plus.
Mohamed Hichem M. a été arrêté. | On cherche Hichem M. | Il a 24 ans.
« Il est tard. | Rentrons », dit-il. | « Vraiment ? » demanda-t-elle.
"Il est tard. | Rentrons !", dit-il. | "Oui." | Et il rentre.
Elle a dit "Non !"‖Il a dit "Oui".‖"Bon", a-t-elle dit.
Il y a le bœuf, le porc, etc. | Les autres aussi.
Voir p. 12 et cf. Durand (av. J.-C.). | Fin.
Il écrit (...) que tout va bien. | Elle répond [...] rien.
Voici la règle : deux choses ; Trois autres : Rien.‖Écrire à www.lemonde.fr ou à Booking.com.
Bertrand et Sarkozy au coude-à-coude‖L'ex-chef de l'État suit. | Braquage‖L'enquête commence.
"De vraies incohérences"‖Le suspect se tait. | Son visa refusé‖Lundi, le maire a parlé.
Il lit YouTube, l'iPhone, McDonald et BFMTV et la PMA. | #JeSuisCharlie pic.twitter.com/aBcDeF ici.
C'est fini. | - Silence des autorités -‖La branche locale se tait.‖- "Un pas" -‖"Bien", dit-il.
Selon nos confrères.‖275.000 élèves attendent. | 20 départements sont en alerte.
1. Un titre suit. | 2. Un autre aussi.
Finalement, il rentre chez lui...à pied. | Yahoo! est un site, et voilà. | Maman !! | Papa ?!
""".strip().splitlines()


@pytest.mark.parametrize("case", CASES)
def test_sentences_end_where_the_bars_stand(case):
    text = case.replace(" | ", " ").replace("‖", "")
    expected = case.replace("‖", " | ").split(" | ")
    assert segment(text) == expected


@pytest.mark.parametrize("text", ["", ".", '"', "A.", '""', "...A", "-", "«»", "M.M.", "1.1.1"])
def test_of_scraps_nothing_is_lost(text):
    assert "".join(segment(text)) == text


@pytest.mark.parametrize("character", [*".…-#(»\"'A1x"])
def test_a_long_run_of_anything_is_read_once(character):
    """A rule that tried each place of it anew would take minutes."""
    assert "".join(segment(character * 100_000)) == character * 100_000
