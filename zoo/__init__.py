"""Systems of the field, there to be compared: a package that registers by entry points alone."""

# The group `accord.commands`: panels of the help, with each command's module and line.
COMMANDS = {
    "Stimuli": {
        "rescore": (
            "accord.zoo.commands",
            "Rescore n-best lists or lattices with a model and print the best hypothesis of each.",
        )
    },
}
