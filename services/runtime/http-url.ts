/** The URL of a host and a port. An address of IPv6 stands in brackets. */
export const httpUrl = (host: string, port: number): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${String(port)}`;
