"""Jobs that a statement makes: `created_jobs.py` waits for them and removes them, `replacing.py` exchanges them."""
