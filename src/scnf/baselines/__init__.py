"""The systems that scnf is compared with, each a scikit-learn classifier that takes -1 for a hidden label.

``systems.SYSTEMS`` has them all by name. Nothing is imported here: torch takes a second.
"""
