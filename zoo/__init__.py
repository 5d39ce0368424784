"""Systems of the field, there to be compared: a package that registers by entry points alone."""

# The group `accord.commands`: panels of the help, with the function of each command.
COMMANDS = {"Stimuli": {"rescore": "accord.zoo.lattices:rescore"}}
