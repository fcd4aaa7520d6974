"""Rows that are written for the user: to files, whole or not at all."""
