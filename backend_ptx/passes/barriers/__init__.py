"""Which memory accesses of a CTA need a barrier between them."""
