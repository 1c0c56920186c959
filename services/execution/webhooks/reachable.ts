import { BlockList, isIP } from 'node:net';

/** Whether a delivery may go to an address. */
export type MayReach = (address: string) => boolean;

/** Of IPv4: what is not the public internet (IANA's registry of special-purpose addresses). */
const special4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
];

/** Of IPv6 only global unicast is public: IPv4-mapped, NAT64, unique local and link-local addresses are outside of it. */
const public6 = ['2000::', 3] as const;

/** In that: Teredo and other protocols, documentation, 6to4, which holds IPv4 addresses, and segment routing. */
const special6: readonly (readonly [string, number])[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['2620:4f:8000::', 48],
  ['3fff::', 20],
];

/** A network of addresses, `10.1.0.0/16`. */
export interface Network {
  readonly address: string;
  readonly bits: number;
}

/** A network as a setting names it, or an address; `undefined` for any other text. */
export function readNetwork(text: string): Network | undefined {
  const [, address = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const most = { 0: undefined, 4: 32, 6: 128 }[isIP(address)];
  const read = Number(bits ?? most);
  return most !== undefined && read <= most ? { address, bits: read } : undefined;
}

/** Allows the public internet, and the networks that an operator names. */
export function createMayReach(networks: readonly Network[]): MayReach {
  const own = new BlockList();
  for (const { address, bits } of networks) own.addSubnet(address, bits, familyOf(address));
  const special = new BlockList();
  for (const [address, bits] of special4) special.addSubnet(address, bits, 'ipv4');
  for (const [address, bits] of special6) special.addSubnet(address, bits, 'ipv6');
  const global = new BlockList();
  global.addSubnet(...public6, 'ipv6');
  return (address) => {
    if (isIP(address) === 0) return false;
    const family = familyOf(address);
    if (own.check(address, family)) return true;
    return !special.check(address, family) && (family === 'ipv4' || global.check(address, family));
  };
}

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 4 ? 'ipv4' : 'ipv6');
