# The service on a CPU, as a user without rights:
#   docker build -t graphfnp . && docker run --rm -p 8000:8000 -e GRAPHFNP_API_KEY="$KEY" graphfnp
# Another model: mount its run folder and name it, -v "$PWD/runs/mine:/model:ro" graphfnp /model
FROM python:3.11-slim AS build
# PyTorch's usual build brings several GB of CUDA along: --build-arg PIP_ARGS="--extra-index-url URL" with the address
# of its index of CPU builds, which its install page names, leaves them out.
ARG PIP_ARGS=""
WORKDIR /source
COPY constraints.txt pyproject.toml README.md LICENSE ./
COPY src src
RUN python -m venv /opt/graphfnp \
 && /opt/graphfnp/bin/pip install --no-cache-dir --quiet $PIP_ARGS -c constraints.txt '.[service]'

FROM python:3.11-slim
# RDKit draws with these libraries.
RUN apt-get update && apt-get install --yes --no-install-recommends libxrender1 libxext6 libexpat1 \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --create-home --uid 10001 graphfnp
COPY --from=build /opt/graphfnp /opt/graphfnp
USER graphfnp
WORKDIR /home/graphfnp
ENV PATH=/opt/graphfnp/bin:$PATH OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1 MPLCONFIGDIR=/tmp
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s \
  CMD ["python", "-m", "graphfnp.service.client", "http://127.0.0.1:8000"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["graphfnp", "serve", "--host", "0.0.0.0", "--port", "8000", "--log-json"]
CMD ["bbbp"]
