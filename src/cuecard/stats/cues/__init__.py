"""Features and labels: cueness, association, redundancy, tests within examples."""
