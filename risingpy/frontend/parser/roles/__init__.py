"""Statements about users, groups and memberships: `trees` has them as data, `parsing` reads them."""
