"""Queries printed anew from what they mean, as PostgreSQL 15 prints views.

In: a view and the catalog. The binder says what each word of the view's query means (`notes`); of that come nodes as
PostgreSQL's parse analysis makes them (`nodes`, made by `conversion`, `comparisons`, `calls`), and of these the text
(`expression_writer`, `query_writer` with `from_writer` and `clauses`, `writer`), with the names of `catalog_names`.
Out: `view_definition.deparsed`, for pg_get_viewdef and what shows it, and `view_definition.followed`, for renames. What
PostgreSQL has not (a time window, a temporal join) is printed as RisingWave writes it. `Unprinted` is raised for what
has no form yet; such a text stays as it was written.
"""
