# A server of translations: docker build -t dragoman . ; see docs/server.md.
# With a GPU: --build-arg TORCH=https://download.pytorch.org/whl/cu126, and docker run --gpus all.
ARG PYTHON=3.11

FROM python:${PYTHON}-slim AS build
ARG TORCH=https://download.pytorch.org/whl/cpu
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /build
RUN python -m venv /opt/dragoman
ENV PATH=/opt/dragoman/bin:$PATH
COPY constraints.txt ./
RUN pip install --only-binary :all: --constraint constraints.txt setuptools wheel \
    && pip install --only-binary :all: --constraint constraints.txt --no-deps --index-url ${TORCH} \
        torch
COPY pyproject.toml setup.py MANIFEST.in README.md LICENSE ./
COPY src ./src
COPY recipes ./recipes
RUN pip install --only-binary :all: --constraint constraints.txt --no-build-isolation \
    '.[server,postgresql,ctranslate2,documents,moses]'

FROM python:${PYTHON}-slim
# libgomp is PyTorch's and CTranslate2's. The first process of a container cannot be ended by a
# signal that it does not handle, such as one while models are loaded: so that is tini.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libgomp1 tini \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --gid 10001 dragoman \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /var/lib/dragoman dragoman \
    && install --directory --owner 10001 --group 10001 --mode 700 /var/lib/dragoman \
    && mkdir /models
COPY --from=build /opt/dragoman /opt/dragoman
ENV PATH=/opt/dragoman/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    DRAGOMAN_DATABASE=/var/lib/dragoman/server.sqlite \
    DRAGOMAN_ADDRESS_FILE=/tmp/dragoman-address
USER 10001:10001
WORKDIR /models
# Models are only read, so mount /models read-only; the database is in /var/lib/dragoman.
VOLUME ["/models", "/var/lib/dragoman"]
EXPOSE 5000
# Wherever the server listens, and without the proxy that HTTP_PROXY names.
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s CMD ["python", "-c", \
    "import os, urllib.request as u; a = open(os.environ['DRAGOMAN_ADDRESS_FILE']).read().strip(); \
u.build_opener(u.ProxyHandler({})).open(a + '/ready', timeout=4)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["tini", "--", "dragoman"]
CMD ["serve", "--config", "/models/server.yaml", "--host", "0.0.0.0"]
