"""The parser: text in, statements out.

In: the text of a Query or Parse message, or a stored view's or default's text. Out: `ParsedStatement`s (`ast.py`), in
which queries and expressions are sqlglot trees with positions. Called by the session and the binder.
"""

from risingpy.frontend.parser.parse import parse, parse_expression, parse_query

__all__ = ["parse", "parse_expression", "parse_query"]
