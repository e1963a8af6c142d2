"""Sources of files and of objects of S3."""
