"""Times until an event, of rows that may be censored."""
