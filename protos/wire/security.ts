import { createHash, timingSafeEqual } from 'node:crypto';
import {
  credentials,
  experimental,
  Metadata,
  ServerCredentials,
  type ChannelCredentials,
  type ServerCredentials as AnyServerCredentials,
} from '@grpc/grpc-js';
import type { Caller, PoolAccess } from './pool-gate.ts';

/** How the services of one cluster know each other. With neither, everyone who reaches a port is let in. */
export interface WireSecurity {
  /** A secret that every call carries. */
  readonly token?: string;
  /** Further secrets that a caller may carry in its place: while the token is changed, both are good. */
  readonly alsoTaken?: readonly string[];
  /** Certificates that both sides show. */
  readonly tls?: TlsFiles;
  /** Of a server: the pools that may call it beside the platform, which must have a token then. */
  readonly pools?: PoolAccess;
}

/** PEM files, read again as long as they are in use, so that a certificate can be renewed under a running process. */
interface TlsFiles {
  readonly certificate: string;
  readonly key: string;
  /** The authorities whose certificates are believed, of servers and of clients. */
  readonly authorities: string;
  /** How often they are read again, in milliseconds. */
  readonly refreshMs?: number;
}

/** What a server shows, and what it asks its callers to show. */
export function toServerCredentials({ tls }: WireSecurity): AnyServerCredentials {
  if (!tls) return ServerCredentials.createInsecure();
  const files = watch(tls);
  const mustShowCertificate = true;
  return experimental.createCertificateProviderServerCredentials(files, files, mustShowCertificate);
}

export function toChannelCredentials({ tls }: WireSecurity): ChannelCredentials {
  if (!tls) return credentials.createInsecure();
  const files = watch(tls);
  return experimental.createCertificateProviderChannelCredentials(files, files);
}

const renewedMs = 60_000;

const watch = ({ certificate, key, authorities, refreshMs = renewedMs }: TlsFiles): experimental.CertificateProvider =>
  new experimental.FileWatcherCertificateProvider({
    certificateFile: certificate,
    privateKeyFile: key,
    caCertificateFile: authorities,
    refreshIntervalMs: refreshMs,
  });

const tokenKey = 'authorization';

/** The header of a call that has the grant of its run. */
export const grantKey = 'x-run-grant';
const scheme = 'Bearer ';

/** What every call of a client carries. */
export function toMetadata({ token }: WireSecurity): Metadata {
  const metadata = new Metadata();
  if (token !== undefined) metadata.set(tokenKey, `${scheme}${token}`);
  return metadata;
}

/** Says who makes a call; `undefined` for nobody of ours. To be asked again for each call of a stream: pools come and go. */
export type CallerOf = () => Caller | undefined;

/** Who makes calls with this metadata: decided in a time that depends on nothing of the platform's tokens but how many there are. */
export function createGuard({ token, alsoTaken = [], pools }: WireSecurity): (metadata: Metadata) => CallerOf {
  if (token === undefined) return () => () => 'platform';
  const expected = [token, ...alsoTaken].map(digest);
  return (metadata) => {
    const given = String(metadata.get(tokenKey)[0] ?? '');
    // No token, and an empty one, are nobody's.
    if (!given.startsWith(scheme) || given.length === scheme.length) return () => undefined;
    const shown = digest(given.slice(scheme.length));
    if (expected.filter((good) => timingSafeEqual(shown, good)).length > 0) return () => 'platform';
    return () => pools?.poolOf(shown.toString('hex'));
  };
}

const digest = (value: string): Buffer => createHash('sha256').update(value).digest();
