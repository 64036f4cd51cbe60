"""Which instruction computes each matrix multiply, where its operands live, and when its results are waited for."""
