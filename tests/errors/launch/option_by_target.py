"""An option out of range for one target."""


import tilewright as ct


def main() -> None:
    ct.tile_kernel(num_ctas=ct.ByTarget(default=1, sm_90=3))
