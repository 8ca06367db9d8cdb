"""The classifier in a file that runs where scnf is not: a program of torch.export (.pt2) or ONNX.

It takes what the model itself takes. Images are whole numbers. A table's rows must be encoded first, which is not part
of the file; the log-density is then that of the encoded row.
"""

from scnf.export.checking import Difference
from scnf.export.writing import ENDINGS, Format, export_classifier

__all__ = ["ENDINGS", "Difference", "Format", "export_classifier"]
