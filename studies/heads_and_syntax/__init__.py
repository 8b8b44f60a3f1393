"""Whether attention heads of an encoder follow the syntax of the sentence."""
