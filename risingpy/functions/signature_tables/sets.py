"""Functions that give rows, as the arrays that `ProjectSet` makes rows of: `generate_series(1, 3)` is {1,2,3}."""

# fmt: off
SETS = """
generate_series generate_series int4 int4 = int4[] | int4 int4 int4 = int4[]
generate_series generate_series int8 int8 = int8[] | int8 int8 int8 = int8[]
generate_series generate_series numeric numeric = numeric[] | numeric numeric numeric = numeric[]
generate_series generate_series timestamp timestamp interval = timestamp[]
generate_series generate_series_at@ timestamptz timestamptz interval = timestamptz[]
range range int4 int4 = int4[] | int4 int4 int4 = int4[] | int8 int8 = int8[] | int8 int8 int8 = int8[]
range range numeric numeric = numeric[] | numeric numeric numeric = numeric[]
range range timestamp timestamp interval = timestamp[]
range range_at@ timestamptz timestamptz interval = timestamptz[]
generate_subscripts generate_subscripts array int4 = int4[] | array int4 bool = int4[]
jsonb_array_elements jsonb_array_elements jsonb = jsonb[]
jsonb_array_elements_text jsonb_array_elements_text jsonb = text[]
jsonb_object_keys jsonb_object_keys jsonb = text[]
jsonb_each_keys jsonb_each_keys jsonb = text[]
jsonb_each_values jsonb_each_values jsonb = jsonb[]
jsonb_each_text_keys jsonb_each_text_keys jsonb = text[]
jsonb_each_text_values jsonb_each_text_values jsonb = text[]
jsonb_path_query jsonb_path_query_1 jsonb text = jsonb[]
jsonb_path_query jsonb_path_query_2 jsonb text jsonb = jsonb[]
jsonb_path_query jsonb_path_query_3 jsonb text jsonb bool = jsonb[]
jsonb_path_query_tz jsonb_path_query_tz_1@ jsonb text = jsonb[]
jsonb_path_query_tz jsonb_path_query_tz_2@ jsonb text jsonb = jsonb[]
jsonb_path_query_tz jsonb_path_query_tz_3@ jsonb text jsonb bool = jsonb[]
string_to_table string_to_array text text = text[] | text text text = text[]
regexp_matches regexp_matches_1 text text = text[][]
regexp_matches regexp_matches_2 text text text = text[][]
"""
# fmt: on
