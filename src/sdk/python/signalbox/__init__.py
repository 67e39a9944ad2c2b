"""Signalbox for Python: `signalbox.plugin` connects a terminal, `signalbox.bot` sends signals."""
