"""Django's settings for its own tests: the stock PostgreSQL backend, on the server that RISINGPY_PORT names."""

import os

_SERVER = {
    "ENGINE": "django.db.backends.postgresql",
    "USER": "root",
    "HOST": "127.0.0.1",
    "PORT": os.environ["RISINGPY_PORT"],
}
DATABASES = {
    "default": {**_SERVER, "NAME": "dev"},
    "other": {**_SERVER, "NAME": "dev", "TEST": {"NAME": "test_other"}},
}
SECRET_KEY = "tests"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = False
