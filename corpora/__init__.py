"""Sources of French sentences: named corpora, local files, data sets of the Hugging Face hub."""
