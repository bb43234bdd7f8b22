"""What pytest does not read here: the configuration of the site, and built pages."""

collect_ignore = ["_build", "_templates", "api/generated", "auto_examples", "conf.py"]
