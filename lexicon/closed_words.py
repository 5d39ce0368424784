"""The closed classes of French, every reading of each word, in UD's names.

A line is a form, its lemma, its part of speech and feats. A contraction has the readings of both
its parts. Where a closed-class word is also a common noun or verb, that reading stands here too:
what stands here is all that a chain beginning with `closed` will see of the word.
"""

from __future__ import annotations

from lexicon.analysis import Analysis, join_feats

# Shorthands for the right-hand column.
FEATS = {
    "m": "Gender=Masc",
    "f": "Gender=Fem",
    "s": "Number=Sing",
    "p": "Number=Plur",
    "1": "Person=1",
    "2": "Person=2",
    "3": "Person=3",
    "def": "Definite=Def|PronType=Art",
    "ind": "Definite=Ind|PronType=Art",
    "dem": "PronType=Dem",
    "prs": "PronType=Prs",
    "refl": "PronType=Prs|Reflex=Yes",
    "rel": "PronType=Rel",
    "int": "PronType=Int",
    "indef": "PronType=Ind",
    "tot": "PronType=Tot",
    "negpro": "PronType=Neg",
    "neg": "Polarity=Neg",
    "card": "NumType=Card",
    "ord": "NumType=Ord",
    "abbr": "Abbr=Yes",
    "foreign": "Foreign=Yes",
    "poss": "Poss=Yes|PronType=Prs",
    "1s_": "Number[psor]=Sing|Person[psor]=1",
    "2s_": "Number[psor]=Sing|Person[psor]=2",
    "3s_": "Number[psor]=Sing|Person[psor]=3",
    "1p_": "Number[psor]=Plur|Person[psor]=1",
    "2p_": "Number[psor]=Plur|Person[psor]=2",
    "3p_": "Number[psor]=Plur|Person[psor]=3",
}

