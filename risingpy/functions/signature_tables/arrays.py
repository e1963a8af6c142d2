"""Arrays, rows and maps: constructors, subscripts, operators and functions. `array` and `elem` go together."""

# Forms have upper-case names: a syntax of their own leads to them, and the binder types some of them itself.
# fmt: off
ARRAYS = """
ARRAY        array        any… = array
SUBSCRIPT    subscript    array int4 = elem
SLICE        slice        array int4 int4 = array
ROW          row          every… = record
FIELD        field        record text = every
|| array_cat     array array = array
|| array_append  array elem = array
|| array_prepend elem array = array
@> array_contains  array array = bool
<@ array_contained array array = bool
&& array_overlaps  array array = bool
array_append array_append array elem = array
array_prepend array_prepend elem array = array
array_cat array_cat array array = array
array_length array_length array = int4 | array int4 = int4
array_lower array_lower array int4 = int4
array_upper array_length array int4 = int4
array_ndims array_ndims array = int4
array_dims array_dims array = text
cardinality cardinality array = int4
array_position array_position array elem = int4 | array elem int4 = int4
array_positions array_positions array elem = int4[]
array_remove array_remove array elem = array
array_replace array_replace array elem elem = array
array_reverse array_reverse array = array
array_distinct array_distinct array = array
array_sort array_sort array = array
array_min array_min array = elem
array_max array_max array = elem
array_contains array_contains array array = bool
arraycontains array_contains array array = bool
array_contained array_contained array array = bool
arraycontained array_contained array array = bool
array_overlaps array_overlaps array array = bool
array_is_overlap array_overlaps array array = bool
arrayoverlap array_overlaps array array = bool
array_to_string array_to_string array text = text | array text text = text
array_join array_to_string array text = text | array text text = text
string_to_array string_to_array text text = text[] | text text text = text[]
width_bucket width_bucket_array elem array = int4
trim_array trim_array array int4 = array
array_fill array_fill elem int4[] = array
"""
# fmt: on
