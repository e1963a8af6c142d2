"""`make soak`: an hour of mixed work, in which nothing may grow, and nobody may get an answer that is wrong."""
