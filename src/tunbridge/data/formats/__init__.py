"""Formats of table files, one file each; `@table_format` registers them."""
