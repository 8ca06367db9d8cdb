"""Data sets that are published as files: where they are, what they hash to, and what is in them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

TRAIN_IMAGES, TRAIN_LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
TEST_IMAGES, TEST_LABELS = "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"
TRAIN_TABLE, TEST_TABLE = "adult.data", "adult.test"

# How a download is told: the name of a file, its bytes so far, and its bytes in all or 0 if the server does not tell.
Report = Callable[[str, int, int], None]


def tell_nobody(file: str, done: int, total: int) -> None:
    """Keep a download to itself."""


@dataclass(frozen=True)
class Published:
    """A data set in files, by default images and labels in four IDX files.

    ``sha256`` is that of the files as every mirror has them. ``test_labels_sha256`` is that of the unpacked test
    labels: the files of all data sets of images have the same names, and this tells whose they are. ``folders`` are the
    names that tools give to the folder of the data set, and ``files`` those of the files, unpacked.
    """

    name: str
    classes: tuple[str, ...]
    mirrors: tuple[str, ...]
    sha256: Mapping[str, str]
    folders: tuple[str, ...]
    megabytes: int
    test_labels_sha256: str | None = None
    shape: tuple[int, int] = (28, 28)
    files: tuple[str, ...] = (TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS)


MNIST = Published(
    name="mnist",
    classes=tuple("0123456789"),
    mirrors=(
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
    ),
    sha256={
        f"{TRAIN_IMAGES}.gz": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        f"{TRAIN_LABELS}.gz": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        f"{TEST_IMAGES}.gz": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        f"{TEST_LABELS}.gz": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    },
    test_labels_sha256="ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    folders=("mnist", "MNIST/raw"),
    megabytes=12,
)

FASHION_MNIST = Published(
    name="fashion-mnist",
    classes=(
        "T-shirt/top",
        "Trouser",
        "Pullover",
        "Dress",
        "Coat",
        "Sandal",
        "Shirt",
        "Sneaker",
        "Bag",
        "Ankle boot",
    ),
    mirrors=(
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
    ),
    sha256={
        f"{TRAIN_IMAGES}.gz": "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
        f"{TRAIN_LABELS}.gz": "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
        f"{TEST_IMAGES}.gz": "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
        f"{TEST_LABELS}.gz": "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
    },
    test_labels_sha256="0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    folders=("fashion-mnist", "FashionMNIST/raw"),
    megabytes=31,
)

CENSUS = Published(
    name="census",
    classes=("<=50K", ">50K"),
    mirrors=(
        "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/",
        "http://mlr.cs.umass.edu/ml/machine-learning-databases/adult/",
    ),
    sha256={
        TRAIN_TABLE: "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
        TEST_TABLE: "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    },
    folders=("adult", "census"),
    megabytes=6,
    files=(TRAIN_TABLE, TEST_TABLE),
)

PUBLISHED = (MNIST, FASHION_MNIST, CENSUS)
