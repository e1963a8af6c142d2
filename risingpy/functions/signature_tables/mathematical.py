"""Mathematical functions. The lines' form is in `signatures.py`."""

# fmt: off
MATHEMATICAL = """
abs abs int2 = int2 | int4 = int4 | int8 = int8 | float4 = float4 | float8 = float8 | numeric = numeric:first
sign sign float8 = float8 | numeric = numeric:integral
ceil ceil float8 = float8 | numeric = numeric:integral
ceiling ceil float8 = float8 | numeric = numeric:integral
floor floor float8 = float8 | numeric = numeric:integral
round round float8 = float8 | numeric = numeric:integral
round round_to numeric int4 = numeric:plain
trunc trunc float8 = float8 | numeric = numeric:integral
trunc trunc_to numeric int4 = numeric:plain
mod modulo int2 int2 = int2 | int4 int4 = int4 | int8 int8 = int8 | numeric numeric = numeric:larger
sqrt sqrt float8 = float8
cbrt cbrt float8 = float8
power power float8 float8 = float8
pow power float8 float8 = float8
exp exp float8 = float8
ln ln float8 = float8
log log10 float8 = float8
log10 log10 float8 = float8
sin sin float8 = float8
cos cos float8 = float8
tan tan float8 = float8
cot cot float8 = float8
asin asin float8 = float8
acos acos float8 = float8
atan atan float8 = float8
atan2 atan2 float8 float8 = float8
degrees degrees float8 = float8
radians radians float8 = float8
pi pi = float8
gcd gcd int4 int4 = int4 | int8 int8 = int8
lcm lcm int4 int4 = int4 | int8 int8 = int8
@ abs int2 = int2 | int4 = int4 | int8 = int8 | float4 = float4 | float8 = float8 | numeric = numeric:first
^ power_numeric numeric numeric = numeric:plain
|/ sqrt float8 = float8
||/ cbrt float8 = float8
sqrt sqrt_numeric numeric = numeric:plain
exp exp_numeric numeric = numeric:plain
ln ln_numeric numeric = numeric:plain
log log10_numeric numeric = numeric:plain
log log_numeric numeric numeric = numeric:plain
log10 log10_numeric numeric = numeric:plain
power power_numeric numeric numeric = numeric:plain
pow power_numeric numeric numeric = numeric:plain
div div numeric numeric = numeric:whole
factorial factorial int8 = numeric:plain
gcd gcd_numeric numeric numeric = numeric:larger
lcm lcm_numeric numeric numeric = numeric:plain
width_bucket width_bucket_float float8 float8 float8 int4 = int4
width_bucket width_bucket_numeric numeric numeric numeric int4 = int4
scale scale numeric = int4
min_scale min_scale numeric = int4
trim_scale trim_scale numeric = numeric:plain
sinh sinh float8 = float8
cosh cosh float8 = float8
tanh tanh float8 = float8
coth coth float8 = float8
asinh asinh float8 = float8
acosh acosh float8 = float8
atanh atanh float8 = float8
sind sind float8 = float8
cosd cosd float8 = float8
tand tand float8 = float8
cotd cotd float8 = float8
asind asind float8 = float8
acosd acosd float8 = float8
atand atand float8 = float8
atan2d atan2d float8 float8 = float8
gamma gamma float8 = float8
lgamma lgamma float8 = float8
abs int256_abs int256 = int256
@ int256_abs int256 = int256
mod int256_modulo int256 int256 = int256
hex_to_int256 hex_to_int256 text = int256
random random = float8
"""
