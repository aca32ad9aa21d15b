"""A small client for PostgreSQL's protocol 3.0, in pieces that a test can send in any grouping, and a scriptable server.

Source: PostgreSQL documentation, chapter "Frontend/Backend Protocol"; RFC 5802 and RFC 7677 for SCRAM-SHA-256.
"""
import base64
import collections
import hashlib
import hmac
import os
import socket
import struct
import threading

Msg = collections.namedtuple("Msg", "type body")


def frame(kind, body=b""):
    return kind.encode() + struct.pack("!I", len(body) + 4) + body


def cstr(text):
    return (text.encode() if isinstance(text, str) else text) + b"\0"


def query(sql):
    return frame("Q", cstr(sql))


def parse(name, sql, oids=()):
    return frame("P", cstr(name) + cstr(sql) + struct.pack("!H", len(oids)) + b"".join(struct.pack("!I", o) for o in oids))


def values(params):
    out = struct.pack("!H", len(params))
    for p in params:
        if p is None:
            out += struct.pack("!i", -1)
        else:
            data = p.encode() if isinstance(p, str) else p
            out += struct.pack("!i", len(data)) + data
    return out


def formats(codes):
    return struct.pack("!H", len(codes)) + b"".join(struct.pack("!H", c) for c in codes)


def bind(portal="", name="", params=(), param_formats=(), result_formats=()):
    return frame("B", cstr(portal) + cstr(name) + formats(param_formats) + values(params) + formats(result_formats))


def describe(kind, name=""):
    return frame("D", kind.encode() + cstr(name))


def execute(portal="", rows=0):
    return frame("E", cstr(portal) + struct.pack("!I", rows))


def close(kind, name=""):
    return frame("C", kind.encode() + cstr(name))


def sync():
    return frame("S")


def flush():
    return frame("H")


def copy_data(data):
    return frame("d", data)


def copy_done():
    return frame("c")


def copy_fail(why):
    return frame("f", cstr(why))


def function_call(oid, params=(), param_formats=(1,), result_format=0):
    return frame("F", struct.pack("!I", oid) + formats(param_formats) + values(params) + struct.pack("!H", result_format))


def terminate():
    return frame("X")


def int8(value):
    return struct.pack("!q", value)


def int4(value):
    return struct.pack("!i", value)


def startup_packet(params, version=196608):
    body = struct.pack("!I", version) + b"".join(cstr(k) + cstr(v) for k, v in params.items()) + b"\0"
    return struct.pack("!I", len(body) + 4) + body


class Closed(Exception):
    """The other side has closed the connection."""


class ServerError(Exception):
    def __init__(self, fields):
        super().__init__("%s: %s" % (fields.get("C"), fields.get("M")))
        self.fields = fields
        self.sqlstate = fields.get("C")
        self.message = fields.get("M")


def fields(body):
    """The fields of an ErrorResponse or NoticeResponse."""
    return {f[:1].decode(): f[1:].decode(errors="replace") for f in body.split(b"\0") if f}


def row(body):
    count, at, out = struct.unpack("!H", body[:2])[0], 2, []
    for _ in range(count):
        size = struct.unpack("!i", body[at:at + 4])[0]
        at += 4
        out.append(None if size < 0 else body[at:at + size])
        at += max(size, 0)
    return out


def columns(body):
    """RowDescription: [(name, type oid, format)]"""
    count, at, out = struct.unpack("!H", body[:2])[0], 2, []
    for _ in range(count):
        end = body.index(b"\0", at)
        name = body[at:end].decode()
        _, _, oid, _, _, code = struct.unpack("!IhIhih", body[end + 1:end + 19])
        at = end + 19
        out.append((name, oid, code))
    return out


