"""Small mistakes of the core, and the tests of each module that should notice them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parents[1]

# The files `test_NAME.py` of each module, quick ones first, wherever they are in tests/. The golden
# hashes of all stages are not among them: they notice every change, not only mistakes.
TESTS = {
    "corpora/tokenise.py": "tokenise",
    "lexicon/analysis.py": "chain",
    "lexicon/guesser.py": "guesser",
    "models/fine_tuning.py": "fine_tuning",
    "models/ngrams.py": "ngram background log_linear",
    "models/background.py": "background",
    "models/data.py": "data",
    "models/encoder.py": "features encoders",
    "models/transformer.py": "encoders numpy_model",
    "models/inference/encoders.py": "numpy_model",
    "pipeline/ask/scorer.py": "cache",
    "models/phi.py": "features",
    "models/inference/generation.py": "generation",
    "models/inference/next_word.py": "next_word",
    "models/inference/numpy_model.py": "numpy_model",
    "models/inference/interface.py": "constraints",
    "models/inference/torch_model.py": "data trainer",
    "models/log_linear.py": "log_linear calibration expert",
    "models/neural_spelling.py": "spelling",
    "models/spelling.py": "spelling",
    "models/calibration.py": "calibration",
    "models/optimisers.py": "trainer",
    "models/regularisers.py": "regularisers",
    "models/train.py": "trainer regularisers",
    "pipeline/study/combine.py": "combine",
    "pipeline/model/endings.py": "open_stage vocabulary",
    "pipeline/model/words.py": "vocabulary pretraining",
    "pipeline/model/metrics.py": "agreement",
    "pipeline/model/comparison.py": "compare",
    "pipeline/data/templates.py": "templates",
    "pipeline/stages/analyse.py": "preparing open_stage",
    "pipeline/stages/encode.py": "preparing open_stage",
    "pipeline/stages/tokenise.py": "preparing",
    "pipeline/stages/train.py": "runner",
}


class Mutation(NamedTuple):
    file: str
    mistake: str
    right: str  # occurs once in the file
    wrong: str

    def line(self, root: Path = HERE) -> int:
        """Return its line; the right text must occur once."""
        text = (root / self.file).read_text(encoding="utf-8")
        if (count := text.count(self.right)) != 1:
            raise ValueError(f"{self.file}: expected {self.right!r} once, found it {count} times")
        return 1 + text[: text.index(self.right)].count("\n")


def noticing_tests(file: str, root: Path = HERE) -> list[str]:
    """Return the paths of a module's tests, each of which must be there once."""
    paths = []
    for name in TESTS[file].split():
        [path] = (root / "tests").rglob(f"test_{name}.py")
        paths.append(path.relative_to(root).as_posix())
    return paths


