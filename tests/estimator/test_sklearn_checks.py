"""scikit-learn's own checks of an estimator."""

import warnings

from sklearn.utils.estimator_checks import parametrize_with_checks

from scnf import SCNFClassifier

# What a check asks for and why it is not so; docs/classifier.md tells the same.
EXPECTED_FAILURES: dict[str, str] = {}


def _short() -> SCNFClassifier:
    # None marks rows without a label here: the checks have a class called -1.
    return SCNFClassifier(unlabeled=None, settings={"training.steps": 20}, calibrate=False)


@parametrize_with_checks([_short()], expected_failed_checks=lambda estimator: EXPECTED_FAILURES)
def test_scikit_learns_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)
