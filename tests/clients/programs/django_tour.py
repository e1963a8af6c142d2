"""Django: its own applications are migrated there and back, the ORM, and the admin's pages. Argument: the port."""

import sys

import django
from django.conf import settings

CONTRIBUTED = ("admin", "auth", "contenttypes", "sessions", "messages", "sites", "flatpages", "redirects")
PROCESSORS = ("auth.context_processors.auth", "messages.context_processors.messages")
settings.configure(
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": "dev",
            "USER": "root",
            "HOST": "127.0.0.1",
            "PORT": sys.argv[1],
        }
    },
    INSTALLED_APPS=[f"django.contrib.{name}" for name in CONTRIBUTED],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
    ],
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "APP_DIRS": True,
            "OPTIONS": {
                "context_processors": [
                    "django.template.context_processors.request",
                    *(f"django.contrib.{name}" for name in PROCESSORS),
                ]
            },
        }
    ],
    ROOT_URLCONF=__name__,
    SITE_ID=1,
    SECRET_KEY="tour",
    USE_TZ=True,
    ALLOWED_HOSTS=["*"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
)
django.setup()

from django.contrib import admin  # noqa: E402
from django.contrib.auth.models import Group, Permission, User  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import IntegrityError, transaction  # noqa: E402
from django.db.models import Count, Max, Q  # noqa: E402
from django.test import Client  # noqa: E402
from django.urls import path  # noqa: E402

urlpatterns = [path("admin/", admin.site.urls)]

call_command("migrate", verbosity=0)
assert Permission.objects.count() > 30
user = User.objects.create_superuser("a", "a@example.org", "secret")
with transaction.atomic():
    assert list(User.objects.select_for_update().filter(pk=user.pk)) == [user]
with transaction.atomic():
    assert list(User.objects.select_for_update(skip_locked=True)) == [user]
user.groups.add(Group.objects.create(name="g"))
assert list(User.objects.annotate(n=Count("groups")).values_list("username", "n")) == [("a", 1)]
made = [f"u{number}" for number in range(20)]
User.objects.bulk_create([User(username=name) for name in made], ignore_conflicts=True)
User.objects.bulk_create(
    [User(username=name, first_name="x") for name in made],
    update_conflicts=True,
    unique_fields=["username"],
    update_fields=["first_name"],
)
assert User.objects.filter(Q(first_name__icontains="X") | Q(username__regex="^a")).count() == 21
assert User.objects.aggregate(Max("id"))["id__max"] >= 21
try:
    with transaction.atomic():
        User.objects.create(username="a")
    raise AssertionError("two users of one name")
except IntegrityError:
    pass
client = Client()
assert client.login(username="a", password="secret")
pages = ("", "auth/user/", "auth/user/?q=u1&o=1", "auth/group/1/change/", f"auth/user/{user.pk}/delete/")
for page in (*pages, f"auth/user/{user.pk}/change/", f"auth/user/{user.pk}/history/"):
    assert client.get(f"/admin/{page}").status_code == 200, page
assert client.post("/admin/auth/group/add/", {"name": "h"}).status_code == 302
chosen = {"action": "delete_selected", "_selected_action": [str(User.objects.get(username="u3").pk)], "post": "yes"}
assert client.post("/admin/auth/user/", chosen).status_code == 302
assert not User.objects.filter(username="u3").exists()
with open("/dev/null", "w") as nowhere:
    call_command("inspectdb", stdout=nowhere)
call_command("migrate", "flatpages", "zero", verbosity=0)
call_command("migrate", verbosity=0)
call_command("flush", interactive=False, verbosity=0)
assert User.objects.count() == 0
