"""Write all pictures anew."""

from tools.pictures import FOLDER, NAMES, drawn

FOLDER.mkdir(exist_ok=True)
for name in NAMES:
    (FOLDER / f"{name}.svg").write_text(drawn(name), encoding="utf-8")
    print(f"wrote docs/pictures/{name}.svg")
