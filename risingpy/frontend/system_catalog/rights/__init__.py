"""Rights in the system catalogs: aclitems, and what has_table_privilege and its like look up."""
