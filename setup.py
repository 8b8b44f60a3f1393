"""What pyproject.toml cannot say: the recipes lie beside src/ and are installed within dragoman."""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages("src"), "dragoman.recipes"],
    package_dir={"": "src", "dragoman.recipes": "recipes"},
)
