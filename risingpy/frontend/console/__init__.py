"""The console: a web page of the database, at the port of monitoring. It sees and does what its user's SQL may.

    console.py       what the page asks for: log in, run a text, cancel it, log out
    requests.py      which requests are those of the page, and their bodies
    logins.py        who has logged in: a token for each page, which ends with its user's right to log in
    runs.py          the texts that run: cancelled by the page, by its end, or by the server's
    answers.py       a text's results as lines of JSON, while they come
    http_answers.py  the part of the HTTP port
    files.py         the files of the page, with the headers that keep it to itself
    page/            HTML, CSS and JavaScript, as they are written: there is no build step

In: HTTP requests. Out: files, and lines of JSON. The page has no data of its own: everything it shows is a query
(decision 079).
"""

from risingpy.frontend.console.console import Console
from risingpy.frontend.console.files import page_files
from risingpy.frontend.console.http_answers import PREFIX, answer_file, answer_request

__all__ = ["PREFIX", "Console", "answer_file", "answer_request", "page_files"]
