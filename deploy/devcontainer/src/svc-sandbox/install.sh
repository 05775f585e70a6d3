#!/bin/sh
# Installs the command for all users. The image, or the feature `node` before this one, brings Node 22.19 or later.
set -eu
if ! command -v npm > /dev/null; then
  echo 'This feature needs Node 22.19 or later. Add the feature ghcr.io/devcontainers/features/node before it.' >&2
  exit 1
fi
if [ ! -f "${PACKAGE:-}" ]; then
  echo "Until its release, no registry has svc-sandbox: there, the name may be a stranger's. Put the packed file into" >&2
  echo 'the folder of this feature, and name it: "package": "./svc-sandbox-0.1.0.tgz".' >&2
  exit 1
fi
npm install --global --no-audit --no-fund "$(realpath "$PACKAGE")"
mkdir -p /var/lib/svc
chown "${_REMOTE_USER:-root}" /var/lib/svc
svc-sandbox --version
