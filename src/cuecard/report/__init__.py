"""People look: charts, HTML, terminal."""
