import { isIP, isIPv4, isIPv6 } from 'node:net';
import { required, type Setting } from '@agent-workflow/kit/env';

/** Where another service listens. gRPC takes any text, and what it cannot read fails with the first call only. */
export const serviceAddress = (service: string): Setting<string> => ({
  ...required(
    `Where the ${service} service listens: \`host:port\`, or a gRPC target: \`dns:\`, \`ipv4:\` or \`ipv6:\` with a port, or \`unix:\``,
  ),
  read: (value) => (isAddress(value) ? value : { problem }),
});

const problem =
  'must be host:port, with a port from 1 to 65535 and IPv6 in brackets, or a gRPC target: dns:, ipv4: or ipv6: with such a port, or unix:';

/** What follows each scheme that the client of gRPC knows; `authority` is what stands between `//` and `/`. */
const targets = new Map<string, (path: string, authority: string) => boolean>([
  ['dns', (path, server) => isPlace(path, isHost) && (server === '' || isNameServer(server))],
  ['ipv4', (path) => path.split(',').every((place) => isPlace(place, isIPv4))],
  ['ipv6', (path) => path.split(',').every((place) => isPlace(place, isIPv6))],
  ['unix', (path, authority) => authority === '' && !path.startsWith('//')],
]);

function isAddress(text: string): boolean {
  const [, scheme = '', authority = '', path = ''] = /^([a-z0-9]+):(?:\/\/([^/]*)\/)?(.+)$/.exec(text) ?? [];
  const isTarget = targets.get(scheme);
  return isTarget ? isTarget(path, authority) : isPlace(text, isHost);
}

/** Where a name server listens: without a port, at 53. */
const isNameServer = (text: string): boolean => isPlace(text, (host) => isIP(host) !== 0, { mustHavePort: false });

/** Whether a text is a host, and a port behind it; without one, gRPC would take 443, where no service listens. */
function isPlace(text: string, accepts: (host: string) => boolean, { mustHavePort = true } = {}): boolean {
  if (isIPv6(text)) return accepts(text) && !mustHavePort;
  const [, inBrackets, bare = '', port] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d+))?$/.exec(text) ?? [];
  if (inBrackets !== undefined && !isIPv6(inBrackets)) return false;
  return accepts(inBrackets ?? bare) && (port === undefined ? !mustHavePort : isPort(Number(port)));
}

const isPort = (port: number): boolean => port >= 1 && port <= 65_535;

/** Digits and dots alone are an address, and no name: DNS has none that ends in a number. */
const isHost = (host: string): boolean =>
  isIP(host) !== 0 || (/^[^\s:/[\]@,?#]+$/.test(host) && !/^[\d.]+$/.test(host));
