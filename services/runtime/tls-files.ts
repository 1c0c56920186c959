import { readFile } from 'node:fs/promises';
import type { ConnectionOptions } from 'node:tls';

/** Files in PEM form for an encrypted connection to a server, whose certificate is checked. */
export interface TlsFiles {
  /** The authority that signs the server's certificate; absent: the authorities that Node knows. */
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
  /** What the server's certificate is for, when it is not the address that is connected to. */
  readonly serverName?: string;
}

/** The settings `<PREFIX>_TLS_CA_FILE`, `_CERT_FILE`, `_KEY_FILE` and `_SERVER_NAME` of one server. */
type TlsValues = { readonly [K in keyof Required<TlsFiles>]: string | undefined };

interface ReadTls {
  /** Absent where connections are not encrypted: no authority is named. */
  readonly tls?: TlsFiles;
  /** A sentence for each setting that does not hold with the others. */
  readonly problems: readonly string[];
}

/** Reads the settings of one server. A certificate and its key come together, and nothing comes without an authority. */
export function readTlsFiles(prefix: string, values: TlsValues): ReadTls {
  const { caFile, certFile, keyFile, serverName } = values;
  const name = `${prefix}_TLS`;
  const problems = [
    ...((certFile === undefined) === (keyFile === undefined)
      ? []
      : [`${name}_CERT_FILE and ${name}_KEY_FILE must be set together`]),
    ...(certFile !== undefined && caFile === undefined ? [`${name}_CERT_FILE needs ${name}_CA_FILE`] : []),
    ...(serverName !== undefined && caFile === undefined ? [`${name}_SERVER_NAME needs ${name}_CA_FILE`] : []),
  ];
  if (caFile === undefined) return { problems };
  return {
    tls: {
      caFile,
      ...(certFile !== undefined && { certFile }),
      ...(keyFile !== undefined && { keyFile }),
      ...(serverName !== undefined && { serverName }),
    },
    problems,
  };
}

/** Reads the files. @throws what reading a file throws. */
export async function loadTls({ caFile, certFile, keyFile, serverName }: TlsFiles): Promise<ConnectionOptions> {
  const [ca, cert, key] = await Promise.all(
    [caFile, certFile, keyFile].map(async (file) => (file === undefined ? undefined : readFile(file))),
  );
  return {
    rejectUnauthorized: true,
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
    ...(serverName !== undefined && { servername: serverName }),
  };
}
