"""A mistake: its traceback shows this file alone."""

import cuda.tile as ct


@ct.kernel
def odd(x):
    ct.store(x, (0,), no_such_name)  # noqa: F821


def main():
    import numpy as np

    ct.launch(None, (1,), odd, (np.zeros(4),))


main()