# By file: what is wrong, the text that is right, the text that is wrong.
MISTAKES: Mapping[str, Sequence[tuple[str, str, str]]] = {
    "corpora/tokenise.py": [
        ("a number goes on behind its groups", r"\d{1,3}(?: \d{3})+(?!\d)", r"\d{1,3}(?: \d{3})+"),
        ("what meets is not composed", "composed(respelled).split()", "respelled.split()"),
    ],
    "lexicon/analysis.py": [
        (
            "union keeps duplicates",
            'return rows.drop_duplicates(["word", "lemma", "upos", "feats"], ignore_index=True)',
            "return rows",
        ),
        (
            "fallback asks all lexicons",
            "            unknown = unknown[absent(rows, len(unknown))]\n",
            "",
        ),
    ],
    "lexicon/guesser.py": [
        ("a family of forms is not weighed", "share / np.sqrt(family)", "share"),
        ("a suffix needs one form more", "known = known >= FEWEST", "known = known > FEWEST"),
        (
            "shares do not sum to one",
            "    shares /= shares.sum(axis=1, keepdims=True)\n",
            "",
        ),
    ],
    "models/ngrams.py": [
        (
            "what a signature frees is lost if all of it was seen",
            "receives = (counts == 0) | (unseen[signature] == 0)",
            "receives = counts == 0",
        ),
        (
            "n-grams at a start are counted by company",
            "np.where(level.at_start, c, different) if number else different",
            "different",
        ),
    ],
    "models/background.py": [
        (
            "the prior of a part is that of the whole text",
            "masses.append(prior(counts))",
            "masses.append(masses[0] if masses else prior(counts))",
        ),
        ("a text in training finds itself", "if training and self.folds:", "if False:"),
    ],
    "models/data.py": [
        ("a segment goes on in the next document", "begins[starts] = True", "begins[:1] = True"),
        ("the first cut comes too late", "np.repeat(first[is_long] + shift, further)", "1"),
    ],
    "models/transformer.py": [
        ("one word too many is attended to", "distance < self.reach", "distance <= self.reach"),
        (
            "packed texts are one text",
            "query, key = rotated(query, packed.place)",
            "query, key = query",
        ),
    ],
    "models/inference/encoders.py": [
        (
            "keys are turned from the first word on",
            "self._turn(state.read, steps)",
            "self._turn(0, steps)",
        ),
        (
            "the last key is lost",
            "keys.shape[2] - self.reach + 1",
            "keys.shape[2] - self.reach + 2",
        ),
    ],
    "pipeline/ask/scorer.py": [
        ("an end is cached", " & (forms[kept] >= 0)", ""),
    ],
    "models/encoder.py": [
        (
            "features are dropped in evaluation",
            "if not self.training or not self.dropout:",
            "if not self.dropout:",
        ),
        (
            "vectors that are kept do not grow",
            "len(self.product.dense), 1).bernoulli_(kept).div_(kept)",
            "len(self.product.dense), 1).bernoulli_(kept)",
        ),
    ],
    "models/phi.py": [
        ("zeros make another signature", "kept = values != 0", "kept = values == values"),
    ],
    "models/fine_tuning.py": [
        ("weights by number, not by name", "= weight[rows]", "= weight[: len(rows)]"),
        ("a word finds itself in the text", "others = (counts - 1)", "others = counts"),
    ],
    "models/inference/generation.py": [
        (
            "the word that reaches the mass is left out",
            "before = np.cumsum(largest, axis=1) - largest",
            "before = np.cumsum(largest, axis=1)",
        ),
    ],
    "models/inference/next_word.py": [
        ("a word ranks behind its equals", "scores, known) + TIE", "scores, known) - TIE"),
    ],
    "models/inference/numpy_model.py": [
        (
            "the temperature is left out of b",
            "return scores + self.log_prior * np.float32(self.sharpness)",
            "return scores + self.log_prior",
        ),
    ],
    "models/inference/interface.py": [
        (
            "one contender too few",
            'np.argsort(-(row + heaviest), kind="stable")[:k]',
            "np.argsort(-(row + heaviest))[: k - 1]",
        ),
    ],
    "models/inference/torch_model.py": [
        ("dropout stays on", "            self.network.eval()\n", "            pass\n"),
    ],
    "models/log_linear.py": [
        ("Z over the wrong axis", "logits.log_softmax(dim=1)", "logits.log_softmax(dim=0)"),
        ("shares are not mixed", "(1 - share).log() + prior", "share.log() + prior"),
    ],
    "models/neural_spelling.py": [
        (
            "dropout stays on for letters",
            "        model.network.eval()\n        return model",
            "        return model",
        ),
    ],
    "models/spelling.py": [
        ("the empty word has mass", "starts)[:, None] - self.not_empty", "starts)[:, None]"),
        (
            "digits of a number are free",
            " + np.log(stop) - len(word) * np.log(10)",
            " + np.log(stop)",
        ),
        (
            "an unknown word is known",
            "known = np.where(is_unknown, -np.inf, log_p[:, 0])",
            "known = log_p[:, 0]",
        ),
    ],
    "models/calibration.py": [
        (
            "a worse temperature is taken",
            "    if not loss(best) < unfitted:\n        sharpness.fill_(present)\n",
            "    loss(best)\n",
        ),
        (
            "θ is not scaled by T",
            "likeliest_theta(p, octave) / scale",
            "likeliest_theta(p, octave)",
        ),
    ],
    "models/optimisers.py": [
        (
            "no weight decay",
            "ADAMW([*model.parameters(), *further], lr=lr, weight_decay=weight_decay)",
            "ADAMW([*model.parameters(), *further], lr=lr, weight_decay=0.0)",
        ),
    ],
    "models/regularisers.py": [
        ("the second run teaches nothing", "(one + other) / 2 + self", "one + self"),
    ],
    "models/train.py": [
        ("no clipping", "self.recipe.max_grad_norm)", 'float("inf"))'),
        (
            "every epoch in one order",
            "[self.recipe.seed, self.state.epoch]",
            "[self.recipe.seed, 0]",
        ),
        ("every window begins anew", "if not batch.continues or", "if True or"),
        (
            "nats of all epochs are added up",
            "self.nats, self.encoder = torch.zeros_like(self.nats), None",
            "self.encoder = None",
        ),
        (
            "averaged weights are not validated",
            "with state.average.applied(self.model) if state.average else nullcontext():",
            "with nullcontext():",
        ),
        ("the last epoch is saved", "        load_weights(self.model, self.state.best)\n", ""),
        (
            "any gain will do",
            "if valid_nats < best - self.recipe.min_delta:",
            "if valid_nats < best:",
        ),
    ],
    "pipeline/study/combine.py": [
        (
            "weights are tuned on the test",
            'likeliest_weights(stacked["valid"])',
            'likeliest_weights(stacked["test"])',
        ),
    ],
    "pipeline/model/endings.py": [
        (
            "an analysis weighs as often as words have it",
            'shares["weight"] /= shares["word"].map(rows.groupby("word")["form"].nunique())',
            'shares["weight"] /= 1',
        ),
    ],
    "pipeline/model/words.py": [
        (
            "words of pretraining alone stay known",
            'return columns["shares"][columns["share"][place]] > 0 and not is_special(form)',
            "return not is_special(form)",
        ),
    ],
    "pipeline/model/metrics.py": [
        ("ties count as right", "is_tie(margins), 0.5,", "is_tie(margins), 1.0,"),
        ("ends are words", "-text.log_p[~text.is_end].mean()", "-text.log_p.mean()"),
    ],
    "pipeline/model/comparison.py": [
        ("an interval of 90 %", "tail = (1 - LEVEL) / 2", "tail = 1 - LEVEL"),
    ],
    "pipeline/data/templates.py": [
        (
            "a word that training has once has its own feature",
            '(types["count"] > (1 if params.forms is None else 0))',
            '(types["count"] > 0)',
        ),
    ],
    "pipeline/stages/analyse.py": [
        (
            "words of the test are known",
            '{*chain, *texts.counts["train"]}',
            "{*chain, *set().union(*texts.counts.values())}",
        ),
    ],
    "pipeline/stages/encode.py": [
        (
            "ends are unseen words",
            "unseen.append(_with_ends(is_new[numbers], sizes, False))",
            "unseen.append(_with_ends(is_new[numbers], sizes, True))",
        ),
        (
            "training knows words that it has once",
            'np.where(read_as_unknown(types), types.get("unknown", 0), types.index)',
            "types.index.to_numpy()",
        ),
    ],
    "pipeline/stages/tokenise.py": [
        (
            "spellings of the test are known",
            'params, written if split == "train" else Counter())',
            "params, written)",
        ),
    ],
    "pipeline/stages/train.py": [
        (
            "weights begin alike for all seeds",
            "torch.manual_seed(recipe.seed)",
            "torch.manual_seed(0)",
        ),
    ],
}
MUTATIONS = [Mutation(file, *row) for file, rows in MISTAKES.items() for row in rows]
