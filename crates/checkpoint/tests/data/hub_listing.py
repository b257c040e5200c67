"""Writes hub_listing.txt: the cache that huggingface_hub makes of the fixture `dinov2`, served by a hub on the loopback.

    python hub_listing.py FOLDER        (with huggingface_hub 2.4.0; FOLDER becomes the cache)

The test `the_cache_is_laid_out_as_huggingface_hub_lays_it_out` compares it with what this project makes of the same hub.
With `--check` FOLDER is a cache that this project filled from the same hub: huggingface_hub must find every file in it,
without asking for any content. With `--serve PORT` the hub alone runs.
"""

import hashlib
import http.server
import os
import pathlib
import sys
import threading

REPO, COMMIT = "facebook/dinov2-small", "ed25f3a31f01632728cabb09d1542f84ab7b0056"
FILES = ["config.json", "preprocessor_config.json", "processor_config.json", "model.safetensors"]
HERE = pathlib.Path(__file__).parent
FIXTURE = HERE / "../../../../fixtures/dinov2"
requests = []


class Hub(http.server.BaseHTTPRequestHandler):
    def do_HEAD(self):
        self.answer(False)

    def do_GET(self):
        self.answer(True)

    def answer(self, with_body):
        requests.append((self.command, self.path))
        name = self.path.rpartition("/")[2]
        if not (FIXTURE / name).is_file() or name not in FILES:
            self.send_response(404)
            self.send_header("X-Error-Code", "EntryNotFound")
            body = b""
        else:
            self.send_response(200)
            body = (FIXTURE / name).read_bytes()
            large = name.endswith(".safetensors")
            digest = hashlib.sha256(body) if large else hashlib.sha1(b"blob %d\0" % len(body) + body)
            self.send_header("ETag", f'"{digest.hexdigest()}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, *_):
        pass


def listing(root):
    lines = []
    for folder, folders, files in os.walk(root):
        for path in (pathlib.Path(folder) / name for name in folders + files):
            name = path.relative_to(root).as_posix()
            if path.is_symlink():
                lines.append(f"{name} -> {os.readlink(path)}")
            elif path.is_file():
                lines.append(name)
    return sorted(lines)


def main():
    port = int(sys.argv[sys.argv.index("--serve") + 1]) if "--serve" in sys.argv else 0
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Hub)
    if port:
        return server.serve_forever()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ["HF_ENDPOINT"] = f"http://127.0.0.1:{server.server_port}"
    import huggingface_hub
    from huggingface_hub.errors import EntryNotFoundError

    root = pathlib.Path(sys.argv[1]).absolute()
    for name in FILES:
        try:
            huggingface_hub.hf_hub_download(REPO, name, cache_dir=root)
        except EntryNotFoundError:
            print(name, "is absent")
    contents = [line for line in requests if line[0] == "GET" and "/resolve/" in line[1]]
    print(huggingface_hub.__version__, len(requests), "requests,", len(contents), "of them for content")
    if "--check" in sys.argv:
        assert not contents, contents
    else:
        (HERE / "hub_listing.txt").write_text("\n".join(listing(root)) + "\n")


main()
