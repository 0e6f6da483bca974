# syntax=docker/dockerfile:1
# Docket in a container, without root. Only /var/lib/docket and /tmp have to be writable. Settings are
# environment variables, and the image has no secret.

FROM python:3.13-slim-trixie AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/docket/.venv
COPY requirements.txt requirements-docs.txt requirements-s3.txt /opt/docket/
# Any value of S3 adds the client that FILES_URL needs.
ARG S3=
RUN /opt/docket/.venv/bin/pip install --quiet --no-deps --require-hashes --only-binary :all: \
    -r /opt/docket/requirements.txt -r /opt/docket/requirements-docs.txt \
    ${S3:+-r /opt/docket/requirements-s3.txt}
COPY wsgi.py /opt/docket/
COPY app /opt/docket/app
COPY migrations /opt/docket/migrations
COPY static /opt/docket/static
COPY templates /opt/docket/templates
WORKDIR /opt/docket
# A checkout made under a strict umask is readable by its owner alone.
RUN .venv/bin/python -m compileall -q -j 0 /opt/docket && chmod -R a+rX /opt/docket

FROM python:3.13-slim-trixie
RUN useradd --system --uid 10001 --home-dir /var/lib/docket --shell /usr/sbin/nologin docket \
    && install -d -o docket -g docket -m 0700 /var/lib/docket
COPY --from=build /opt/docket /opt/docket
WORKDIR /opt/docket
ENV PATH=/opt/docket/.venv/bin:$PATH \
    FLASK_APP=wsgi \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HOST=0.0.0.0 \
    PORT=8000 \
    INSTANCE_DIR=/var/lib/docket
USER 10001
VOLUME /var/lib/docket
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen('http://127.0.0.1:' + os.environ['PORT'] + '/readyz', timeout=4)"]
CMD ["python", "-m", "flask", "serve"]
