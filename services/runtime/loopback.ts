import { BlockList, isIP } from 'node:net';

/** In IPv4, in IPv6, and of IPv4 in IPv6, however an address is written. */
const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8);
loopback.addAddress('::1', 'ipv6');

/** Whether a port at this address is reached from this machine alone. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || (isIP(host) !== 0 && loopback.check(host, isIP(host) === 6 ? 'ipv6' : 'ipv4'));
