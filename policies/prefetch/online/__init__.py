"""Online scheduling without a plan: the choice of the next object to refresh."""
