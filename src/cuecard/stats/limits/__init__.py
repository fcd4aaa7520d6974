"""Values against limits: what an interval decides, what a change between versions is, what a test could have seen."""
