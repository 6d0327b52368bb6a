"""Publish personal data safely when columns do not split cleanly into identifying and sensitive."""

__version__ = "0.1.0"
