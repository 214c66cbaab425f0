"""What an answer may be: schemas, grammars and calls of tools, as constraints for the engine."""
