"""Functions on text. The lines' form is in `signatures.py`."""

# fmt: off
TEXT = """
lower lower text = text
upper upper text = text
initcap initcap text = text
length length text = int4
length length_bytes bytea = int4
char_length length text = int4
character_length length text = int4
octet_length octet_length text = int4
octet_length length_bytes bytea = int4
bit_length bit_length text = int4
substring substring text int4 = text | text int4 int4 = text
substr substring text int4 = text | text int4 int4 = text
btrim trim_both text = text | text text = text
ltrim trim_leading text = text | text text = text
rtrim trim_trailing text = text | text text = text
replace replace text text text = text
translate translate text text text = text
position position text text = int4
strpos position text text = int4
concat concat every… = text
concat_ws concat_ws text every… = text
left left text int4 = text
right right text int4 = text
lpad lpad text int4 = text | text int4 text = text
rpad rpad text int4 = text | text int4 text = text
repeat repeat text int4 = text
reverse reverse text = text
split_part split_part text text int4 = text
starts_with starts_with text text = bool
^@ starts_with text text = bool
ascii ascii text = int4
chr chr int4 = text
md5 md5 text = text
to_hex to_hex int4 = text | int8 = text
regexp_replace regexp_replace text text text = text | text text text text = text
"""
