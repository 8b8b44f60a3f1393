"""What is run or prepared after a paper, beside and around a single experiment."""
