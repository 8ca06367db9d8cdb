"""The scikit-learn estimator."""

from scnf.estimator.classifier import SCNFClassifier

__all__ = ["SCNFClassifier"]