class RawConn:
    def __init__(self, host=None, port=None, unix=None, timeout=10.0):
        if unix:
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.settimeout(timeout)
            self.sock.connect(unix)
        else:
            self.sock = socket.create_connection((host, port), timeout)
        self.address = (unix,) if unix else (host, port)
        self.buffer = b""
        self.params, self.pid, self.key, self.status = {}, None, None, None

    # -- bytes

    def send(self, *messages):
        self.sock.sendall(b"".join(messages))

    def read(self, timeout=None):
        """The next message; Closed at the end of the stream."""
        if timeout:
            self.sock.settimeout(timeout)
        head = self.exactly(5)
        size = struct.unpack("!I", head[1:5])[0]
        msg = Msg(chr(head[0]), self.exactly(size - 4))
        if msg.type == "S":
            key, value = msg.body.split(b"\0")[:2]
            self.params[key.decode()] = value.decode()
        if msg.type == "Z":
            self.status = msg.body.decode()
        return msg

    def exactly(self, size):
        while len(self.buffer) < size:
            try:
                got = self.sock.recv(65536)
            except ConnectionResetError:
                got = b""
            if not got:
                raise Closed()
            self.buffer += got
        out, self.buffer = self.buffer[:size], self.buffer[size:]
        return out

    def until(self, last="Z", count=1):
        """Messages up to and with the count-th of type last."""
        out = []
        while count:
            out.append(self.read())
            count -= out[-1].type == last
        return out

    def until_closed(self):
        """Everything up to the end of the stream."""
        out = []
        try:
            while True:
                out.append(self.read())
        except Closed:
            return out

    def quiet(self, seconds=0.05):
        """True if nothing comes for so long."""
        import select
        return not self.buffer and not select.select([self.sock], [], [], seconds)[0]

    # -- conversations

    def login(self, user, database, password=None, **params):
        self.send(startup_packet(dict({"user": user, "database": database}, **params)))
        self.authenticate(user, password)
        return self

    def authenticate(self, user, password):
        scram = None
        while True:
            msg = self.read()
            if msg.type == "E":
                raise ServerError(fields(msg.body))
            if msg.type == "K":
                self.pid, self.key = struct.unpack("!II", msg.body[:8])
            if msg.type == "Z":
                return
            if msg.type != "R":
                continue
            code = struct.unpack("!I", msg.body[:4])[0]
            if code == 3:
                self.send(frame("p", cstr(password)))
            elif code == 5:
                self.send(frame("p", cstr(md5_answer(user, password, msg.body[4:8]))))
            elif code == 10:
                scram = Scram(password)
                first = scram.first().encode()
                self.send(frame("p", cstr("SCRAM-SHA-256") + struct.pack("!I", len(first)) + first))
            elif code == 11:
                self.send(frame("p", scram.final(msg.body[4:].decode()).encode()))
            elif code == 12:
                scram.verify(msg.body[4:].decode())

    def simple(self, sql):
        """Rows of a Query as lists of text; raises ServerError."""
        self.send(query(sql))
        return self.rows()

    def rows(self):
        out, error = [], None
        for msg in self.until():
            if msg.type == "D":
                out.append([None if v is None else v.decode(errors="replace") for v in row(msg.body)])
            if msg.type == "E" and error is None:
                error = ServerError(fields(msg.body))
        if error:
            raise error
        return out

    def extended(self, sql, params=(), name="", **kw):
        self.send(parse(name, sql), bind("", name, params, **kw), execute(), sync())
        return self.rows()

    def cancel(self):
        """Sends a CancelRequest for this connection and waits until it is taken."""
        other = RawConn(unix=self.address[0]) if len(self.address) == 1 else RawConn(*self.address)
        other.send(struct.pack("!IIII", 16, 80877102, self.pid, self.key))
        other.until_closed()
        other.close()

    def close(self):
        self.sock.close()

    def reset(self):
        """Ends the connection as a killed process would: no Terminate, RST."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()


def types(messages):
    """Message types as one string, without what may stand anywhere (notices, notifications, parameters)."""
    return "".join(m.type for m in messages if m.type not in "NAS")


def md5_answer(user, password, salt):
    inner = hashlib.md5((password + user).encode()).hexdigest()
    return "md5" + hashlib.md5(inner.encode() + salt).hexdigest()


def md5_secret(user, password):
    return "md5" + hashlib.md5((password + user).encode()).hexdigest()


def scram_secret(password, iterations=4096, salt=None):
    salt = salt or os.urandom(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, iterations)
    client = hmac.digest(salted, b"Client Key", "sha256")
    b64 = lambda b: base64.b64encode(b).decode()
    return "SCRAM-SHA-256$%d:%s$%s:%s" % (iterations, b64(salt), b64(hashlib.sha256(client).digest()),
                                          b64(hmac.digest(salted, b"Server Key", "sha256")))


class Scram:
    """The client's side. `head` and `binding`: what it says of channel binding, and the data behind it."""

    def __init__(self, password, nonce=None, head="n,,", binding=b""):
        self.password, self.head, self.binding = password, head, binding
        self.nonce = nonce or base64.b64encode(os.urandom(18)).decode()

    def first(self):
        self.bare = "n=,r=" + self.nonce
        return self.head + self.bare

    def final(self, server_first):
        part = dict(p.split("=", 1) for p in server_first.split(","))
        assert part["r"].startswith(self.nonce) and len(part["r"]) > len(self.nonce)
        self.salt, self.iterations = base64.b64decode(part["s"]), int(part["i"])
        self.salted = hashlib.pbkdf2_hmac("sha256", self.password.encode(), self.salt, self.iterations)
        client_key = hmac.digest(self.salted, b"Client Key", "sha256")
        bound = base64.b64encode(self.head.encode() + self.binding).decode()
        without = "c=%s,r=%s" % (bound, part["r"])
        self.auth = ",".join([self.bare, server_first, without]).encode()
        signature = hmac.digest(hashlib.sha256(client_key).digest(), self.auth, "sha256")
        proof = bytes(a ^ b for a, b in zip(client_key, signature))
        return without + ",p=" + base64.b64encode(proof).decode()

    def verify(self, server_final):
        wanted = hmac.digest(hmac.digest(self.salted, b"Server Key", "sha256"), self.auth, "sha256")
        assert server_final == "v=" + base64.b64encode(wanted).decode(), "the server's proof is wrong"


