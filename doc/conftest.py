"""What pytest does not read here: programs that build and check the site, and built pages."""

collect_ignore = ["_build", "_ext", "api/generated", "auto_examples", "check_site.py", "conf.py"]
