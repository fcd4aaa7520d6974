"""Write the chart library of reports, Vega, Vega-Lite and Vega-Embed as one script, with the installed vl-convert.

    python scripts/bundle_charts.py

The script is committed: reports inline it, and no build needs vl-convert. The charts are written for its Vega-Lite.
"""

from __future__ import annotations

from pathlib import Path

import vl_convert

PLACE = Path(__file__).parents[1] / "src/cuecard/report/html/templates/vega.js"
NOTICE = """\
// Vega {vega}, Vega-Lite {lite} and Vega-Embed {embed} as one script (scripts/bundle_charts.py, vl-convert {own}).
// Copyright (c) 2015-2025, University of Washington Interactive Data Lab and contributors; BSD-3-Clause. With D3 (ISC),
// TopoJSON (ISC), fast-json-patch (MIT), json-stringify-pretty-compact (MIT) and semver (ISC).
"""


def bundled() -> str:
    """Return the script with its notice; nothing in it ends the element that it is inlined in."""
    script = vl_convert.javascript_bundle().replace("</script", "<\\/script").replace("<!--", "<\\!--")
    notice = NOTICE.format(
        vega=vl_convert.get_vega_version(),
        lite=vl_convert.get_vegalite_versions()[-1],
        embed=vl_convert.get_vega_embed_version(),
        own=vl_convert.__version__,
    )
    return notice + script


if __name__ == "__main__":
    PLACE.write_text(bundled(), encoding="utf-8")
