"""The information of a row on the height of a map, by which a penalty on it is scaled."""


def measure_information(shares):
    """r_k (1 - r_k), what a row tells of the intercept of class k, relative to even classes.

    A penalty on the intercepts that ignores it holds those of rare classes the most: what a row
    tells of an event of 0.2 % is a hundredth of what it tells of one of 50 %. Shares r_k sum to 1.
    """
    n_classes = len(shares)
    return n_classes**2 / (n_classes - 1) * shares * (1 - shares)
