"""TPC-H as live views: `views.measure`, over the queries and the schema of `queries.sql`."""
