"""Files and their columns, as the command line names them."""
