"""The systems that scnf is compared with."""
