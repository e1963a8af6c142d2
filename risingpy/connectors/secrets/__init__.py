"""Options whose values must not lie in clear: passwords, and what SECRET and CONNECTION name.

vault            the key, and what it seals
hidden_options   which options of a relation are sealed, or are those of secrets and connections
opened_options   a relation's options with all values in clear, for the connector that needs them

Relations, the stream graph, files and backups have sealed values only. Whoever makes a connector opens them.
"""
