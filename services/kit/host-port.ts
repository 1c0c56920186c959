/** A host and a port in one text. An address of IPv6 stands in brackets. */
export const hostPort = (host: string, port: number): string =>
  `${host.includes(':') ? `[${host}]` : host}:${String(port)}`;

/** The URL of a host and a port. */
export const httpUrl = (host: string, port: number): string => `http://${hostPort(host, port)}`;
