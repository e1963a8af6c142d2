"""Indexes on vectors: graphs in memory that find the rows nearest to a vector.

graph      one graph, of the vectors of a relation's column, by the keys of their rows
reals      in how many bits a graph keeps its vectors
searches   a thread that makes searches which take long, several at a time
graphs     the graphs of a database: each is built, and follows what its relation changes

A graph is made of committed rows alone, again at each start. The reasons are in
docs/decisions/126-the-nearest-rows-come-from-a-graph-in-memory.md.
"""
