"""Twelve prompts of our own, from very predictable to open."""

PROMPTS = (
    "Write a Python function that merges two sorted lists.",
    "Write a Python class implementing an LRU cache with get and put, with docstrings.",
    "Rename the variable `x` to `total` in this code and change nothing else:\n\n"
    "def add(values):\n    x = 0\n    for value in values:\n        x = x + value\n    print(x)\n"
    "    return x\n",
    "Give me a JSON list of five European countries with name, capital and population.",
    "Explain in three sentences what a hash table is.",
    "Write a short story about a lighthouse keeper who finds a message in a bottle.",
    "Translate into French: The library opens at nine and closes at six, except on Sundays.",
    "What is 37 * 43? Show each step of the calculation.",
    "Summarise: Speculative decoding lets a small model propose tokens that a large model checks in"
    " one pass. If it agrees, several tokens come at the cost of one. If not, nothing is lost but time.",
    "List the days of the week in German, one per line, numbered.",
    "Write a SQL query that finds the ten customers with the highest total order value.",
    "Tell me something surprising about octopuses.",
)
