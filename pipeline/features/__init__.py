"""From words and their analyses to features: templates, word vectors, classes of words.

A template of the form is a function that registers itself; those of the lexicon's features need
no function.
"""

from accord.models.common.registry import Registry

TEMPLATES = Registry("template", "accord.templates", modules=("accord.pipeline.features.of_form",))