TABLE = """
le le DET def m s
le le PRON prs 3 m s
la le DET def f s
la le PRON prs 3 f s
les le DET def p
les le PRON prs 3 p
l' le DET def s
l' le PRON prs 3 s
un un DET ind m s
un un PRON indef m s
un un NUM card m s
une un DET ind f s
une un PRON indef f s
une un NUM card f s
uns un PRON indef m p
unes un PRON indef f p
des un DET ind p
des de ADP
des le DET def p
du de ADP
du le DET def m s
du un DET ind m s
au à ADP
au le DET def m s
aux à ADP
aux le DET def p
ès en ADP
ès le DET def p
auquel à ADP
auquel lequel PRON rel m s
auxquels à ADP
auxquels lequel PRON rel m p
auxquelles à ADP
auxquelles lequel PRON rel f p
duquel de ADP
duquel lequel PRON rel m s
desquels de ADP
desquels lequel PRON rel m p
desquelles de ADP
desquelles lequel PRON rel f p
audit à ADP
audit ledit DET dem m s
audit audit NOUN m s
auxdits à ADP
auxdits ledit DET dem m p
auxdites à ADP
auxdites ledit DET dem f p
dudit de ADP
dudit ledit DET dem m s
desdits de ADP
desdits ledit DET dem m p
desdites de ADP
desdites ledit DET dem f p
ledit ledit DET dem m s
ladite ledit DET dem f s
lesdits ledit DET dem m p
lesdites ledit DET dem f p
ce ce DET dem m s
ce ce PRON dem 3 m s
c' ce PRON dem 3 m s
ç' ce PRON dem 3 m s
cet ce DET dem m s
cette ce DET dem f s
ces ce DET dem p
ceci ceci PRON dem 3 m s
cela cela PRON dem 3 m s
ça ça PRON dem 3 m s
celui celui PRON dem 3 m s
celle celui PRON dem 3 f s
ceux celui PRON dem 3 m p
celles celui PRON dem 3 f p
celui-ci celui-ci PRON dem 3 m s
celle-ci celui-ci PRON dem 3 f s
ceux-ci celui-ci PRON dem 3 m p
celles-ci celui-ci PRON dem 3 f p
celui-là celui-là PRON dem 3 m s
celle-là celui-là PRON dem 3 f s
ceux-là celui-là PRON dem 3 m p
celles-là celui-là PRON dem 3 f p
mon son DET poss 1s_ s
ma son DET poss 1s_ f s
mes son DET poss 1s_ p
ton son DET poss 2s_ s
ton ton NOUN m s
ta son DET poss 2s_ f s
tes son DET poss 2s_ p
son son DET poss 3s_ s
son son NOUN m s
sa son DET poss 3s_ f s
ses son DET poss 3s_ p
notre son DET poss 1p_ s
nos son DET poss 1p_ p
votre son DET poss 2p_ s
vos son DET poss 2p_ p
leur son DET poss 3p_ s
leur il PRON prs 3 p
leurs son DET poss 3p_ p
mien mien PRON poss 1s_ m s
mienne mien PRON poss 1s_ f s
miens mien PRON poss 1s_ m p
miennes mien PRON poss 1s_ f p
tien mien PRON poss 2s_ m s
tienne mien PRON poss 2s_ f s
tiennes mien PRON poss 2s_ f p
sien mien PRON poss 3s_ m s
sienne mien PRON poss 3s_ f s
siens mien PRON poss 3s_ m p
siennes mien PRON poss 3s_ f p
nôtre mien PRON poss 1p_ s
nôtres mien PRON poss 1p_ p
vôtre mien PRON poss 2p_ s
vôtres mien PRON poss 2p_ p
je je PRON prs 1 s
j' je PRON prs 1 s
me me PRON prs 1 s
m' me PRON prs 1 s
moi moi PRON prs 1 s
tu tu PRON prs 2 s
te te PRON prs 2 s
t' te PRON prs 2 s
toi toi PRON prs 2 s
il il PRON prs 3 m s
ils il PRON prs 3 m p
elle il PRON prs 3 f s
elles il PRON prs 3 f p
on on PRON indef 3 s
l'on on PRON indef 3 s
lui lui PRON prs 3 s
eux lui PRON prs 3 m p
nous nous PRON prs 1 p
vous vous PRON prs 2 p
se se PRON refl 3
s' se PRON refl 3
s' si SCONJ
soi soi PRON refl 3 s
y y PRON prs 3
en en ADP
en en PRON prs 3
moi-même moi-même PRON prs 1 s
toi-même toi-même PRON prs 2 s
lui-même lui-même PRON prs 3 m s
elle-même lui-même PRON prs 3 f s
soi-même soi-même PRON refl 3 s
nous-mêmes nous-même PRON prs 1 p
vous-même vous-même PRON prs 2 s
vous-mêmes vous-même PRON prs 2 p
eux-mêmes lui-même PRON prs 3 m p
elles-mêmes lui-même PRON prs 3 f p
qui qui PRON rel
qui qui PRON int
que que PRON rel
que que PRON int
que que SCONJ
que que ADV
qu' que PRON rel
qu' que PRON int
qu' que SCONJ
qu' que ADV
quoi quoi PRON rel
quoi quoi PRON int
dont dont PRON rel
où où PRON rel
où où ADV int
lequel lequel PRON rel m s
lequel lequel PRON int m s
laquelle lequel PRON rel f s
laquelle lequel PRON int f s
lesquels lequel PRON rel m p
lesquels lequel PRON int m p
lesquelles lequel PRON rel f p
lesquelles lequel PRON int f p
quel quel DET int m s
quelle quel DET int f s
quels quel DET int m p
quelles quel DET int f p
quelque quelque DET indef s
quelque quelque ADV
quelques quelque DET indef p
quelqu'un quelqu'un PRON indef 3 m s
quelqu'une quelqu'un PRON indef 3 f s
quelques-uns quelqu'un PRON indef 3 m p
quelques-unes quelqu'un PRON indef 3 f p
chaque chaque DET tot s
chacun chacun PRON tot 3 m s
chacune chacun PRON tot 3 f s
plusieurs plusieurs DET indef p
plusieurs plusieurs PRON indef p
aucun aucun DET negpro m s
aucun aucun PRON negpro m s
aucune aucun DET negpro f s
aucune aucun PRON negpro f s
nul nul DET negpro m s
nul nul PRON negpro m s
nul nul ADJ m s
nulle nul DET negpro f s
nulle nul PRON negpro f s
nulle nul ADJ f s
rien rien PRON negpro 3 m s
rien rien NOUN m s
autrui autrui PRON indef 3 m s
quiconque quiconque PRON rel 3 s
tout tout DET tot m s
tout tout ADJ tot m s
tout tout PRON tot m s
tout tout ADV
tout tout NOUN m s
toute tout DET tot f s
toute tout ADJ tot f s
toute tout ADV
tous tout DET tot m p
tous tout ADJ tot m p
tous tout PRON tot m p
toutes tout DET tot f p
toutes tout ADJ tot f p
toutes tout PRON tot f p
à à ADP
de de ADP
de un DET ind
d' de ADP
d' un DET ind
dans dans ADP
par par ADP
pour pour ADP
avec avec ADP
sans sans ADP
chez chez ADP
vers vers ADP
vers vers NOUN m
dès dès ADP
malgré malgré ADP
parmi parmi ADP
selon selon ADP
jusque jusque ADP
jusqu' jusque ADP
et et CCONJ
ou ou CCONJ
mais mais CCONJ
ni ni CCONJ
car car CCONJ
car car NOUN m s
or or CCONJ
or or NOUN m s
donc donc ADV
donc donc CCONJ
si si SCONJ
si si ADV
si si INTJ
comme comme SCONJ
comme comme ADP
comme comme ADV
quand quand SCONJ
quand quand ADV int
lorsque lorsque SCONJ
lorsqu' lorsque SCONJ
puisque puisque SCONJ
puisqu' puisque SCONJ
quoique quoique SCONJ
quoiqu' quoique SCONJ
quelqu' quelque DET indef s
presqu' presque ADV
entr' entre ADP
ne ne ADV neg
n' ne ADV neg
pas pas ADV neg
pas pas NOUN m
non non ADV neg
non non INTJ
oui oui INTJ
jamais jamais ADV neg
guère guère ADV neg
-t t PART
t t PART
-ci ci ADV
-là là ADV
ci ci ADV
aujourd'hui aujourd'hui ADV
prud'homme prud'homme NOUN m s
prud'hommes prud'homme NOUN m p
tandis tandis ADV
parce parce ADV
quant quant ADV
voici voici VERB
voilà voilà VERB
zéro zéro NUM card
zéro zéro NOUN m s
deux deux NUM card p
trois trois NUM card p
quatre quatre NUM card p
cinq cinq NUM card p
six six NUM card p
sept sept NUM card p
huit huit NUM card p
neuf neuf NUM card p
neuf neuf ADJ m s
dix dix NUM card p
onze onze NUM card p
douze douze NUM card p
treize treize NUM card p
quatorze quatorze NUM card p
quinze quinze NUM card p
seize seize NUM card p
vingt vingt NUM card p
vingts vingt NUM card p
trente trente NUM card p
quarante quarante NUM card p
cinquante cinquante NUM card p
soixante soixante NUM card p
septante septante NUM card p
huitante huitante NUM card p
nonante nonante NUM card p
cent cent NUM card p
cent cent NOUN m s
cents cent NUM card p
cents cent NOUN m p
mille mille NUM card p
mille mille NOUN m
M. monsieur NOUN abbr m s
MM. monsieur NOUN abbr m p
Mme madame NOUN abbr f s
Mmes madame NOUN abbr f p
Mlle mademoiselle NOUN abbr f s
Mlles mademoiselle NOUN abbr f p
Mgr monseigneur NOUN abbr m s
Me maître NOUN abbr s
Me me PRON prs 1 s
Dr docteur NOUN abbr m s
Pr professeur NOUN abbr s
St saint ADJ abbr m s
St saint PROPN abbr m s
Ste saint ADJ abbr f s
Ste saint PROPN abbr f s
J.-C. Jésus-Christ PROPN abbr m s
n° numéro NOUN abbr m s
N° numéro NOUN abbr m s
no numéro NOUN abbr m s
n°s numéro NOUN abbr m p
etc. etc. ADV abbr
etc etc. ADV abbr
cf. cf. VERB abbr
cf cf. VERB abbr
ex. exemple NOUN abbr m
p. page NOUN abbr f
pp. page NOUN abbr f p
vol. volume NOUN abbr m
art. article NOUN abbr m
chap. chapitre NOUN abbr m
éd. éditeur NOUN abbr
env. environ ADV abbr
av. avant ADP abbr
apr. après ADP abbr
hab. habitant NOUN abbr p
bd boulevard NOUN abbr m s
km kilomètre NOUN abbr m
km² kilomètre NOUN abbr m
m mètre NOUN abbr m
m² mètre NOUN abbr m
cm centimètre NOUN abbr m
mm millimètre NOUN abbr m
kg kilogramme NOUN abbr m
g gramme NOUN abbr m
mg milligramme NOUN abbr m
h heure NOUN abbr f
min minute NOUN abbr f
km/h kilomètre NOUN abbr m
kW kilowatt NOUN abbr m
MHz mégahertz NOUN abbr m
ha hectare NOUN abbr m
°C degré NOUN abbr m
% % SYM
& et CCONJ
the the X foreign
of of X foreign
and and X foreign
by by X foreign
with with X foreign
from from X foreign
you you X foreign
my my X foreign
und und X foreign
der der X foreign
das das X foreign
von von X foreign
van van X foreign
di di X foreign
della della X foreign
del del X foreign
el el X foreign
los los X foreign
"""


def read_table(text: str) -> dict[str, tuple[Analysis, ...]]:
    words: dict[str, list[Analysis]] = {}
    for line in text.strip().splitlines():
        form, lemma, upos, *names = line.split()
        feats = join_feats(*(FEATS[name] for name in names))
        words.setdefault(form, []).append(Analysis(lemma, upos, feats))
    return {form: tuple(analyses) for form, analyses in words.items()}


WORDS = read_table(TABLE)
