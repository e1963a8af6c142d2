"""jsonb: values looked into (`lookup`, `paths`), made of others (`changes`), and on their way into rows (`records`).

json: texts looked into as they are (`written`).
"""
