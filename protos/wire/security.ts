import { createHash, timingSafeEqual } from 'node:crypto';
import {
  credentials,
  experimental,
  Metadata,
  ServerCredentials,
  type ChannelCredentials,
  type ServerCredentials as AnyServerCredentials,
} from '@grpc/grpc-js';

/** How the services of one cluster know each other. With neither, everyone who reaches a port is let in. */
export interface WireSecurity {
  /** A secret that every call carries. */
  readonly token?: string;
  /** Further secrets that a caller may carry in its place: while the token is changed, both are good. */
  readonly alsoTaken?: readonly string[];
  /** Certificates that both sides show. */
  readonly tls?: TlsFiles;
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

/** What every call of a client carries. */
export function toMetadata({ token }: WireSecurity): Metadata {
  const metadata = new Metadata();
  if (token !== undefined) metadata.set(tokenKey, `Bearer ${token}`);
  return metadata;
}

/** Whether a call may come in: decided in a time that depends on nothing of the tokens but how many there are. */
export function createGuard({ token, alsoTaken = [] }: WireSecurity): (metadata: Metadata) => boolean {
  if (token === undefined) return () => true;
  const expected = [token, ...alsoTaken].map((good) => digest(`Bearer ${good}`));
  return (metadata) => {
    const shown = digest(String(metadata.get(tokenKey)[0] ?? ''));
    return expected.filter((good) => timingSafeEqual(shown, good)).length > 0;
  };
}

const digest = (value: string): Buffer => createHash('sha256').update(value).digest();
