"""Functions on bytea. The lines' form is in `signatures.py`."""

# fmt: off
BYTE_STRINGS = """
length length_bytes bytea = int4
length length_encoded bytea text = int4
octet_length length_bytes bytea = int4
bit_length bit_length_bytes bytea = int4
substring substring_bytes bytea int4 = bytea | bytea int4 int4 = bytea
substr substring_bytes bytea int4 = bytea | bytea int4 int4 = bytea
overlay overlay_bytes bytea bytea int4 = bytea | bytea bytea int4 int4 = bytea
position position_bytes bytea bytea = int4
btrim trim_both_bytes bytea bytea = bytea
ltrim trim_leading_bytes bytea bytea = bytea
rtrim trim_trailing_bytes bytea bytea = bytea
reverse reverse_bytes bytea = bytea
get_byte get_byte bytea int4 = int4
get_bit get_bit bytea int8 = int4
set_byte set_byte bytea int4 int4 = bytea
set_bit set_bit bytea int8 int4 = bytea
bit_count bit_count bytea = int8
md5 md5_bytes bytea = text
sha1 sha1 bytea = bytea | text = bytea
sha224 sha224 bytea = bytea
sha256 sha256 bytea = bytea
sha384 sha384 bytea = bytea
sha512 sha512 bytea = bytea
crc32 crc32 bytea = int8 | text = int8
crc32c crc32c bytea = int8 | text = int8
digest digest bytea text = bytea | text text = bytea
gen_random_bytes gen_random_bytes int4 = bytea
hmac hmac text bytea text = bytea
encrypt encrypt bytea bytea text = bytea
decrypt decrypt bytea bytea text = bytea
encode encode bytea text = text
decode decode text text = bytea
convert_from convert_from bytea text = text
convert_to convert_to text text = bytea
int2send int2send int2 = bytea
int4send int4send int4 = bytea
int8send int8send int8 = bytea
float4send float4send float4 = bytea
float8send float8send float8 = bytea
boolsend boolsend bool = bytea
textsend textsend text = bytea
byteasend byteasend bytea = bytea
uuid_send uuid_send uuid = bytea
date_send date_send date = bytea
time_send time_send time = bytea
timestamp_send timestamp_send timestamp = bytea
timestamptz_send timestamptz_send timestamptz = bytea
interval_send interval_send interval = bytea
jsonb_send jsonb_send jsonb = bytea
numeric_send numeric_send numeric = bytea
inet_send inet_send inet = bytea
cidr_send cidr_send cidr = bytea
macaddr_send macaddr_send macaddr = bytea
bit_send bit_send bit = bytea
varbit_send bit_send varbit = bytea
varcharsend textsend text = bytea
json_send textsend json = bytea
int8recv int8recv bytea = int8
"""
