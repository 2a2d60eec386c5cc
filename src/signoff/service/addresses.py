"""
Which addresses may be connected to for a stranger's sake.

Only an address that a name was resolved to is judged, never how somebody spelled it.
An IPv6 address that stands for an IPv4 one, mapped, translated or tunnelled, is
judged as it is and so refused: no public host is reached in that form alone.

Source: the special-purpose address registries of IANA (RFC 6890), and 168.63.129.16,
behind which a cloud keeps its virtual machines' own service.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Final, TypeAlias

__all__ = ["Address", "Network", "address_of", "is_public", "may_be_reached", "network_of"]

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

_REFUSED_4: Final = (
    IPv4Network("0.0.0.0/8"),  # this network
    IPv4Network("10.0.0.0/8"),  # private
    IPv4Network("100.64.0.0/10"),  # shared by the customers of a carrier
    IPv4Network("127.0.0.0/8"),  # loopback
    IPv4Network("168.63.129.16/32"),  # a cloud's own service
    IPv4Network("169.254.0.0/16"),  # link-local, where clouds keep their metadata
    IPv4Network("172.16.0.0/12"),  # private
    IPv4Network("192.0.0.0/24"),  # protocol assignments
    IPv4Network("192.0.2.0/24"),  # documentation
    IPv4Network("192.88.99.0/24"),  # relays of 6to4
    IPv4Network("192.168.0.0/16"),  # private
    IPv4Network("198.18.0.0/15"),  # benchmarks
    IPv4Network("198.51.100.0/24"),  # documentation
    IPv4Network("203.0.113.0/24"),  # documentation
    IPv4Network("224.0.0.0/4"),  # multicast
    IPv4Network("240.0.0.0/4"),  # reserved, and broadcast
)
# So everything else is refused: loopback, unspecified, IPv4 in all its disguises (::/96,
# ::ffff:0:0/96, 64:ff9b::/96, 64:ff9b:1::/48), unique local, link-local, site-local, multicast.
_GLOBAL_6: Final = IPv6Network("2000::/3")
_REFUSED_6: Final = (
    IPv6Network("2001::/23"),  # protocol assignments, Teredo among them
    IPv6Network("2001:db8::/32"),  # documentation
    IPv6Network("2002::/16"),  # 6to4
    IPv6Network("3fff::/20"),  # documentation
)


def address_of(text: str) -> Address:
    """
    The address that a socket names.

    Args:
        text: As the system writes it; a zone is no part of the address.

    Raises:
        ValueError: It is no address.
    """
    return ip_address(text.partition("%")[0])


def network_of(text: str) -> Network:
    """
    The network that an operator names: ``10.20.0.0/16``, or one address.

    Raises:
        ValueError: It is none; says why in one sentence.
    """
    try:
        return ip_network(text)
    except ValueError:
        pass
    try:
        meant = ip_network(text, strict=False)
    except ValueError:
        raise ValueError(f"{text[:80]!r} is no network, expected such as 10.20.0.0/16") from None
    raise ValueError(f"{text[:80]!r} has bits beyond its prefix, perhaps {meant} is meant")


def is_public(address: Address) -> bool:
    """Anybody may be reached there, and nothing that only a neighbour or this machine can reach."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _REFUSED_4)
    return address in _GLOBAL_6 and not any(address in network for network in _REFUSED_6)


def may_be_reached(address: Address, networks: Iterable[Network] = ()) -> bool:
    """
    The address is public, or in one of the networks that the operator allows besides.

    Args:
        address: What would be connected to.
        networks: Each allows what it names: 127.0.0.0/8 does not allow ::ffff:127.0.0.1.
    """
    return is_public(address) or any(address in network for network in networks)
