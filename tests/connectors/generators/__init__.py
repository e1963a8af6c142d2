"""Generators: any range gives the same rows again, and the server reads each row once."""
