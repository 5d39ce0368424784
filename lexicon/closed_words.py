"""The closed classes of French, every reading of each word, in UD's names.

A line is forms, then their readings: a lemma (`=`: the form itself), a part of speech and feats.
A contraction has the readings of both its parts. Where a closed-class word is also a common noun
or verb, that reading stands here too: what stands here is all that a chain beginning with
`closed` will see of the word.
"""

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
le : = DET def m s | = PRON prs 3 m s
la : le DET def f s | le PRON prs 3 f s
les : le DET def p | le PRON prs 3 p
l' : le DET def s | le PRON prs 3 s
un : = DET ind m s | = PRON indef m s | = NUM card m s
une : un DET ind f s | un PRON indef f s | un NUM card f s
uns : un PRON indef m p
unes : un PRON indef f p
des : un DET ind p | de ADP | le DET def p
du : de ADP | le DET def m s | un DET ind m s
au : à ADP | le DET def m s
aux : à ADP | le DET def p
ès : en ADP | le DET def p
auquel : à ADP | lequel PRON rel m s
auxquels : à ADP | lequel PRON rel m p
auxquelles : à ADP | lequel PRON rel f p
duquel : de ADP | lequel PRON rel m s
desquels : de ADP | lequel PRON rel m p
desquelles : de ADP | lequel PRON rel f p
audit : à ADP | ledit DET dem m s | = NOUN m s
auxdits : à ADP | ledit DET dem m p
auxdites : à ADP | ledit DET dem f p
dudit : de ADP | ledit DET dem m s
desdits : de ADP | ledit DET dem m p
desdites : de ADP | ledit DET dem f p
ledit : = DET dem m s
ladite : ledit DET dem f s
lesdits : ledit DET dem m p
lesdites : ledit DET dem f p
ce : = DET dem m s | = PRON dem 3 m s
c' ç' : ce PRON dem 3 m s
cet : ce DET dem m s
cette : ce DET dem f s
ces : ce DET dem p
ceci cela ça celui celui-ci celui-là : = PRON dem 3 m s
celle : celui PRON dem 3 f s
ceux : celui PRON dem 3 m p
celles : celui PRON dem 3 f p
celle-ci : celui-ci PRON dem 3 f s
ceux-ci : celui-ci PRON dem 3 m p
celles-ci : celui-ci PRON dem 3 f p
celle-là : celui-là PRON dem 3 f s
ceux-là : celui-là PRON dem 3 m p
celles-là : celui-là PRON dem 3 f p
mon : son DET poss 1s_ s
ma : son DET poss 1s_ f s
mes : son DET poss 1s_ p
ton : son DET poss 2s_ s | = NOUN m s
ta : son DET poss 2s_ f s
tes : son DET poss 2s_ p
son : = DET poss 3s_ s | = NOUN m s
sa : son DET poss 3s_ f s
ses : son DET poss 3s_ p
notre : son DET poss 1p_ s
nos : son DET poss 1p_ p
votre : son DET poss 2p_ s
vos : son DET poss 2p_ p
leur : son DET poss 3p_ s | il PRON prs 3 p
leurs : son DET poss 3p_ p
mien : = PRON poss 1s_ m s
mienne : mien PRON poss 1s_ f s
miens : mien PRON poss 1s_ m p
miennes : mien PRON poss 1s_ f p
tien : mien PRON poss 2s_ m s
tienne : mien PRON poss 2s_ f s
tiennes : mien PRON poss 2s_ f p
sien : mien PRON poss 3s_ m s
sienne : mien PRON poss 3s_ f s
siens : mien PRON poss 3s_ m p
siennes : mien PRON poss 3s_ f p
nôtre : mien PRON poss 1p_ s
nôtres : mien PRON poss 1p_ p
vôtre : mien PRON poss 2p_ s
vôtres : mien PRON poss 2p_ p
je me moi moi-même : = PRON prs 1 s
j' : je PRON prs 1 s
m' : me PRON prs 1 s
tu te toi toi-même vous-même : = PRON prs 2 s
t' : te PRON prs 2 s
il lui-même : = PRON prs 3 m s
ils : il PRON prs 3 m p
elle : il PRON prs 3 f s
elles : il PRON prs 3 f p
on : = PRON indef 3 s
l'on : on PRON indef 3 s
lui : = PRON prs 3 s
eux : lui PRON prs 3 m p
nous : = PRON prs 1 p
vous : = PRON prs 2 p
se : = PRON refl 3
s' : se PRON refl 3 | si SCONJ
soi soi-même : = PRON refl 3 s
y : = PRON prs 3
en : = ADP | = PRON prs 3
elle-même : lui-même PRON prs 3 f s
nous-mêmes : nous-même PRON prs 1 p
vous-mêmes : vous-même PRON prs 2 p
eux-mêmes : lui-même PRON prs 3 m p
elles-mêmes : lui-même PRON prs 3 f p
qui quoi : = PRON rel | = PRON int
que : = PRON rel | = PRON int | = SCONJ | = ADV
qu' : que PRON rel | que PRON int | que SCONJ | que ADV
dont : = PRON rel
où : = PRON rel | = ADV int
lequel : = PRON rel m s | = PRON int m s
laquelle : lequel PRON rel f s | lequel PRON int f s
lesquels : lequel PRON rel m p | lequel PRON int m p
lesquelles : lequel PRON rel f p | lequel PRON int f p
quel : = DET int m s
quelle : quel DET int f s
quels : quel DET int m p
quelles : quel DET int f p
quelque : = DET indef s | = ADV
quelques : quelque DET indef p
quelqu'un autrui : = PRON indef 3 m s
quelqu'une : quelqu'un PRON indef 3 f s
quelques-uns : quelqu'un PRON indef 3 m p
quelques-unes : quelqu'un PRON indef 3 f p
chaque : = DET tot s
chacun : = PRON tot 3 m s
chacune : chacun PRON tot 3 f s
plusieurs : = DET indef p | = PRON indef p
aucun : = DET negpro m s | = PRON negpro m s
aucune : aucun DET negpro f s | aucun PRON negpro f s
nul : = DET negpro m s | = PRON negpro m s | = ADJ m s
nulle : nul DET negpro f s | nul PRON negpro f s | nul ADJ f s
rien : = PRON negpro 3 m s | = NOUN m s
quiconque : = PRON rel 3 s
tout : = DET tot m s | = ADJ tot m s | = PRON tot m s | = ADV | = NOUN m s
toute : tout DET tot f s | tout ADJ tot f s | tout ADV
tous : tout DET tot m p | tout ADJ tot m p | tout PRON tot m p
toutes : tout DET tot f p | tout ADJ tot f p | tout PRON tot f p
à dans par pour avec sans chez dès malgré parmi selon jusque : = ADP
de : = ADP | un DET ind
d' : de ADP | un DET ind
vers : = ADP | = NOUN m
jusqu' : jusque ADP
et ou mais ni : = CCONJ
car or : = CCONJ | = NOUN m s
donc : = ADV | = CCONJ
si : = SCONJ | = ADV | = INTJ
comme : = SCONJ | = ADP | = ADV
quand : = SCONJ | = ADV int
lorsque puisque quoique : = SCONJ
lorsqu' : lorsque SCONJ
puisqu' : puisque SCONJ
quoiqu' : quoique SCONJ
quelqu' : quelque DET indef s
presqu' : presque ADV
entr' : entre ADP
ne jamais guère : = ADV neg
n' : ne ADV neg
pas : = ADV neg | = NOUN m
non : = ADV neg | = INTJ
oui : = INTJ
-t : t PART
t : = PART
-ci : ci ADV
-là : là ADV
ci aujourd'hui tandis parce quant : = ADV
prud'homme : = NOUN m s
prud'hommes : prud'homme NOUN m p
voici voilà : = VERB
zéro : = NUM card | = NOUN m s
deux trois quatre cinq six sept huit dix onze douze treize quatorze quinze seize : = NUM card p
vingt trente quarante cinquante soixante septante huitante nonante : = NUM card p
neuf : = NUM card p | = ADJ m s
vingts : vingt NUM card p
cent : = NUM card p | = NOUN m s
cents : cent NUM card p | cent NOUN m p
mille : = NUM card p | = NOUN m
M. : monsieur NOUN abbr m s
MM. : monsieur NOUN abbr m p
Mme : madame NOUN abbr f s
Mmes : madame NOUN abbr f p
Mlle : mademoiselle NOUN abbr f s
Mlles : mademoiselle NOUN abbr f p
Mgr : monseigneur NOUN abbr m s
Me : maître NOUN abbr s | me PRON prs 1 s
Dr : docteur NOUN abbr m s
Pr : professeur NOUN abbr s
St : saint ADJ abbr m s | saint PROPN abbr m s
Ste : saint ADJ abbr f s | saint PROPN abbr f s
J.-C. : Jésus-Christ PROPN abbr m s
n° N° no : numéro NOUN abbr m s
n°s : numéro NOUN abbr m p
etc. : = ADV abbr
etc : etc. ADV abbr
cf. : = VERB abbr
cf : cf. VERB abbr
ex. : exemple NOUN abbr m
p. : page NOUN abbr f
pp. : page NOUN abbr f p
vol. : volume NOUN abbr m
art. : article NOUN abbr m
chap. : chapitre NOUN abbr m
éd. : éditeur NOUN abbr
env. : environ ADV abbr
av. : avant ADP abbr
apr. : après ADP abbr
hab. : habitant NOUN abbr p
bd : boulevard NOUN abbr m s
km km² km/h : kilomètre NOUN abbr m
m m² : mètre NOUN abbr m
cm : centimètre NOUN abbr m
mm : millimètre NOUN abbr m
kg : kilogramme NOUN abbr m
g : gramme NOUN abbr m
mg : milligramme NOUN abbr m
h : heure NOUN abbr f
min : minute NOUN abbr f
kW : kilowatt NOUN abbr m
MHz : mégahertz NOUN abbr m
ha : hectare NOUN abbr m
°C : degré NOUN abbr m
% : = SYM
& : et CCONJ
the of and by with from you my und der das von van di della del el los : = X foreign
"""


def read_table(text: str) -> dict[str, tuple[Analysis, ...]]:
    words = {}
    for line in text.strip().splitlines():
        forms, _, readings = line.partition(" : ")
        for form in forms.split():
            words[form] = tuple(analysis(form, each.split()) for each in readings.split(" | "))
    return words


def analysis(form: str, cells: list[str]) -> Analysis:
    lemma, upos, *names = cells
    feats = join_feats(*(FEATS[name] for name in names))
    return Analysis(form if lemma == "=" else lemma, upos, feats)


WORDS = read_table(TABLE)
