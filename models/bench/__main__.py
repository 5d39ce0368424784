"""What a training step costs with each output layer, all side by side in one run.

`python -m models.bench --help` needs torch and numpy only, so that it runs on any machine.
"""

import argparse
import csv
from pathlib import Path

import torch

from models.bench.output import LENGTH
from models.bench.table import SIZES, table


def main() -> None:
    has_gpu = torch.cuda.is_available()
    parser = argparse.ArgumentParser(prog="python -m models.bench", description=__doc__)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda" if has_gpu else "cpu")
    parser.add_argument(
        "--precision", nargs="+", choices=["float32", "bfloat16"], default=["float32"]
    )
    parser.add_argument("--words", nargs="*", type=int, default=SIZES, help="vocabulary sizes")
    parser.add_argument("--batch", type=int, default=32, help=f"texts of {LENGTH} words a step")
    parser.add_argument("--rounds", type=int, default=10, help="steps measured of each")
    parser.add_argument("--csv", type=Path, help="write the costs there")
    arguments = parser.parse_args()
    about = {"batch": arguments.batch, "rounds": arguments.rounds}
    rows = []
    for row in table(arguments.device, arguments.precision, arguments.words, **about):
        print(
            "{output:>23} {words:>9,} {milliseconds:>10.2f} ms {peak_mebibytes:>8.1f} MiB  "
            "{device} {precision}".format(**row)
        )
        rows.append(row)
    if arguments.csv:
        with arguments.csv.open("w", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)


main()
