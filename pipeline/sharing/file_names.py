"""What two files of an exported model are called, for those who only look whether it is one."""

CONFIG = "config.json"  # what the model is, and the hash of every file
MODEL = "model.safetensors"  # its weights, called as the Hugging Face hub expects
