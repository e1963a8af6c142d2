"""Sources that make their rows: each row is a function of its number, so any range can be made again.

clock           how many rows there are at a moment
options         reads options whose values are whole numbers and times
random_values   random values by number
fields          what datagen makes of a column's options
datagen         the connector `datagen`
nexmark_tables  Nexmark's persons, auctions and bids by number
nexmark         the connector `nexmark`
"""
