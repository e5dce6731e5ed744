"""Where the files of each set belong, as loaders and downloads say in their messages."""

from __future__ import annotations

from pathlib import Path

PLACES = {
    "mnist": (
        "put train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz, t10k-images-idx3-ubyte.gz "
        "and t10k-labels-idx1-ubyte.gz into {folder}/mnist"
    ),
    "cifar10": (
        "put cifar-10-binary.tar.gz into {folder}/cifar10, or what is in it, cifar-10-batches-bin/"
    ),
    "pubfig83": (
        "put each person's images into {folder}/pubfig83/<person>/, or a tar archive of such "
        "folders, pubfig83*.tar.xz, .tar.gz or .tgz, into {folder}/pubfig83"
    ),
    "nus_wide": (
        "put the official Groundtruth/TrainTestLabels/Labels_<concept>_{{Train,Test}}.txt, "
        "ImageList/{{Train,Test}}Imagelist.txt and Flickr/<folder>/<file>.jpg into "
        "{folder}/nus_wide"
    ),
    "omniglot": (
        "put images_background_small1.zip and images_background_small2.zip into {folder}/omniglot"
    ),
    "scene": "put its file at {folder}/multilabel/scene.npz",
    "yeast": "put its file at {folder}/multilabel/yeast.npz",
    "corel5k": "put its file at {folder}/multilabel/corel5k.npz",
    "delicious": "put its file at {folder}/multilabel/delicious.npz",
    "amazon-google": (
        "put train.txt.gz, valid.txt.gz and test.txt.gz into {folder}/entity_pairs/amazon-google"
    ),
    "dblp-acm": (
        "put train.txt.gz, valid.txt.gz and test.txt.gz into {folder}/entity_pairs/dblp-acm"
    ),
    "fodors-zagats": (
        "put train.txt.gz, valid.txt.gz and test.txt.gz into {folder}/entity_pairs/fodors-zagats"
    ),
}


def place_of(name: str, folder: Path) -> str:
    """Return which files of the set `name` go where in the data folder."""
    return PLACES[name].format(folder=folder)


def download_hint(name: str, folder: Path) -> str:
    """Return how the set `name`, which has a public download, is downloaded."""
    return (
        f"get it with twofold reproduce {name} --download, or in Python with "
        f"{download_call(name, folder)}"
    )


def download_call(name: str, folder: Path) -> str:
    """Return the line of Python that downloads the set `name`."""
    return f'twofold.datasets.download("{name}", "{folder}")'
