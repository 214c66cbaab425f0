"""How models write calls of tools: a layout as data, and a reader for each shape."""
