"""Functions of rights and of aclitems, as DuckDB SQL over relations called `rp_…`."""
