"""Where a review is served that a team shares: an address of this machine, with TLS or without."""

from __future__ import annotations

import ipaddress
import re
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path

# Names as browsers write them in Host and Origin; the last part of one is no number, as an address
# in another notation has it.
NAME = re.compile(
    r"(?=.{1,253}$)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z]([a-z0-9-]{0,61}[a-z0-9])?"
)


@dataclass(frozen=True)
class Sharing:
    """How a review is shared.

    ``host`` is the name or address by which reviewers reach this machine, as it stands in links;
    the server listens on ``address`` of ``family`` alone. Without ``tls`` nothing is encrypted.
    """

    host: str
    address: str
    family: socket.AddressFamily
    tls: ssl.SSLContext | None = None

    @property
    def warning(self) -> str | None:
        """What who starts the review should know, in one sentence."""
        if ipaddress.ip_address(self.address).is_loopback:
            also = "" if self.host == self.address else f" ({self.address})"
            return (
                f"Only this machine reaches {self.host}{also}; for reviewers elsewhere pass the "
                "address that it has in the network."
            )
        if self.tls is None:
            return (
                "Without --cert nothing is encrypted: who can listen in the network reads the "
                "table and the answers, and can answer as any reviewer."
            )
        return None


def share(host: str, cert: Path | None = None, key: Path | None = None) -> Sharing:
    """How to share a review by a name or address of this machine; fail with one sentence."""
    name, remedy = host.strip().lower(), "pass the name or address by which reviewers reach it"
    try:
        own = ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        if not NAME.fullmatch(name):
            raise ValueError(f"{host!r} is no name or address of a machine; {remedy}.") from None
        family, address = _resolve(name, remedy)
        own = ipaddress.ip_address(address)
    else:
        if "%" in name:
            raise ValueError(f"{host} holds for one link alone; {remedy} in the network.")
        address = own.compressed
        name = f"[{address}]" if own.version == 6 else address
        family = socket.AF_INET6 if own.version == 6 else socket.AF_INET
    if own.is_unspecified or own.is_multicast:
        raise ValueError(f"{host} is no address of one machine; {remedy}, as links need it.")
    return Sharing(name, address, family, None if cert is None else read_certificate(cert, key))


def _resolve(name: str, remedy: str) -> tuple[socket.AddressFamily, str]:
    """The first address of a name, of the older kind if it has one."""
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ValueError(f"{name} is no name that this machine knows; {remedy}.") from error
    family, *_, address = min(found, key=lambda each: each[0] != socket.AF_INET)
    return family, str(address[0])


def read_certificate(cert: Path, key: Path | None = None) -> ssl.SSLContext:
    """What a server needs for TLS; the key may be in the file of the certificate."""
    for path in (cert, key):
        if path is not None:
            path.open("rb").close()  # the error names the file
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(cert, key)
    except ssl.SSLError as error:
        beside = f"{cert} and {key}" if key is not None else f"{cert} (without --key)"
        raise ValueError(
            f"{beside} are no certificate with its key; both must be PEM and belong together."
        ) from error
    return context
