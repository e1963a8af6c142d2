"""Functions on text. The lines' form is in `signatures.py`."""

# fmt: off
TEXT = """
lower lower text = text
upper upper text = text
initcap initcap text = text
length length text = int4
char_length length text = int4
character_length length text = int4
octet_length octet_length text = int4
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
like like text text = bool
like like_bytes bytea bytea = bool
notlike not_like text text = bool
notlike not_like_bytes bytea bytea = bool
secure_compare secure_compare text text = bool
inet_aton inet_aton text = int8
inet_ntoa inet_ntoa int8 = text
^@ starts_with text text = bool
ascii ascii text = int4
chr chr int4 = text
to_ascii to_ascii text = text
md5 md5 text = text
to_hex to_hex int4 = text | int8 = text
overlay overlay text text int4 = text | text text int4 int4 = text
substring regexp_substring text text = text
substring similar_substring text text text = text
format format text = text | text every… = text
quote_ident quote_ident text = text
quote_literal quote_literal text = text
quote_literal quote_literal_any every = text
quote_nullable quote_nullable text = text
quote_nullable quote_nullable_any every = text
to_bin to_bin_int4 int4 = text
to_bin to_bin_int8 int8 = text
to_oct to_oct_int4 int4 = text
to_oct to_oct_int8 int8 = text
normalize normalize text text = text
is_normalized is_normalized text text = bool
unistr unistr text = text
regexp_like regexp_like_1 text text = bool
regexp_like regexp_like_2 text text text = bool
regexp_match regexp_match_1 text text = text[]
regexp_match regexp_match_2 text text text = text[]
regexp_split_to_array regexp_split_1 text text = text[]
regexp_split_to_array regexp_split_2 text text text = text[]
parse_ident parse_ident text = text[] | text bool = text[]
regexp_replace regexp_replace_2 text text text = text
regexp_replace regexp_replace_3 text text text text = text
regexp_replace regexp_replace_from_3 text text text int4 = text
regexp_replace regexp_replace_from_4 text text text int4 int4 = text
regexp_replace regexp_replace_from_5 text text text int4 int4 text = text
regexp_count regexp_count_1 text text = int4
regexp_count regexp_count_2 text text int4 = int4
regexp_count regexp_count_3 text text int4 text = int4
regexp_substr regexp_substr_1 text text = text
regexp_substr regexp_substr_2 text text int4 = text
regexp_substr regexp_substr_3 text text int4 int4 = text
regexp_substr regexp_substr_4 text text int4 int4 text = text
regexp_substr regexp_substr_5 text text int4 int4 text int4 = text
regexp_instr regexp_instr_1 text text = int4
regexp_instr regexp_instr_2 text text int4 = int4
regexp_instr regexp_instr_3 text text int4 int4 = int4
regexp_instr regexp_instr_4 text text int4 int4 int4 = int4
regexp_instr regexp_instr_5 text text int4 int4 int4 text = int4
regexp_instr regexp_instr_6 text text int4 int4 int4 text int4 = int4
"""
