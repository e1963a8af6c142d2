"""Makes executors of plan nodes.

operators                                       makes a fragment's tree, with the help of the others
leaves, aggregate, join, ordered, watermark     make the executors of one kind of node
state_cleaning                                  adds to these what deletes the rows that a watermark has passed
"""
