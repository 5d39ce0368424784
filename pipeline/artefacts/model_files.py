"""What files of a trained model are called, wherever they lie: made, packed, exported, received."""

RECIPE = "recipe.json"  # how the network is built and was trained
FIGURES = "figures.json"  # of its splits, where they were scored
CHAIN = "lexicon.json"  # the lexicons that its words were looked up in
MODEL = "model.safetensors"  # the weights of an exported one, as the Hugging Face hub expects
START = "start"  # the input that no stage made: the folder of the model that train.start names
