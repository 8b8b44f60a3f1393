"""The Neural GPU and its extension beside a Transformer: binary addition and multiplication."""