class FakeServer:
    """Listens on a free port and gives each connection to `script(conn)` in a thread of its own, conn a RawConn."""

    def __init__(self, script):
        self.script = script
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.conns = []
        self.errors = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            conn = RawConn.__new__(RawConn)
            conn.sock, conn.buffer, conn.params, conn.status = sock, b"", {}, None
            sock.settimeout(15)
            self.conns.append(conn)
            threading.Thread(target=self.run, args=(conn,), daemon=True).start()

    def run(self, conn):
        try:
            self.script(conn)
        except (Closed, OSError):
            pass
        except Exception as e:  # shown by the test
            self.errors.append(e)
        finally:
            conn.close()

    def close(self):
        self.listener.close()
        for conn in self.conns:
            conn.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def read_startup(conn):
    """The server's side of a start: answers SSLRequest and GSSENCRequest with N; gives the parameters."""
    while True:
        size, version = struct.unpack("!II", conn.exactly(8))
        body = conn.exactly(size - 8)
        if version in (80877103, 80877104):
            conn.send(b"N")
            continue
        part = body.rstrip(b"\0").split(b"\0")
        return dict(zip([p.decode() for p in part[::2]], [p.decode() for p in part[1::2]]))


def welcome(conn, pid=4242, **more):
    """Trusts the client and says ReadyForQuery."""
    params = dict({"server_version": "15.0", "client_encoding": "UTF8", "server_encoding": "UTF8", "DateStyle": "ISO, MDY",
                   "TimeZone": "UTC", "IntervalStyle": "postgres", "integer_datetimes": "on", "is_superuser": "off",
                   "session_authorization": "app", "standard_conforming_strings": "on", "application_name": "",
                   "default_transaction_read_only": "off", "in_hot_standby": "off"}, **more)
    conn.send(frame("R", struct.pack("!I", 0)), *[frame("S", cstr(k) + cstr(v)) for k, v in params.items()],
              frame("K", struct.pack("!II", pid, 77)), frame("Z", b"I"))
