"""What it costs in exactness to take the scores of a self-normalised output for log p."""

import torch

from accord.models.common.batching import Sentences
from accord.models.common.protocol import Model
from accord.models.network.language_model import LanguageModel
from accord.models.network.states import states
from accord.models.outputs.signature_output import SignatureOutput
from accord.models.outputs.softmax import SelfNormalised


@torch.inference_mode()
def normalisation(model: Model, sentences: Sentences) -> dict[str, float]:
    """How far log Z is from 0 on a text, and what its words would cost if it were taken for 0.

    Nothing for other models: they do not claim it.
    """
    if not isinstance(model, LanguageModel) or not isinstance(model.output, SignatureOutput):
        return {}
    output = model.output.within
    if not isinstance(output, SelfNormalised):
        return {}
    log_z, scores = [], []
    for at in states(model, sentences):
        signatures = model.output.signature[at.words]
        score = output.score_of(at.h, signatures)
        log_z.append((score - output.log_prob_of(at.h, signatures)).cpu())
        scores.append((score + model.output.log_share[at.words]).cpu())
    log_z, scores = torch.cat(log_z).double(), torch.cat(scores).double()
    return {
        "log Z, root mean square": float(log_z.square().mean().sqrt()),
        "nats per word without normalising": float(-scores.mean()),
    }
