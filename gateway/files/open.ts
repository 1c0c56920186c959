import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { badRequest } from '@agent-workflow/kit/errors';
import type { Log } from '@agent-workflow/kit/log';
import type { Registry } from '@agent-workflow/runtime/metrics';
import { createFileAddresses, type FileAddresses } from './addresses.ts';
import { openFolderFiles } from './folder.ts';
import { createReadGrant, type ReadGrant } from './grants.ts';
import { fileMetrics, type FileMeters } from './metrics.ts';
import type { OwnFiles } from './own.ts';
import type { FileBytes } from './port.ts';
import type { S3Options } from './s3.ts';
import { fileChecks, sharedFileChecks, toFileLimits, type FileConfig, type FileLimits } from './settings.ts';

const refused = (): Promise<never> => Promise.reject(badRequest('this service stores no files'));

/** Of a gateway without a folder or bucket: it stores nothing, and removes nothing that others have stored. */
const noFiles = (): FileBytes => ({
  bufferBytes: 0,
  write: refused,
  read: () => Promise.resolve(undefined),
  check: () => Promise.resolve(),
  remove: refused,
  [Symbol.asyncDispose]: () => Promise.resolve(),
});

/** All that the gateway has for files beside their records. */
export interface FileStore extends AsyncDisposable {
  readonly kind: 'none' | 'local' | 's3';
  readonly bytes: FileBytes;
  readonly addresses: FileAddresses;
  /** Reads what workers of runs may do. */
  readonly readGrant: ReadGrant;
  readonly limits: FileLimits;
  /** Absent: nothing is measured. */
  readonly meters: FileMeters | undefined;
  /** A line for the start of the process: where the bytes are. */
  readonly summary: string;
}

interface FileStoreOptions {
  readonly config: FileConfig;
  readonly log: Log;
  readonly registry?: Registry | undefined;
  /** For what the settings leave out; absent in a cluster, where each process would have another. */
  readonly own?: Pick<OwnFiles, 'folder' | 'secrets'>;
  /** What the grants of runs are signed with, which workers of pools show; absent where there are none. */
  readonly grantSecrets?: readonly [string, ...string[]] | undefined;
}

/**
 * Opens the bucket, the folder, or none, as the settings say. A bucket that does not answer stops no start: the log names it.
 * @throws ConfigError when settings contradict each other, or replicas would not share what they must.
 */
export async function openFileStore({
  config,
  log,
  registry,
  own,
  grantSecrets,
}: FileStoreOptions): Promise<FileStore> {
  const { FILES_S3_BUCKET: bucket, FILES_FOLDER: folder = own?.folder } = config;
  for (const { refuse } of own ? fileChecks : sharedFileChecks) refuse(config);
  // Where nothing is stored, no address leads to a file.
  const secrets = config.FILES_SECRET ?? own?.secrets ?? unknownSecrets();
  const { kind, bytes, summary } = await openBytes({ config, bucket, folder, log });
  return {
    ...{ kind, bytes, summary },
    addresses: createFileAddresses(secrets),
    readGrant: createReadGrant({ secrets, grantSecrets }),
    limits: toFileLimits(config),
    meters: registry?.make(fileMetrics),
    [Symbol.asyncDispose]: () => bytes[Symbol.asyncDispose](),
  };
}

const unknownSecrets = (): [string] => [randomBytes(32).toString('base64url')];

interface BytesOptions {
  readonly config: FileConfig;
  readonly bucket: string | undefined;
  readonly folder: string | undefined;
  readonly log: Log;
}

async function openBytes({
  config,
  bucket,
  folder,
  log,
}: BytesOptions): Promise<Pick<FileStore, 'kind' | 'bytes' | 'summary'>> {
  if (bucket !== undefined) {
    // The driver is loaded here: it is large, and most processes do not need it.
    const { openS3Files, s3Fault } = await import('./s3.ts');
    const options = toS3Options(config, bucket);
    const fault = await s3Fault(options);
    if (fault !== undefined)
      log.warn({ bucket, fault }, 'the bucket of files does not answer; it is tried with each request');
    return { kind: 's3', bytes: openS3Files(options), summary: `files: S3 bucket ${bucket}` };
  }
  if (folder === undefined) return { kind: 'none', bytes: noFiles(), summary: 'files: none are stored' };
  return { kind: 'local', bytes: openFolderFiles(folder), summary: `files: ${resolve(folder)}` };
}

const toS3Options = (config: FileConfig, bucket: string): S3Options => ({
  endpoint: config.FILES_S3_ENDPOINT,
  region: config.FILES_S3_REGION,
  bucket,
  prefix: config.FILES_S3_PREFIX,
  timeoutMs: config.FILES_S3_TIMEOUT_MS,
  credentials:
    config.FILES_S3_ACCESS_KEY_ID === undefined
      ? undefined
      : {
          accessKeyId: config.FILES_S3_ACCESS_KEY_ID,
          secretAccessKey: config.FILES_S3_SECRET_ACCESS_KEY ?? '',
        },
});
