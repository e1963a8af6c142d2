"""The grammar of sources and sinks: WITH options, INCLUDE, FORMAT … ENCODE …."""
