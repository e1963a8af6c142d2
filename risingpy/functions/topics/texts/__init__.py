"""Texts and bytes.

text, large_texts               functions on text; those whose results may be large
identifiers, keywords           names in SQL
unicode_escapes                 characters written as code points
byte_strings                    bytea
cryptography, cipher_kernels    digests, ciphers, checksums
"""
