"""jsonb: operators and functions. A `jsonb` argument takes unknown literals; `every` any type.

Of most functions of json the binder makes those of jsonb (`json_names.py`).
"""

# fmt: off
JSONB = """
->  jsonb_object_field       jsonb text = jsonb
->  jsonb_array_element      jsonb int4 = jsonb
->> jsonb_object_field_text  jsonb text = text
->> jsonb_array_element_text jsonb int4 = text
#>  jsonb_at_path            jsonb text[] = jsonb
#>> jsonb_at_path_text       jsonb text[] = text
@>  jsonb_contains   jsonb jsonb = bool
<@  jsonb_contained  jsonb jsonb = bool
?   jsonb_exists     jsonb text = bool
?|  jsonb_exists_any jsonb text[] = bool
?&  jsonb_exists_all jsonb text[] = bool
||  jsonb_concat     jsonb jsonb = jsonb
@?  jsonb_path_exists_op jsonb text = bool
@@  jsonb_path_match_op  jsonb text = bool
-   jsonb_delete_keys    jsonb text = jsonb | jsonb text[] = jsonb
-   jsonb_delete_element jsonb int4 = jsonb
#-  jsonb_delete_path    jsonb text[] = jsonb
=   jsonb_eq  jsonb jsonb = bool
<>  jsonb_ne  jsonb jsonb = bool
!=  jsonb_ne  jsonb jsonb = bool
<   jsonb_lt  jsonb jsonb = bool
<=  jsonb_le  jsonb jsonb = bool
>   jsonb_gt  jsonb jsonb = bool
>=  jsonb_ge  jsonb jsonb = bool
IS_JSON_VALUE  is_json_value  text = bool
IS_JSON_OBJECT is_json_object text = bool
IS_JSON_ARRAY  is_json_array  text = bool
IS_JSON_SCALAR is_json_scalar text = bool
jsonb_object_field jsonb_object_field jsonb text = jsonb
jsonb_object_field_text jsonb_object_field_text jsonb text = text
jsonb_array_element jsonb_array_element jsonb int4 = jsonb
jsonb_array_element_text jsonb_array_element_text jsonb int4 = text
jsonb_extract_path jsonb_extract_path jsonb text… = jsonb
jsonb_extract_path_text jsonb_extract_path_text jsonb text… = text
jsonb_contains jsonb_contains jsonb jsonb = bool
jsonb_contained jsonb_contained jsonb jsonb = bool
jsonb_exists jsonb_exists jsonb text = bool
jsonb_exists_any jsonb_exists_any jsonb text[] = bool
jsonb_exists_all jsonb_exists_all jsonb text[] = bool
jsonb_concat jsonb_concat jsonb jsonb = jsonb
jsonb_delete jsonb_delete_keys jsonb text = jsonb | jsonb text[] = jsonb
jsonb_delete jsonb_delete_element jsonb int4 = jsonb
jsonb_delete_path jsonb_delete_path jsonb text[] = jsonb
jsonb_typeof jsonb_typeof jsonb = text
jsonb_array_length jsonb_array_length jsonb = int4
jsonb_set jsonb_set jsonb text[] jsonb = jsonb | jsonb text[] jsonb bool = jsonb
jsonb_set_lax jsonb_set_lax jsonb text[] jsonb = jsonb | jsonb text[] jsonb bool = jsonb
jsonb_set_lax jsonb_set_lax jsonb text[] jsonb bool text = jsonb
jsonb_insert jsonb_insert jsonb text[] jsonb = jsonb | jsonb text[] jsonb bool = jsonb
jsonb_strip_nulls jsonb_strip_nulls jsonb = jsonb
jsonb_pretty jsonb_pretty jsonb = text
jsonb_object jsonb_object text[] = jsonb | text[] text[] = jsonb
to_jsonb to_jsonb every = jsonb
row_to_json to_json record = json
row_to_json json_in_lines record bool = json
array_to_json to_json array = json
array_to_json json_in_lines array bool = json
jsonpath jsonpath text = text
jsonb_path_exists jsonb_path_exists_1 jsonb text = bool
jsonb_path_exists jsonb_path_exists_2 jsonb text jsonb = bool
jsonb_path_exists jsonb_path_exists_3 jsonb text jsonb bool = bool
jsonb_path_match jsonb_path_match_1 jsonb text = bool
jsonb_path_match jsonb_path_match_2 jsonb text jsonb = bool
jsonb_path_match jsonb_path_match_3 jsonb text jsonb bool = bool
jsonb_path_query_array jsonb_path_query_array_1 jsonb text = jsonb
jsonb_path_query_array jsonb_path_query_array_2 jsonb text jsonb = jsonb
jsonb_path_query_array jsonb_path_query_array_3 jsonb text jsonb bool = jsonb
jsonb_path_query_first jsonb_path_query_first_1 jsonb text = jsonb
jsonb_path_query_first jsonb_path_query_first_2 jsonb text jsonb = jsonb
jsonb_path_query_first jsonb_path_query_first_3 jsonb text jsonb bool = jsonb
JSONB_BUILD_ARRAY_OF  jsonb_build_array_of  array = jsonb
JSONB_BUILD_OBJECT_OF jsonb_build_object_of array = jsonb
JSONB_OBJECT_OF_PAIRS jsonb_object_of_pairs array = jsonb
jsonb_path_exists_tz jsonb_path_exists_tz_1@ jsonb text = bool
jsonb_path_exists_tz jsonb_path_exists_tz_2@ jsonb text jsonb = bool
jsonb_path_exists_tz jsonb_path_exists_tz_3@ jsonb text jsonb bool = bool
jsonb_path_match_tz jsonb_path_match_tz_1@ jsonb text = bool
jsonb_path_match_tz jsonb_path_match_tz_2@ jsonb text jsonb = bool
jsonb_path_match_tz jsonb_path_match_tz_3@ jsonb text jsonb bool = bool
jsonb_path_query_array_tz jsonb_path_query_array_tz_1@ jsonb text = jsonb
jsonb_path_query_array_tz jsonb_path_query_array_tz_2@ jsonb text jsonb = jsonb
jsonb_path_query_array_tz jsonb_path_query_array_tz_3@ jsonb text jsonb bool = jsonb
jsonb_path_query_first_tz jsonb_path_query_first_tz_1@ jsonb text = jsonb
jsonb_path_query_first_tz jsonb_path_query_first_tz_2@ jsonb text jsonb = jsonb
jsonb_path_query_first_tz jsonb_path_query_first_tz_3@ jsonb text jsonb bool = jsonb
jsonb_build_array jsonb_build_array = jsonb | every… = jsonb
jsonb_build_object jsonb_build_object = jsonb | every = jsonb | every every every… = jsonb | every every = jsonb
"""
# fmt: on
