import logging
import signal
import sys

from .server import Server
from .settings import SettingsError, load_env_file, read_settings


def main() -> int:
    logging.basicConfig(format="%(message)s")
    load_env_file()
    try:
        settings = read_settings()
        server = Server(settings)
    except SettingsError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{error.strerror}: port {settings.port}. Set PORT to another one, such as 3001.", file=sys.stderr)
        return 1
    print(f"http://localhost:{settings.port} with placements of {settings.base_url}", flush=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        server.server_close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
