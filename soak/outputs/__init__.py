"""A record of outputs, with which those of changed code are compared: losses, weights, texts, HTTP.

Only surfaces that outlast a change of the code are used: commands, recipes, files and requests.
Nothing of the package is imported, so the same recorder works for any two versions.
"""
