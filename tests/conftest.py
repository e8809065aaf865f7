"""WordNet comes with the optional data of SIMKIT_DATA; tests that need either skip without it."""

import os

if os.environ.get("SIMKIT_DATA"):
    # Before nltk is imported: it reads the variable once.
    os.environ.setdefault("NLTK_DATA", os.path.join(os.environ["SIMKIT_DATA"], "nltk_data"))
