# syntax=docker/dockerfile:1
# One image of the movie diary: its server, its worker, its migrations and the demo's metadata provider. The command
# decides; docker-compose.yml holds them all. Decision 24.
#
# Debian, since @temporalio/core-bridge has native binaries for glibc and not for musl; slim, since nothing is compiled
# and sharp brings its own libvips.
ARG NODE_IMAGE=node:24.21.0-trixie-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
# By themselves, so that a change of the sources does not install them again. No package needs its install script here.
COPY package.json package-lock.json ./
COPY examples/movie-diary/package.json examples/movie-diary/
RUN --mount=type=cache,target=/root/.npm npm ci --ignore-scripts --no-audit --no-fund
COPY . .
# The workflow bundle too: a worker that finds none would run webpack at each start.
RUN npx tsc -p tsconfig.build.json && node scripts/bundle-workflows.mjs
RUN npx tsc -p examples/movie-diary/tsconfig.build.json && npx tsc -p examples/movie-diary/demo/tsconfig.build.json

FROM build AS production
# npm links the command `outbox` too, now that it is built. Temporal's native library comes for five platforms, of which
# this is one.
RUN npm prune --omit=dev --ignore-scripts --no-audit --no-fund && \
    mkdir -p data/objects && \
    find node_modules/@temporalio/core-bridge/releases -mindepth 1 -maxdepth 1 ! -name "$(uname -m)-unknown-linux-gnu" -exec rm -r {} +

FROM ${NODE_IMAGE}
ENV NODE_ENV=production PATH=/app/node_modules/.bin:$PATH
WORKDIR /app
# All of it belongs to root: what is run cannot be changed by the process that runs it.
COPY --from=production /app/package.json ./
COPY --from=production /app/node_modules node_modules
COPY --from=production /app/dist dist
COPY --from=production /app/migrations migrations
COPY --from=production /app/scripts/healthy.mjs scripts/
COPY --from=production /app/examples/movie-diary/package.json examples/movie-diary/
COPY --from=production /app/examples/movie-diary/node_modules examples/movie-diary/node_modules
COPY --from=production /app/examples/movie-diary/dist examples/movie-diary/dist
COPY --from=production /app/examples/movie-diary/migrations examples/movie-diary/migrations
# The films of the metadata provider, out of a package of 42 MB.
COPY --from=build /app/node_modules/vega-datasets/package.json node_modules/vega-datasets/
COPY --from=build /app/node_modules/vega-datasets/build node_modules/vega-datasets/build
COPY --from=build /app/node_modules/vega-datasets/data/movies.json node_modules/vega-datasets/data/
# A new volume takes its owner from here.
COPY --from=production --chown=1000:1000 /app/data /data
# "node"; as a number, since Kubernetes looks up no name to see that it is not root.
USER 1000:1000
EXPOSE 8300
CMD ["node", "examples/movie-diary/dist/server.js"]
